"""``tensorflow.python.ops.data_flow_ops``: a class that is not public."""

from __future__ import annotations

from tfnb.library.queues.record_input import RecordInput as RecordInput
