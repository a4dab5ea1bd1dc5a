"""The numbered migrations of the plugin's schema."""
