"""Whole models, run by tfnb and by TensorFlow from the same sources.

``python -m benchmarks.models`` is the runner (:mod:`benchmarks.models.__main__`). The programs are
in ``transformers.py``, ``recurrent.py``, ``convolutional.py`` and ``small_networks.py``;
``cases.py`` reads graphs of public repositories.
"""
