"""What operating systems do differently: `files`, `limits`, `paths`, `process`. Other packages ask none of it."""
