# The names of tf.nest; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.framework.nest import assert_same_structure as assert_same_structure
from tfnb.framework.nest import flatten as flatten
from tfnb.framework.nest import is_nested as is_nested
from tfnb.framework.nest import map_structure as map_structure
from tfnb.framework.nest import pack_sequence_as as pack_sequence_as
