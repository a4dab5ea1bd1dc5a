"""The reference memory plugin: the contract's endpoints on PostgreSQL."""
