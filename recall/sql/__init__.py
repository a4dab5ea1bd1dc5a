"""The statements of recall, one `.sql` file each, named after what they do."""
