"""The one form of tabular results, and its encoders."""
