# The names of tf.nest; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.framework.structures.nest import assert_same_structure as assert_same_structure
from tfnb.framework.structures.nest import flatten as flatten
from tfnb.framework.structures.nest import is_nested as is_nested
from tfnb.framework.structures.nest import map_structure as map_structure
from tfnb.framework.structures.nest import pack_sequence_as as pack_sequence_as
