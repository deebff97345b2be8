"""What one recording says: `Run`, the only source of figures for pages, commands, scripts and reports."""
