# The names of tf.queue; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.library.queues.queues import FIFOQueue as FIFOQueue
from tfnb.library.queues.queues import PaddingFIFOQueue as PaddingFIFOQueue
from tfnb.library.queues.queues import PriorityQueue as PriorityQueue
from tfnb.library.queues.queues import QueueBase as QueueBase
from tfnb.library.queues.queues import RandomShuffleQueue as RandomShuffleQueue
