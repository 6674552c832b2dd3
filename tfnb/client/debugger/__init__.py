"""``tfnb.debugger``: stop a step between two nodes, look inside, change values, go on."""
