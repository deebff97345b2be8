"""What binds the step: its wall time by op, line, function and program; see `host_blame`."""
