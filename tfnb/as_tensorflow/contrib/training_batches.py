"""``tf.contrib.training``: batches by length, and samples by class, in queues."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.client.public.api import tf
from tfnb.library.control_flow.smart_cond import smart_cond
from tfnb.library.training.moving_averages import assign_moving_average
from tfnb.library.training.sparse_elements import restore_sparse_tensors, store_sparse_tensors

if TYPE_CHECKING:
    from collections.abc import Callable


def _as_list(tensors: Any) -> list[Any]:
    given = tensors.values() if isinstance(tensors, dict) else tensors
    if not isinstance(tensors, dict | list | tuple):
        given = [tensors]
    found = [
        one if isinstance(one, tf.SparseTensor) else tf.convert_to_tensor(one) for one in given
    ]
    if not found:
        raise ValueError("Expected at least one tensor in bucket().")
    return found


def _like(tensors: Any, values: list[Any]) -> Any:
    if isinstance(tensors, dict):
        return dict(zip(tensors, values, strict=True))
    return values[0] if len(values) == 1 else values


def bucket(
    tensors: Any,
    which_bucket: Any,
    batch_size: Any,
    num_buckets: int,
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Any = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: Any = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Return batches of elements of the same bucket, with the bucket's number.

    Queue runners fill a queue for each bucket, and one of whole batches.

    Args:
      tensors: an element: a tensor, a list, or a dict.
      which_bucket: the number of its bucket, a scalar.
      batch_size: the size of batches, or one for each bucket.
      num_buckets: the number of buckets.
      num_threads: how many threads compute elements.
      capacity: the most elements of a bucket, and the most batches, that wait.
      bucket_capacities: the most elements of each bucket.
      shapes: of the tensors, if they are not known.
      dynamic_pad: whether elements of different sizes are padded with zeros.
      allow_smaller_final_batch: whether the remaining elements form smaller last batches.
      keep_input: whether the element is taken at all, a scalar.
      shared_name: under which several sessions share the queues.
      name: the name of the ops.

    Returns:
      (bucket, batch in the structure of ``tensors``).

    Raises:
      ValueError: lists are not as long as there are buckets, or a shape is not known.
    """
    is_listed = isinstance(batch_size, list | tuple)
    sizes = list(batch_size) if is_listed else [batch_size] * num_buckets
    capacities = list(bucket_capacities or [capacity] * num_buckets)
    if len(sizes) != num_buckets:
        raise ValueError("If batch_size is a list it must have num_buckets elements")
    if len(capacities) != num_buckets:
        raise ValueError(
            f"The list bucket_capacities ({capacities}) must have exactly num_buckets "
            f"({num_buckets}) elements."
        )
    parts = _as_list(tensors)
    with tf.name_scope(name, "bucket", parts):
        keep = tf.convert_to_tensor(keep_input)
        (parts,), sparse = store_sparse_tensors([parts], False, keep)
        types = [one.dtype for one in parts]
        static = [tf.TensorShape(one) for one in shapes] if shapes else [p.shape for p in parts]
        make = tf.PaddingFIFOQueue if dynamic_pad else tf.FIFOQueue
        if not dynamic_pad and not all(one.is_fully_defined() for one in static):
            raise ValueError(f"All shapes must be fully defined: {static}")
        queues = [
            make(
                capacities[number],
                types,
                static,
                shared_name=None if shared_name is None else f"{shared_name}_{number}",
                name=f"bucket_queue_{number}",
            )
            for number in range(num_buckets)
        ]
        rows = None
        if not is_listed and not allow_smaller_final_batch and isinstance(batch_size, int):
            rows = batch_size
        whole = tf.PaddingFIFOQueue(
            capacity,
            [tf.int32, *types],
            [tf.TensorShape([]), *(tf.TensorShape([rows]).concatenate(one) for one in static)],
            shared_name=shared_name,
            name="top_queue",
        )
        chosen = tf.convert_to_tensor(which_bucket, tf.int32, name="which_bucket")
        _fill(queues, parts, chosen, keep, whole, num_threads)
        _pass_on(queues, sizes, whole, allow_smaller_final_batch)
        tf.summary.scalar(
            f"bucket/fraction_of_{capacity}_full", tf.cast(whole.size(), tf.float32) / capacity
        )
        found, *values = whole.dequeue(name="dequeue_top")
        return found, _like(tensors, restore_sparse_tensors(values, sparse))


def _fill(
    queues: list[Any], parts: list[Any], chosen: Any, keep: Any, whole: Any, num_threads: int
) -> None:
    """Let threads put elements into the queues of their buckets."""

    def put() -> Any:
        return tf.group(
            *[
                tf.cond(
                    tf.equal(chosen, number),
                    lambda queue=queue: queue.enqueue(parts),
                    tf.no_op,
                )
                for number, queue in enumerate(queues)
            ]
        )

    op = smart_cond(keep, put, tf.no_op)
    tf.train.add_queue_runner(
        tf.train.QueueRunner(
            whole,
            [op] * num_threads,
            close_op=tf.group(*[queue.close() for queue in queues]),
            cancel_op=tf.group(*[queue.close(cancel_pending_enqueues=True) for queue in queues]),
            queue_closed_exception_types=(tf.errors.OutOfRangeError, tf.errors.CancelledError),
        )
    )


def _pass_on(queues: list[Any], sizes: list[Any], whole: Any, smaller: bool) -> None:
    """Let a thread for each bucket put its batches into the queue of batches."""
    ops = []
    for number, (queue, size) in enumerate(zip(queues, sizes, strict=True)):
        take = queue.dequeue_up_to if smaller else queue.dequeue_many
        batch = take(size, name=f"read_bucket_{number}")
        values = batch if isinstance(batch, list | tuple) else [batch]
        ops.append(whole.enqueue([tf.constant(number), *values]))
    tf.train.add_queue_runner(
        tf.train.QueueRunner(
            queues[0],
            ops,
            close_op=whole.close(),
            cancel_op=whole.close(cancel_pending_enqueues=True),
            queue_closed_exception_types=(tf.errors.OutOfRangeError, tf.errors.CancelledError),
        )
    )


def bucket_by_sequence_length(
    input_length: Any,
    tensors: Any,
    batch_size: Any,
    bucket_boundaries: Any,
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Any = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: Any = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Return batches of sequences of similar length, with their lengths.

    Args:
      input_length: the length of the element, a scalar.
      tensors: an element: a tensor, a list, or a dict.
      batch_size: the size of batches, or one for each bucket.
      bucket_boundaries: growing integers; a length belongs behind those that it reaches.
      num_threads: as in ``bucket``.
      capacity: as in ``bucket``.
      bucket_capacities: as in ``bucket``.
      shapes: as in ``bucket``.
      dynamic_pad: as in ``bucket``.
      allow_smaller_final_batch: as in ``bucket``.
      keep_input: as in ``bucket``.
      shared_name: as in ``bucket``.
      name: as in ``bucket``.

    Returns:
      (lengths, batch in the structure of ``tensors``).

    Raises:
      TypeError: boundaries are no list of integers.
      ValueError: there are none, or they do not grow.
    """
    if not isinstance(bucket_boundaries, list | tuple):
        raise TypeError(
            f"bucket_boundaries must be a list or tuple, but received: {bucket_boundaries}"
        )
    if not bucket_boundaries:
        raise ValueError("bucket_boundaries must not be empty")
    for one in bucket_boundaries:
        if not isinstance(one, int):
            raise TypeError(f"bucket boundaries must be integers, but saw: {bucket_boundaries}")
    for start, end in itertools.pairwise(bucket_boundaries):
        if start >= end:
            raise ValueError(
                f"Buckets must contain sequential increasing lengths, but saw: {start} before {end}"
            )
    parts = _as_list(tensors)
    with tf.name_scope(name, "bucket_by_sequence_length"):
        length = tf.convert_to_tensor(input_length, tf.int32, name="input_length")
        chosen = tf.reduce_sum(tf.cast(length >= np.array(bucket_boundaries, np.int32), tf.int32))
        _, found = bucket(
            [length, *parts],
            chosen,
            batch_size,
            len(bucket_boundaries) + 1,
            num_threads,
            capacity,
            bucket_capacities,
            None if shapes is None else [tf.TensorShape([]), *shapes],
            dynamic_pad,
            allow_smaller_final_batch,
            keep_input,
            shared_name,
        )
        return found[0], _like(tensors, list(found[1:]))


def rejection_sample(
    tensors: Any,
    accept_prob_fn: Callable[[list[Any]], Any],
    batch_size: int,
    queue_threads: int = 1,
    enqueue_many: bool = False,
    prebatch_capacity: int = 16,
    prebatch_threads: int = 1,
    runtime_checks: bool = False,
    name: str | None = None,
) -> list[Any]:
    """Return batches of elements that are accepted with a probability.

    Args:
      tensors: an element, or with ``enqueue_many`` several.
      accept_prob_fn: from the element to its probability.
      batch_size: the size of batches.
      queue_threads: how many threads fill the queue of batches.
      enqueue_many: whether each row of the tensors is an element.
      prebatch_capacity: of the queue of rows.
      prebatch_threads: how many threads fill the queue of rows.
      runtime_checks: whether probabilities outside of [0, 1] are errors.
      name: the variable scope.
    """
    with tf.variable_scope(name, "rejection_sample", tensors):
        parts = [tf.convert_to_tensor(one) for one in tensors]
        if enqueue_many:
            parts = _rows(parts, prebatch_threads, prebatch_capacity)
        probability = accept_prob_fn(parts)
        if runtime_checks:
            checks = [
                tf.assert_less_equal(0.0, probability),
                tf.assert_less_equal(probability, 1.0),
            ]
            with tf.control_dependencies(checks):
                probability = tf.identity(probability, name="prob_with_checks")
        keep = tf.random_uniform([]) < probability
        found = tf.train.maybe_batch(parts, keep, batch_size, num_threads=queue_threads)
        return list(found) if isinstance(found, list | tuple) else [found]


def _rows(parts: list[Any], threads: int, capacity: int) -> list[Any]:
    """Return rows of tensors, one after another."""
    found = tf.train.batch(
        parts, batch_size=1, num_threads=threads, capacity=capacity, enqueue_many=True
    )
    rows = found if isinstance(found, list | tuple) else [found]
    return [tf.squeeze(row, [0]) for row in rows]


def stratified_sample(
    tensors: Any,
    labels: Any,
    target_probs: Any,
    batch_size: int,
    init_probs: Any = None,
    enqueue_many: bool = False,
    queue_capacity: int = 16,
    threads_per_queue: int = 1,
    name: str | None = None,
) -> tuple[list[Any], Any]:
    """Return batches in which classes have given shares, by rejection.

    Args:
      tensors: a list of an element's tensors, or with ``enqueue_many`` of several elements'.
      labels: the class of the element, or of each.
      target_probs: [classes], the shares in the batches.
      batch_size: the size of batches.
      init_probs: [classes], the shares in the data; estimated from the data by default.
      enqueue_many: whether each row of the tensors is an element.
      queue_capacity: of the queue of rows.
      threads_per_queue: how many threads fill each queue.
      name: the name of the scope.

    Returns:
      (batches of the tensors, labels).

    Raises:
      ValueError: shares are no vectors of one length.
      InvalidArgumentError: when run, shares do not sum to 1, or a label is no class.
    """
    with tf.name_scope(name, "stratified_sample"):
        parts = [tf.convert_to_tensor(one) for one in tensors]
        labels = tf.convert_to_tensor(labels)
        wanted = tf.convert_to_tensor(target_probs, tf.float32)
        if not enqueue_many:
            parts = [tf.expand_dims(one, 0) for one in parts]
            labels = tf.expand_dims(labels, 0)
        classes = wanted.shape.num_elements()
        if wanted.shape.ndims != 1 or classes is None:
            raise ValueError(f"target_probs must be a vector of known length: {wanted.shape}")
        if init_probs is None:
            present = _estimated_shares(labels, classes)
        else:
            present = tf.convert_to_tensor(init_probs, tf.float32)
        if present.shape.num_elements() != classes:
            raise ValueError("Probability parameters must have the same length.")
        checks = [
            *_share_checks(wanted),
            *_share_checks(present),
            tf.assert_non_negative(labels),
            tf.assert_less(labels, tf.cast(classes, labels.dtype)),
            tf.Assert(
                tf.reduce_all(tf.logical_or(present > 0, tf.equal(wanted, 0))),
                ["All classes with zero initial probability must also have zero target "
                 "probability: ", present, wanted],
            ),
        ]  # fmt: skip
        with tf.control_dependencies(checks):
            labels, present = tf.identity(labels), tf.identity(present)
        ratio = tf.div_no_nan(wanted, present)
        accepted = ratio / tf.reduce_max(ratio)
        *values, label = _rows([*parts, labels], threads_per_queue, queue_capacity)
        keep = tf.random_uniform([]) < tf.gather(accepted, label)
        *batches, found = tf.train.maybe_batch(
            [*values, label], keep, batch_size, num_threads=threads_per_queue
        )
        return batches, found


def _share_checks(shares: Any) -> list[Any]:
    total = tf.reduce_sum(shares)
    return [
        tf.assert_non_negative(shares),
        tf.assert_less(total, 1.0 + 1e-6),
        tf.assert_less(1.0 - 1e-6, total),
    ]


def _estimated_shares(labels: Any, classes: int, smoothing_constant: int = 10) -> Any:
    """Return the shares of the classes that were seen so far."""
    counts = tf.Variable(
        [smoothing_constant] * classes, trainable=False, name="class_count", dtype=tf.int64
    )
    more = tf.reduce_sum(tf.one_hot(labels, classes, dtype=tf.int64), 0)
    seen = tf.cast(counts.assign_add(more), tf.float32)
    return seen / tf.reduce_sum(seen)


def resample_at_rate(
    inputs: Any, rates: Any, scope: str | None = None, seed: Any = None, back_prop: bool = False
) -> list[Any]:
    """Return rows, each as often as a draw of a Poisson distribution with its rate says.

    Args:
      inputs: a list of [batch, ...].
      rates: [batch].
      scope: the name of the scope.
      seed: of the random numbers.
      back_prop: without effect.
    """
    with tf.name_scope(scope, "resample_at_rate", list(inputs)):
        rates = tf.convert_to_tensor(rates, name="rates")
        counts = tf.cast(tf.random_poisson(rates, [], seed=seed), tf.int32)
        rows = tf.repeat(tf.range(tf.shape(counts)[0]), counts)
        return [tf.gather(tf.convert_to_tensor(one), rows) for one in inputs]


def weighted_resample(
    inputs: Any,
    weights: Any,
    overall_rate: Any,
    scope: str | None = None,
    mean_decay: float = 0.999,
    seed: Any = None,
) -> tuple[list[Any], Any]:
    """Return rows, drawn more often the larger their weight, and the rates that were used.

    Args:
      inputs: a list of [batch, ...].
      weights: [batch].
      overall_rate: how many rows come out for one that comes in.
      scope: the name of the scope.
      mean_decay: of the running mean of weights.
      seed: of the random numbers.

    Returns:
      (rows of the inputs, the rate of each of them).
    """
    with tf.name_scope(scope, "weighted_resample", list(inputs)):
        weights = tf.convert_to_tensor(weights)
        with tf.variable_scope(scope, "estimate_mean", list(inputs)):
            estimated = tf.get_local_variable(
                "estimated_mean", [], weights.dtype, initializer=tf.zeros_initializer()
            )
            mean = assign_moving_average(estimated, tf.reduce_mean(weights), mean_decay)
        rates = weights * overall_rate / mean
        *rows, used = resample_at_rate([*inputs, rates], rates, seed=seed)
        return rows, used
