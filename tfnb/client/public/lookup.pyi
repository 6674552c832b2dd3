# The names of tf.lookup; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.ops.lookup import KeyValueTensorInitializer as KeyValueTensorInitializer
from tfnb.ops.lookup import StaticHashTable as StaticHashTable
from tfnb.ops.lookup import StaticVocabularyTable as StaticVocabularyTable
from tfnb.ops.lookup import TextFileIndex as TextFileIndex
from tfnb.ops.lookup import TextFileInitializer as TextFileInitializer
