"""The form of a behaviour: a function of the module, its row, and the text of its error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable


class Behaviour(NamedTuple):
    """One observable behaviour.

    Attributes:
      row: its row in docs/behaviours.md.
      do: takes ``tf``, with an own graph as the default; returns the observed value, or raises.
      match: a part of its error's text; empty where it does not fail.
    """

    row: int
    do: Callable[[Any], Any]
    match: str


BEHAVIOURS: dict[str, Behaviour] = {}


def behaviour(row: int, match: str = "") -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Adds a function to the table under its own name."""

    def add(do: Callable[[Any], Any]) -> Callable[[Any], Any]:
        assert do.__name__ not in BEHAVIOURS
        BEHAVIOURS[do.__name__] = Behaviour(row, do, match)
        return do

    return add


def answer(tf: Any, one: Behaviour) -> list[Any]:
    """``["value", the observed value]`` or ``[class of the error, its text]``.

    If an error's text contains ``match``, only ``match`` is kept, else the whole text.
    """
    with tf.Graph().as_default():
        try:
            found = one.do(tf)
        except Exception as error:
            text = str(error)
            return [type(error).__name__, one.match if one.match and one.match in text else text]
    return ["value", plain(found)]


def plain(value: Any) -> Any:
    """Return a value as JSON has it.

    Dtypes, bytes and types are spelt out, so that changes show.
    """
    if isinstance(value, np.ndarray):
        return {"dtype": str(value.dtype), "values": plain(value.tolist())}
    if isinstance(value, np.generic):
        return f"{value.dtype} {value.item()!r}"
    if isinstance(value, bytes):
        return f"bytes {value!r}"
    if isinstance(value, type):
        return f"type {value.__name__}"
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"a {type(value).__name__} cannot be compared")


def several_cpus(tf: Any, count: int = 2, **options: Any) -> Any:
    """A configuration with CPU devices and without optimizers, which would rename nodes."""
    config = tf.ConfigProto(device_count={"CPU": count}, **options)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
    return config


def switched(tf: Any) -> tuple[Any, Any]:
    """A dead and a live float."""
    dead, live = tf.raw_ops.Switch(data=tf.constant(1.0), pred=tf.constant(True))
    return dead, live


def traced(tf: Any, fetches: Any, feeds: Any = None, **options: Any) -> Any:
    """The RunMetadata of one traced run on two CPU devices, with its partition graphs."""
    metadata = tf.RunMetadata()
    run_options = tf.RunOptions(
        trace_level=tf.RunOptions.FULL_TRACE, output_partition_graphs=True, **options
    )
    with tf.Session(config=several_cpus(tf)) as sess:
        sess.run(fetches, feeds, options=run_options, run_metadata=metadata)
    return metadata
