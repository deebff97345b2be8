"""Questions about profiles with small answers in one form, for the command line and for agents."""
