"""What emitted functions call: counts, journals, waits, compiled clusters."""
