"""What operating systems do differently: `files`, `paths`, `process`. Other packages do not ask which one it is."""
