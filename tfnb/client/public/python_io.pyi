# The names of tf.python_io; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.client.files.record_io import TFRecordCompressionType as TFRecordCompressionType
from tfnb.client.files.record_io import TFRecordOptions as TFRecordOptions
from tfnb.client.files.record_io import TFRecordWriter as TFRecordWriter
from tfnb.client.files.record_io import tf_record_iterator as tf_record_iterator
