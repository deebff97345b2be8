"""Work of the devices of a host: their ops by kind of work, on one time axis, and the windows of their steps."""
