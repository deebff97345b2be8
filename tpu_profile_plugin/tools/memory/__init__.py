"""Tools of the menu's group Memory."""
