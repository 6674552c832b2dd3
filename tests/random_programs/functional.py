"""Random programs of nodes that call functions: branches, loops, calls, mapped datasets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import tfnb as tf
from tests.random_programs.programs import Program, programs
from tfnb.framework.functions.function import Defun

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.random_calls.draws import Draw


def _step(d: Draw, x: Any, i: Any) -> Any:
    """Make a float vector from a vector and a number."""
    kind = d.one("add scale square tail first sum check gather divide")
    if kind == "add":
        return x + tf.cast(i, tf.float32)
    if kind == "scale":
        return x * float(d.one([2.0, -0.5, 0.0]))
    if kind == "square":
        return tf.square(x) - 1.0
    if kind == "tail":
        return tf.concat([x[1:], x[:1]], 0)
    if kind == "first":
        return x - x[0]
    if kind == "sum":
        return tf.ones_like(x) * tf.reduce_sum(x)
    if kind == "check":
        return tf.check_numerics(x, "found")
    if kind == "gather":
        return x + tf.gather(x, i)
    return x / tf.cast(i, tf.float32)


def _body(d: Draw) -> Callable[[Any, Any], Any]:
    """Return a function of a vector and a number, drawn once."""
    seeds = [d.number(0, 1 << 30) for _ in range(d.number(1, 2))]

    def body(x: Any, i: Any) -> Any:
        for seed in seeds:
            x = _step(type(d)(seed), x, i)
        return x

    return body


def _function(body: Callable[..., Any], *types: Any) -> Any:
    return Defun(*types)(body)


def _branch(d: Draw) -> Any:
    return _function(_body(d), tf.float32, tf.int32)


def _called(d: Draw, p: Program, x: Any, i: Any, depth: int) -> Any:
    """Add a node that calls functions, which may call others."""
    floats = {"Tin": [tf.float32, tf.int32], "Tout": [tf.float32]}
    kind = d.one(
        "StatelessIf If StatelessCase Case StatelessWhile While For PartitionedCall "
        "StatefulPartitionedCall MapDefun SymbolicGradient"
    )
    if kind in ("StatelessIf", "If"):
        condition: Any = i
        if d.chance(0.5):
            condition = tf.greater(i, d.number(0, 2))
        elif d.chance(0.3):
            condition = x[:1]  # a vector with something in it is true
        made = p.raw(
            kind, cond=condition, input=[x, i], then_branch=_branch(d), else_branch=_branch(d),
            Tout=[tf.float32],
        )  # fmt: skip
    elif kind in ("StatelessCase", "Case"):
        made = p.raw(
            kind, branch_index=i, input=[x, i], Tout=[tf.float32],
            branches=[_branch(d) for _ in range(d.number(1, 3))],
        )  # fmt: skip
    elif kind in ("StatelessWhile", "While"):
        limit, inner = d.number(0, 4), _body(d)

        def goes_on(x: Any, i: Any) -> Any:
            return tf.less(i, limit)

        def once(x: Any, i: Any) -> Any:
            return inner(x, i), i + 1

        types = (tf.float32, tf.int32)
        made = p.raw(
            kind, input=[x, i], cond=_function(goes_on, *types), body=_function(once, *types)
        )
    elif kind == "For":
        inner = _body(d)

        def turn(i: Any, x: Any) -> Any:
            return inner(x, i)

        numbers = [d.number(0, 2), d.number(0, 4), d.one([1, 1, 2, -1, 0])]
        made = p.raw(
            kind, start=numbers[0], limit=numbers[1], delta=numbers[2], input=[x],
            body=_function(turn, tf.int32, tf.float32),
        )  # fmt: skip
    elif kind == "MapDefun":
        inner = _body(d)
        made = p.raw(
            kind, arguments=[tf.stack([x, x * 2.0])], captured_inputs=[i], f=_branch(d),
            output_types=[tf.float32], output_shapes=[tf.TensorShape(None)],
        )  # fmt: skip
        made = None if made is None else [made[0][d.number(0, 1)]]
    elif kind == "SymbolicGradient":
        made = p.raw(kind, input=[x, i, tf.ones_like(x)], f=_branch(d), Tout=[tf.float32, tf.int32])
    else:
        made = p.raw(kind, args=[x, i], f=_branch(d), Tout=floats["Tout"])
    return made


@programs
def functions(d: Draw, p: Program) -> None:
    """Calls, branches and loops in sequence."""
    with p.graph.as_default():
        x = tf.constant(d.values("float32", (d.number(1, 3),), 0.1))
        i = tf.constant(d.number(-1 if d.chance(0.1) else 0, 3))
        for _ in range(d.number(1, 3)):
            made = _called(d, p, x, i, 1)
            if made is None:
                continue
            found = made if isinstance(made, (list, tuple)) else [made]
            p.run(found)
            x = found[0]


def _element(d: Draw, dataset: Any) -> Any:
    """Return a dataset of int64 numbers with one more transformation."""
    kind = d.one(
        "map map filter flat_map interleave scan take_while batch padded group shuffle window "
        "unbatch enumerate cache concatenate repeat"
    )
    number = d.number(1, 4)
    if kind == "map":
        action = d.one("double shift divide negate gather")
        functions: dict[str, Callable[[Any], Any]] = {
            "double": lambda v: v * 2,
            "shift": lambda v: v + number,
            "divide": lambda v: v // (v - number),
            "negate": lambda v: -v,
            "gather": lambda v: tf.gather(tf.constant([4, 5, 6], tf.int64), v),
        }
        calls = {"num_parallel_calls": 2} if d.chance(0.3) else {}
        return dataset.map(functions[action], **calls)
    if kind == "filter":
        return dataset.filter(lambda v: tf.not_equal(v % 3, number % 3))
    if kind == "flat_map":
        return dataset.flat_map(lambda v: tf.data.Dataset.range(tf.minimum(v, 3)))
    if kind == "interleave":
        return dataset.interleave(
            lambda v: tf.data.Dataset.from_tensors(v).repeat(2), cycle_length=number,
            block_length=d.number(1, 2),
        )  # fmt: skip
    if kind == "scan":
        start = np.int64(number)
        return dataset.apply(tf.data.experimental.scan(start, lambda s, v: (s + v, s * v)))
    if kind == "take_while":
        return dataset.apply(tf.data.experimental.take_while(lambda v: v < number + 2))
    if kind == "batch":
        return dataset.batch(number).map(tf.reduce_sum)
    if kind == "padded":
        ragged = dataset.map(lambda v: tf.fill([tf.cast(v % 3, tf.int32)], v))
        return ragged.padded_batch(2, [None]).map(tf.reduce_sum)
    if kind == "group":
        return dataset.apply(
            tf.data.experimental.group_by_window(
                lambda v: v % 2, lambda _, group: group.batch(number), window_size=number
            )
        ).map(tf.reduce_sum)
    if kind == "shuffle":
        return dataset.shuffle(number, seed=d.number(1, 99))
    if kind == "window":
        return dataset.window(number).flat_map(lambda w: w.batch(number)).map(tf.reduce_sum)
    if kind == "unbatch":
        return dataset.batch(number).apply(tf.data.experimental.unbatch())
    if kind == "enumerate":
        return dataset.enumerate(number).map(lambda i, v: i + v)
    if kind == "cache":
        return dataset.cache()
    if kind == "concatenate":
        return dataset.concatenate(dataset)
    return dataset.repeat(number % 3)


@programs
def mapped(d: Draw, p: Program) -> None:
    """Pipelines with functions, built by `tf.data`: all elements, then the end."""
    with p.graph.as_default():
        made = tf.data.Dataset.range(d.number(0, 2), d.number(2, 7))
        for _ in range(d.number(1, 3)):
            made = _element(d, made)
        if d.chance(0.3):
            total = made.reduce(np.int64(0), lambda s, v: s + v)
            p.run(total)
        if d.chance(0.2):
            p.run(tf.data.experimental.get_single_element(made.take(d.number(1, 2))))
        if d.chance(0.15):
            following = tf.data.make_one_shot_iterator(made).get_next()
            begin = None
        else:
            iterator = tf.data.make_initializable_iterator(made)
            begin, following = iterator.initializer, iterator.get_next()
        optional = None
        if begin is not None and d.chance(0.3):
            element = tf.data.experimental.get_next_as_optional(iterator)
            optional = element.has_value()
    if begin is not None:
        p.run(begin)
    for _ in range(d.number(3, 9)):
        p.run(optional if optional is not None and d.chance(0.3) else following)
