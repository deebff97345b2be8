"""What operating systems do differently: `files`, `paths`, `process`. Other packages ask none of it."""
