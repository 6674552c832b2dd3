"""Losses, random values and recurrence of the backend inside of ``tf.keras``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.as_tensorflow.keras.number_settings import epsilon, floatx
from tfnb.client.public.api import tf

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def random_binomial(shape: Any, p: Any = 0.0, dtype: Any = None, seed: int | None = None) -> Any:
    """Return ones with probability p, and zeros."""
    dtype = dtype or floatx()
    drawn = tf.random_uniform(shape, dtype=dtype, seed=seed)
    return tf.where(drawn <= p, tf.ones(shape, dtype=dtype), tf.zeros(shape, dtype=dtype))


def hard_sigmoid(x: Any) -> Any:
    """Return 0.2 x + 0.5, held between 0 and 1."""
    return tf.clip_by_value(0.2 * x + 0.5, 0.0, 1.0)


def _logits_behind(output: Any, activation: str) -> Any:
    """Return the input of the activation that made a tensor; None if another op made it."""
    if isinstance(output, tf.Tensor) and output.op.type == activation:
        return output.op.inputs[0]
    return None


def _held(probabilities: Any) -> Any:
    """Return probabilities whose logarithms are finite."""
    small = epsilon()
    return tf.clip_by_value(probabilities, small, 1.0 - small)


def _checked_axis(output: Any, axis: int) -> None:
    rank = output.shape.ndims
    if rank is not None and axis not in (-1, *range(rank)):
        raise ValueError(
            f"Unexpected channels axis {axis}. Expected to be -1 or one of the axes of `output`, "
            f"which has {rank} dimensions."
        )


def categorical_crossentropy(
    target: Any, output: Any, from_logits: bool = False, axis: int = -1
) -> Any:
    """Return the cross entropy of classes along an axis."""
    _checked_axis(output, axis)
    logits = output if from_logits else _logits_behind(output, "Softmax")
    if logits is not None:
        return tf.nn.softmax_cross_entropy_with_logits_v2(labels=target, logits=logits, axis=axis)
    output = _held(output / tf.reduce_sum(output, axis, keepdims=True))
    return -tf.reduce_sum(target * tf.log(output), axis)


def sparse_categorical_crossentropy(
    target: Any, output: Any, from_logits: bool = False, axis: int = -1
) -> Any:
    """Return the cross entropy of numbers of classes along an axis."""
    _checked_axis(output, axis)
    logits = output if from_logits else _logits_behind(output, "Softmax")
    if logits is None:
        logits = tf.log(_held(output))
    rank = logits.shape.ndims
    if rank is not None and axis % rank != rank - 1:
        place = axis % rank
        order = [*range(place), *range(place + 1, rank), place]
        logits = tf.transpose(logits, order)
    target = tf.cast(target, tf.int64)
    target_rank = target.shape.ndims
    if rank is None or target_rank is None or target_rank == rank - 1:
        return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=target, logits=logits)
    shape = tf.shape(logits)
    found = tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=tf.reshape(target, [-1]), logits=tf.reshape(logits, [-1, shape[-1]])
    )
    return tf.reshape(found, shape[:-1]) if rank >= 3 else found


def binary_crossentropy(target: Any, output: Any, from_logits: bool = False) -> Any:
    """Return the cross entropy of two classes, element by element."""
    logits = output if from_logits else _logits_behind(output, "Sigmoid")
    if logits is not None:
        return tf.nn.sigmoid_cross_entropy_with_logits(labels=target, logits=logits)
    small = epsilon()
    output = _held(output)
    return -(target * tf.log(output + small) + (1 - target) * tf.log(1 - output + small))


def rnn(
    step_function: Callable[[Any, list[Any]], tuple[Any, list[Any]]],
    inputs: Any,
    initial_states: Sequence[Any],
    go_backwards: bool = False,
    mask: Any = None,
    constants: Sequence[Any] | None = None,
    unroll: bool = False,
    input_length: int | None = None,
) -> tuple[Any, Any, list[Any]]:
    """Run a step over the second dimension of a tensor.

    Args:
      step_function: input of one time and states -> output and new states.
      inputs: values, batch first, then time.
      initial_states: states before the first time.
      go_backwards: whether the last time is the first one.
      mask: where it is False, output and states stay those of the time before.
      constants: follow the states in every call of the step.
      unroll: whether every time has nodes of its own.
      input_length: the number of times; of the shape if None.

    Returns:
      The last output, all outputs (batch first, then time), the last states.

    Raises:
      ValueError: there are too few dimensions; or the number of times is not known, to unroll; or
        there is a mask, and no state.
    """
    rank = inputs.shape.ndims
    if rank is None or rank < 3:
        raise ValueError("Input should be at least 3D.")
    if mask is not None and not initial_states and not unroll:
        raise ValueError(
            "No initial states provided! When using masking in an RNN, you should provide "
            "initial states (and your step function should return as its first state at time "
            "`t` the output at time `t-1`)."
        )
    times = _time_first(inputs)
    masks = None if mask is None else _masks_by_time(mask, rank)
    if go_backwards:
        times = tf.reverse(times, [0])
        masks = None if masks is None else tf.reverse(masks, [0])
    more = list(constants or [])
    run = _unrolled if unroll else _loop
    last, outputs, states = run(step_function, times, list(initial_states), masks, more)
    outputs = _time_first(outputs)
    shape = outputs.shape.as_list()
    outputs.set_shape([inputs.shape[0], inputs.shape[1], *shape[2:]])
    return last, outputs, states


def _time_first(tensor: Any) -> Any:
    return tf.transpose(tensor, [1, 0, *range(2, tensor.shape.ndims)])


def _masks_by_time(mask: Any, rank: int) -> Any:
    """Return masks with time first, of as many dimensions as inputs have."""
    mask = tf.cast(mask, tf.bool)
    if mask.shape.ndims == 2:
        mask = tf.expand_dims(mask, -1)
    return _time_first(mask)


def _chosen(mask: Any, new: Any, old: Any) -> Any:
    """Return new values where a mask of (batch, 1) is True, old values elsewhere."""
    flags = mask
    for _ in range(new.shape.ndims - mask.shape.ndims):
        flags = tf.expand_dims(flags, -1)
    return tf.where(tf.logical_and(flags, tf.ones_like(new, dtype=tf.bool)), new, old)


def _advance(
    step: Callable[[Any, list[Any]], tuple[Any, list[Any]]],
    value: Any,
    states: list[Any],
    constants: list[Any],
    mask: Any,
    previous: Any,
) -> tuple[Any, list[Any]]:
    """Return output and states of one time."""
    output, new_states = step(value, [*states, *constants])
    if mask is None:
        return output, list(new_states)
    before = tf.zeros_like(output) if previous is None else previous
    kept = [_chosen(mask, new, old) for new, old in zip(new_states, states)]
    return _chosen(mask, output, before), kept


def _unrolled(
    step: Callable[[Any, list[Any]], tuple[Any, list[Any]]],
    times: Any,
    states: list[Any],
    masks: Any,
    constants: list[Any],
) -> tuple[Any, Any, list[Any]]:
    count = times.shape[0].value
    if not count:
        raise ValueError("Unrolling requires a fixed number of timesteps.")
    by_time = [None] * count if masks is None else tf.unstack(masks, count)
    outputs: list[Any] = []
    for value, mask in zip(tf.unstack(times, count), by_time):
        previous = outputs[-1] if outputs else None
        output, states = _advance(step, value, states, constants, mask, previous)
        outputs.append(output)
    return outputs[-1], tf.stack(outputs), states


def _loop(
    step: Callable[[Any, list[Any]], tuple[Any, list[Any]]],
    times: Any,
    states: list[Any],
    masks: Any,
    constants: list[Any],
) -> tuple[Any, Any, list[Any]]:
    count = tf.shape(times)[0]
    values = tf.TensorArray(times.dtype, count, tensor_array_name="input_ta").unstack(times)
    flags = None
    if masks is not None:
        flags = tf.TensorArray(tf.bool, count, tensor_array_name="mask_ta").unstack(masks)
    # A step outside of the loop shows the type of the outputs; its nodes are never run unless the
    # mask needs an output from before the first time.
    shown, _ = step(times[0], [*states, *constants])
    results = tf.TensorArray(shown.dtype, count, tensor_array_name="output_ta")
    # Without a mask the output of the time before is not needed in the loop.
    carried = [] if masks is None else [tf.zeros_like(shown)]
    known = [shown.shape]

    def body(time: Any, results: Any, *loop: Any) -> tuple[Any, ...]:
        previous, old = loop[: len(carried)], list(loop[len(carried) :])
        mask = None if flags is None else flags.read(time)
        if mask is not None:
            mask.set_shape(masks.shape[1:])
        output, new = _advance(
            step, values.read(time), old, constants, mask, previous[0] if previous else None
        )
        known[0] = output.shape
        for before, after in zip(old, new):
            after.set_shape(before.shape)
        return (time + 1, results.write(time, output), *([output] * len(carried)), *new)

    found = tf.while_loop(
        lambda time, *_: time < count,
        body,
        (tf.constant(0, name="time"), results, *carried, *states),
        parallel_iterations=32,
        swap_memory=True,
    )
    outputs = found[1].stack()
    outputs.set_shape([times.shape[0].value, *known[0].as_list()])
    last = found[1].read(found[0] - 1)
    last.set_shape(known[0])
    return last, outputs, list(found[2 + len(carried) :])
