"""File access of steps, and the file formats: checkpoints, tables, records, events."""
