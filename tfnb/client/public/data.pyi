# The names of tf.data; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.library.data.dataset import AUTOTUNE as AUTOTUNE
from tfnb.library.data.dataset import Dataset as Dataset
from tfnb.library.data.dataset import INFINITE_CARDINALITY as INFINITE_CARDINALITY
from tfnb.library.data.dataset import UNKNOWN_CARDINALITY as UNKNOWN_CARDINALITY
from tfnb.library.data.dataset import get_output_classes as get_output_classes
from tfnb.library.data.dataset import get_output_shapes as get_output_shapes
from tfnb.library.data.dataset import get_output_types as get_output_types
from tfnb.library.data.iterators import Iterator as Iterator
from tfnb.library.data.iterators import make_initializable_iterator as make_initializable_iterator
from tfnb.library.data.iterators import make_one_shot_iterator as make_one_shot_iterator
from tfnb.library.data.options import Options as Options
from tfnb.library.data.options import ThreadingOptions as ThreadingOptions
from tfnb.library.data.readers import FixedLengthRecordDataset as FixedLengthRecordDataset
from tfnb.library.data.readers import TFRecordDataset as TFRecordDataset
from tfnb.library.data.readers import TextLineDataset as TextLineDataset
from tfnb.library.data.structure import DatasetSpec as DatasetSpec
