"""Support for emitted functions, which call it: counts, journals, waits, compiled clusters."""
