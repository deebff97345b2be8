"""Parts of a step: computation, exposed communication and copies, and idle time by cause."""
