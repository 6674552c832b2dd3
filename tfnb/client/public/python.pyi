# The names of tf.python; written by scripts/generate_public_names.py.
# ruff: noqa
