"""A run in one HTML file, which opens without a server: the page itself, with the answers that it asks for."""
