"""The assignment of nodes to devices."""
