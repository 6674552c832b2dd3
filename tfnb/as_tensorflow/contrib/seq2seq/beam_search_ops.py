"""Back-tracing of beams, and copies of a batch for them."""

from __future__ import annotations

from typing import Any

from tfnb.client.public.api import tf
from tfnb.framework.structures import nest


def gather_tree(
    step_ids: Any,
    parent_ids: Any,
    max_sequence_lengths: Any,
    end_token: Any,
    name: str | None = None,
) -> Any:
    """Return the ids of whole beams from the ids of steps and the beams they come from.

    Args:
      step_ids: [time, batch, beam] of int32, the id that each step added.
      parent_ids: [time, batch, beam] of int32, the beam that each step extended.
      max_sequence_lengths: [batch] of int32; later steps do not count.
      end_token: the id that ends a beam, and fills what is behind the end.
      name: the name of the scope.

    Returns:
      [time, batch, beam] of int32.

    Raises:
      InvalidArgumentError: when run, a parent is no beam.
    """
    with tf.name_scope(name, "GatherTree", [step_ids, parent_ids]):
        step_ids = tf.convert_to_tensor(step_ids, tf.int32, name="step_ids")
        parent_ids = tf.convert_to_tensor(parent_ids, tf.int32, name="parent_ids")
        lengths = tf.convert_to_tensor(max_sequence_lengths, tf.int32)
        end = tf.convert_to_tensor(end_token, tf.int32)
        shape = tf.shape(step_ids)
        width = shape[2]

        def earlier(before: Any, given: Any) -> Any:
            beams, _ = before
            time, ids, parents = given
            counts = tf.tile(tf.expand_dims(time < lengths, 1), [1, width])
            found = tf.batch_gather(ids, beams)
            above = tf.batch_gather(parents, beams)
            filled = tf.fill(tf.shape(found), end)
            return tf.where(counts, above, beams), tf.where(counts, found, filled)

        own = tf.tile(tf.expand_dims(tf.range(width), 0), [shape[1], 1])
        _, traced = tf.scan(
            earlier,
            (tf.range(shape[0]), step_ids, parent_ids),
            initializer=(own, tf.zeros_like(own)),
            reverse=True,
        )
        ends = tf.cast(tf.equal(traced, end), tf.int32)
        is_behind = tf.cumsum(ends, axis=0, exclusive=True) > 0
        result = tf.where(is_behind, tf.fill(shape, end), traced)
        result.set_shape(step_ids.shape)
        return result


def gather_tree_from_array(t: Any, parent_ids: Any, sequence_length: Any) -> Any:
    """Return what each beam saw over time, from values in the order of steps.

    Args:
      t: [time, batch, beam, ...], or [time, batch * beam, ...].
      parent_ids: [time, batch, beam], the beam that each step extended.
      sequence_length: [batch, beam], the lengths of the beams.
    """
    shape = tf.shape(parent_ids)
    time, batch, width = shape[0], shape[1], shape[2]
    own = tf.tile(tf.reshape(tf.range(width), [1, 1, -1]), [time, batch, 1])
    ordered = gather_tree(
        own,
        parent_ids,
        max_sequence_lengths=tf.cast(tf.reduce_max(sequence_length, axis=1), tf.int32),
        end_token=width + 1,
    )
    counts = tf.transpose(tf.sequence_mask(sequence_length, maxlen=time), [2, 0, 1])
    ordered = tf.where(counts, ordered, own)
    times = tf.tile(tf.reshape(tf.range(time), [-1, 1, 1]), [1, batch, width])
    rows = tf.tile(tf.reshape(tf.range(batch), [1, -1, 1]), [time, 1, width])
    by_beam = tf.reshape(t, [time, batch, width, -1])
    found = tf.gather_nd(by_beam, tf.stack([times, rows, ordered], -1))
    return tf.reshape(found, tf.shape(t))


def _tile_batch(t: Any, multiplier: int) -> Any:
    """Return a tensor with each row repeated."""
    t = tf.convert_to_tensor(t, name="t")
    if t.shape.ndims is None or t.shape.ndims < 1:
        raise ValueError("t must have statically known rank")
    shape = tf.shape(t)
    repeats = [1, multiplier] + [1] * (t.shape.ndims - 1)
    tiled = tf.tile(tf.expand_dims(t, 1), repeats)
    tiled = tf.reshape(tiled, tf.concat([[shape[0] * multiplier], shape[1:]], 0))
    batch = t.shape[0].value
    static = batch * multiplier if batch is not None and isinstance(multiplier, int) else None
    tiled.set_shape(tf.TensorShape([static]).concatenate(t.shape[1:]))
    return tiled


def tile_batch(t: Any, multiplier: int, name: str | None = None) -> Any:
    """Return tensors with each row of the batch repeated, as a beam search needs its memory.

    Args:
      t: [batch, ...], or a structure of them.
      multiplier: the number of copies.
      name: the name of the scope.

    Raises:
      ValueError: a rank is not known.
    """
    with tf.name_scope(name, "tile_batch", [*nest.flatten(t), multiplier]):
        return nest.map_structure(lambda one: _tile_batch(one, multiplier), t)
