"""Functions of a graph: Defun, its FunctionDef, and the graph that traces a body."""
