"""Tools of the menu's group Time."""
