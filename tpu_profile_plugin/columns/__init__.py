"""XSpace bytes as frozen NumPy columns."""
