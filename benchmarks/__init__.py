"""Measurements of tfnb, compared with TensorFlow's if it is available.

``python -m benchmarks`` is the runner (:mod:`benchmarks.__main__`); each script beside it measures
one property and describes it in its first lines.
"""
