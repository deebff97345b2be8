"""What rules ask of devices and their programs: ops by what they do, buffers, precision, sizes of products."""
