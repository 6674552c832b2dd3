"""Functions of a graph: Defun, its FunctionDef, and the graph in which a body is traced."""
