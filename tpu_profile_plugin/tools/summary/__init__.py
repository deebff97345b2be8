"""Tools of the menu's group Summary."""
