"""Tools of the menu's group Data."""
