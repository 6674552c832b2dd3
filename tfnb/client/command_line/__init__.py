"""The command ``tfnb``: inspects, runs and converts model files.

``main`` parses the arguments, ``model_file`` opens any file with a graph, ``summary``, ``run`` and
``convert`` implement their commands, ``progress`` reports long work on standard error.
"""
