"""``tfnb.debugger``: stops a step between two nodes, to inspect and change values."""
