# The names of tf.data; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.ops.data.dataset import AUTOTUNE as AUTOTUNE
from tfnb.ops.data.dataset import Dataset as Dataset
from tfnb.ops.data.dataset import INFINITE_CARDINALITY as INFINITE_CARDINALITY
from tfnb.ops.data.dataset import UNKNOWN_CARDINALITY as UNKNOWN_CARDINALITY
from tfnb.ops.data.dataset import get_output_classes as get_output_classes
from tfnb.ops.data.dataset import get_output_shapes as get_output_shapes
from tfnb.ops.data.dataset import get_output_types as get_output_types
from tfnb.ops.data.iterators import Iterator as Iterator
from tfnb.ops.data.iterators import make_initializable_iterator as make_initializable_iterator
from tfnb.ops.data.iterators import make_one_shot_iterator as make_one_shot_iterator
from tfnb.ops.data.options import Options as Options
from tfnb.ops.data.options import ThreadingOptions as ThreadingOptions
from tfnb.ops.data.readers import FixedLengthRecordDataset as FixedLengthRecordDataset
from tfnb.ops.data.readers import TFRecordDataset as TFRecordDataset
from tfnb.ops.data.readers import TextLineDataset as TextLineDataset
from tfnb.ops.data.structure import DatasetSpec as DatasetSpec
