# The names of tf.lookup; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.library.tables.lookup import KeyValueTensorInitializer as KeyValueTensorInitializer
from tfnb.library.tables.lookup import StaticHashTable as StaticHashTable
from tfnb.library.tables.lookup import StaticVocabularyTable as StaticVocabularyTable
from tfnb.library.tables.lookup import TextFileIndex as TextFileIndex
from tfnb.library.tables.lookup import TextFileInitializer as TextFileInitializer
