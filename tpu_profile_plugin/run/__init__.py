"""The figures of one recording: `Run`, the only source for pages, commands, scripts and reports."""
