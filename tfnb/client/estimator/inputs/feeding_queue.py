"""A queue that threads fill with batches of rows of arrays, while a session runs."""

from __future__ import annotations

import logging
import random
from typing import TYPE_CHECKING, Any

from tfnb.client.public.api import tf
from tfnb.core import errors
from tfnb.library.training.queue_runner import QueueRunner, add_queue_runner

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np

_log = logging.getLogger("tensorflow")


class RowBatches:
    """The feeds of one thread: batches of rows in their order, epoch after epoch.

    Args:
        placeholders: For the row numbers and for each column.
        columns: The arrays.
        batch_size: The number of rows of a batch.
        starts_anywhere: Whether the first row is drawn at random.
        num_epochs: How many epochs; without end if None.
    """

    def __init__(
        self,
        placeholders: Sequence[Any],
        columns: Sequence[np.ndarray],
        batch_size: int,
        starts_anywhere: bool,
        num_epochs: int | None,
    ) -> None:
        self._placeholders = placeholders
        self._columns = columns
        self._row_count = len(columns[0])
        self._batch_size = batch_size
        self._num_epochs = num_epochs
        self._next = random.randrange(self._row_count) if starts_anywhere else 0
        self._left = None if num_epochs is None else num_epochs * self._row_count

    def __call__(self) -> dict[Any, Any]:
        """Return the feeds of the next batch.

        Raises:
            OutOfRangeError: All epochs have been returned.
        """
        count = self._batch_size
        if self._left is not None:
            if self._left <= 0:
                raise errors.OutOfRangeError(
                    None, None, f"Already emitted {self._num_epochs} epochs."
                )
            count = min(count, self._left)
            self._left -= count
        rows = [(self._next + offset) % self._row_count for offset in range(count)]
        self._next = (rows[-1] + 1) % self._row_count
        fed = [rows, *(column[rows] for column in self._columns)]
        return dict(zip(self._placeholders, fed, strict=True))


class FeedingQueueRunner(QueueRunner):
    """A queue runner whose enqueue ops are fed.

    Args:
        queue: The queue to fill.
        enqueue_ops: An op for each thread.
        feed_fns: Return the feeds of each op.
    """

    def __init__(
        self,
        queue: Any,
        enqueue_ops: Sequence[Any],
        feed_fns: Sequence[Callable[[], dict[Any, Any]]],
    ) -> None:
        super().__init__(queue, enqueue_ops)
        self._feeds = dict(zip(enqueue_ops, feed_fns, strict=True))

    def enqueuing(self, sess: Any, enqueue_op: Any) -> Callable[[], Any]:
        """Return the function that runs an op once, with its feeds."""
        feeds = self._feeds[enqueue_op]
        return lambda: sess.run(enqueue_op, feeds())

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Return None: a message cannot hold the arrays."""
        return None


def dequeued(
    columns: Mapping[str, np.ndarray],
    batch_size: int,
    num_epochs: int | None,
    shuffle: bool,
    capacity: int,
    min_after_dequeue: int | None,
    num_threads: int,
) -> list[Any]:
    """Return a batch of each column, from a queue in the default graph.

    Args:
        columns: The arrays, of equal length.
        batch_size: The number of rows of a batch; the last one may have less.
        num_epochs: How many epochs; without end if None.
        shuffle: Whether rows are drawn from the queue at random.
        capacity: The number of rows in the queue.
        min_after_dequeue: The smallest number of rows from which one is drawn; a quarter of the
            capacity if None.
        num_threads: The number of threads that fill the queue.
    """
    if num_threads > 1 and num_epochs is not None:
        _log.warning(
            "An input function has num_epochs and num_threads > 1. Each thread reads num_epochs "
            "epochs, so this will produce more than you probably intend. Use one thread."
        )
    arrays = list(columns.values())
    with tf.name_scope("enqueue_input"):
        dtypes = [tf.int64, *(tf.as_dtype(array.dtype) for array in arrays)]
        shapes = [(), *(array.shape[1:] for array in arrays)]
        if shuffle:
            least = int(capacity / 4 if min_after_dequeue is None else min_after_dequeue)
            queue = tf.RandomShuffleQueue(capacity, least, dtypes=dtypes, shapes=shapes)
        else:
            least = 0
            queue = tf.FIFOQueue(capacity, dtypes=dtypes, shapes=shapes)
        enqueue_ops, feed_fns = [], []
        for _ in range(num_threads):
            placeholders = [tf.placeholder(dtype) for dtype in dtypes]
            enqueue_ops.append(queue.enqueue_many(placeholders))
            feed_fns.append(RowBatches(placeholders, arrays, batch_size, shuffle, num_epochs))
        add_queue_runner(FeedingQueueRunner(queue, enqueue_ops, feed_fns))
        room = capacity - least
        full = tf.to_float(tf.maximum(0, queue.size() - least)) * (1.0 / room)
        tf.summary.scalar(f"queue/{queue.name}fraction_over_{least}_of_{room}_full", full)
    rows = queue.dequeue_many(batch_size) if num_epochs is None else queue.dequeue_up_to(batch_size)
    found: list[Any] = rows[1:]
    return found


def check_shuffle(shuffle: Any) -> None:
    """Check that a program has decided whether to shuffle.

    Raises:
        ValueError: It has not.
    """
    if not isinstance(shuffle, bool):
        raise ValueError(
            "shuffle must be provided and explicitly set as boolean (it is recommended to set it "
            f"as True for training); got {shuffle}"
        )
