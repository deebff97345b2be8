"""Why a run is slow: rules that look for one cause each, with the numbers that show it, and what could be saved."""
