"""Tools of the menu's group Fleet."""
