"""Stand-ins of modules about structures of values."""
