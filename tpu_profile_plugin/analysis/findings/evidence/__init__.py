"""What rules find out about a host or its ops, where several of them need it."""
