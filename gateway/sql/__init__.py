"""The statements of the gateway, one `.sql` file each, named after what they do."""
