"""Input pipelines on queues: producers of names, indices and slices.

Queue runners fill the queues. The functions add them to a collection of the graph, and
``tf.train.start_queue_runners`` starts them. Batches of elements are in ``batching.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.framework.collections import GraphKeys
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.indexed_slices import convert_n_to_tensor_or_indexed_slices
from tfnb.framework.scopes import control_dependencies, name_scope
from tfnb.framework.tensor import Tensor
from tfnb.library.control_flow.control_flow_assert import assert_
from tfnb.library.queues.queues import FIFOQueue, QueueBase
from tfnb.library.training.queue_runner import QueueRunner, add_queue_runner
from tfnb.library.variables.variables import Variable
from tfnb.ops.array.cast_ops import cast
from tfnb.ops.array.constant_ops import constant
from tfnb.ops.array.gather_ops import gather
from tfnb.ops.array.identity_ops import identity
from tfnb.ops.array.shape_ops import shape, size
from tfnb.ops.io import io_ops, summary_ops
from tfnb.ops.math.comparison_ops import greater
from tfnb.ops.math.sequence_ops import range_
from tfnb.ops.random.random_ops import random_shuffle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor_types import Nested, TensorLike

EXPORTS = {
    "train": [
        "match_filenames_once", "limit_epochs", "input_producer", "string_input_producer",
        "range_input_producer", "slice_input_producer",
    ],
    "io": ["match_filenames_once"],
}  # fmt: skip


def match_filenames_once(pattern: TensorLike, name: str | None = None) -> Variable:
    """Return a local variable with the matching files' names, found when it is initialized.

    Args:
      pattern: a pattern, or a vector of patterns.
      name: of the ops.
    """
    with name_scope(name, "matching_filenames", [pattern]) as scope:
        return Variable(
            name=scope,
            initial_value=io_ops.matching_files(pattern),
            trainable=False,
            validate_shape=False,
            collections=[GraphKeys.LOCAL_VARIABLES],
        )


def limit_epochs(tensor: TensorLike, num_epochs: int | None = None, name: str | None = None) -> Any:
    """Return ``tensor``, which can be read ``num_epochs`` times; then it raises OutOfRangeError.

    A local variable counts, so ``tf.local_variables_initializer()`` has to run before.

    Raises:
      ValueError: ``num_epochs`` is not positive.
    """
    if num_epochs is None:
        return tensor
    if num_epochs <= 0:
        raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")
    with name_scope(name, "limit_epochs", [tensor]) as scope:
        epochs: Any = Variable(
            constant(0, dtype=dtypes.int64),
            name="epochs",
            trainable=False,
            collections=[GraphKeys.LOCAL_VARIABLES],
        )
        with control_dependencies([epochs.count_up_to(num_epochs)]):
            return identity(tensor, name=scope)


def input_producer(
    input_tensor: TensorLike,
    element_shape: TensorLike | None = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    summary_name: str | None = None,
    name: str | None = None,
    cancel_op: Operation | None = None,
) -> QueueBase:
    """Return a queue of the rows of a tensor, repeatedly.

    Args:
      input_tensor: the tensor whose rows are the elements.
      element_shape: of a row, if the tensor's static shape is unknown.
      num_epochs: how often each row is produced; None for no limit.
      shuffle: whether the rows come in another order each time.
      seed: of the order.
      capacity: of the queue.
      shared_name: a name under which several sessions share the queue.
      summary_name: of a summary of how full the queue is; no summary if None.
      name: of the ops.
      cancel_op: the op that the queue runner runs when its coordinator stops.

    Raises:
      ValueError: the shape of a row is unknown.
    """
    with name_scope(name, "input_producer", [input_tensor]):
        tensor = convert_to_tensor(input_tensor, name="input_tensor")
        row_shape = tensor.shape[1:].merge_with(element_shape)
        if not row_shape.is_fully_defined():
            raise ValueError(
                "Either `input_tensor` must have a fully defined shape or `element_shape` must be "
                "specified"
            )
        if shuffle:
            tensor = random_shuffle(tensor, seed=seed)
        tensor = limit_epochs(tensor, num_epochs)
        queue = FIFOQueue(
            capacity=capacity,
            dtypes=[tensor.dtype.base_dtype],
            shapes=[row_shape],
            shared_name=shared_name,
            name=name,
        )
        put = queue.enqueue_many([tensor])
        add_queue_runner(QueueRunner(queue, [put], cancel_op=cancel_op))
        if summary_name is not None:
            add_fullness_summary(summary_name, queue.size(), capacity)
        return queue


def add_fullness_summary(summary_name: str, size: TensorLike, capacity: int) -> None:
    """Add a summary of the ratio of ``size`` to ``capacity``."""
    summary_ops.scalar(summary_name, cast(size, dtypes.float32) * (1.0 / capacity))


def string_input_producer(
    string_tensor: TensorLike,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
    cancel_op: Operation | None = None,
) -> QueueBase:
    """Return a queue of strings, mostly names of files; see :func:`input_producer`.

    Raises:
      ValueError: ``string_tensor`` is an empty list; an empty tensor fails when the queue runs.
    """
    text = "string_input_producer requires a non-null input tensor"
    is_tensor = isinstance(string_tensor, Tensor) or hasattr(string_tensor, "initializer")
    if not is_tensor and not len(string_tensor):
        raise ValueError(text)
    with name_scope(name, "input_producer", [string_tensor]) as scope:
        strings = convert_to_tensor(string_tensor, dtype=dtypes.string)
        with control_dependencies([assert_(greater(size(strings), 0), [text])]):
            strings = identity(strings)
        return input_producer(
            strings,
            [],
            num_epochs,
            shuffle,
            seed,
            capacity,
            shared_name,
            f"fraction_of_{capacity}_full",
            scope,
            cancel_op,
        )


def range_input_producer(
    limit: TensorLike,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> QueueBase:
    """Return a queue of the numbers from 0 to ``limit - 1``; see :func:`input_producer`."""
    with name_scope(name, "input_producer", [limit]) as scope:
        return input_producer(
            range_(limit),
            [],
            num_epochs,
            shuffle,
            seed,
            capacity,
            shared_name,
            f"fraction_of_{capacity}_full",
            scope,
        )


def slice_input_producer(
    tensor_list: Sequence[Any],
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> list[Nested]:
    """Return one row of each tensor, at the same index in all; see :func:`input_producer`.

    Raises:
      ValueError: there is no tensor.
    """
    with name_scope(name, "input_producer", tensor_list):
        tensors = convert_n_to_tensor_or_indexed_slices(tensor_list)
        if not tensors:
            raise ValueError("Expected at least one tensor in slice_input_producer().")
        queue = range_input_producer(
            shape(tensors[0])[0], num_epochs, shuffle, seed, capacity, shared_name
        )
        index = queue.dequeue()
        return [gather(tensor, index) for tensor in tensors]
