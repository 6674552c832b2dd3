"""Which node runs on which device."""
