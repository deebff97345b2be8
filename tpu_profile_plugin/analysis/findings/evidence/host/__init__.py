"""What the host does while its devices wait."""
