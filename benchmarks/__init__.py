"""Measurements of tfnb, beside TensorFlow where one is at hand.

``python -m benchmarks`` is the runner (:mod:`benchmarks.__main__`); the scripts beside it measure
one thing each and say what in their first lines.
"""
