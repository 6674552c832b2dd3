"""The command ``tfnb``: looks into model files, runs them, converts them.

``main`` reads the arguments, ``model_file`` opens whatever holds a graph, ``summary``, ``run`` and
``convert`` do what their commands say, ``progress`` tells of long work on standard error.
"""
