# The names of tf.queue; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.ops.queues import FIFOQueue as FIFOQueue
from tfnb.ops.queues import PaddingFIFOQueue as PaddingFIFOQueue
from tfnb.ops.queues import PriorityQueue as PriorityQueue
from tfnb.ops.queues import QueueBase as QueueBase
from tfnb.ops.queues import RandomShuffleQueue as RandomShuffleQueue
