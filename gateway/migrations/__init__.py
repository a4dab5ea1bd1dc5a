"""The numbered migrations of the gateway's schema."""
