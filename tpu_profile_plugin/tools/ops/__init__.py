"""Tools of the menu's group Ops."""
