"""Programs with conds and loops, built in the same way with TensorFlow and with tfnb.

Each takes the module ``tf``, builds into the default graph and returns the fetches: tensors in
lists, None where there is no gradient. ``scripts/oracle/graphs/control_flow_graphs.py`` stores
TensorFlow's nodes and values. Placeholders are fed by :func:`feeds`.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FORWARD: dict[str, Callable[[Any], Any]] = {}
GRADIENTS: dict[str, Callable[[Any], Any]] = {}

# The control flow of a gradient; its other ops are arithmetic.
_CONTROL_OPS = """
    Switch Merge Enter Exit NextIteration LoopCond ControlTrigger RefSwitch RefMerge RefEnter
    RefExit RefNextIteration StackV2 StackPushV2 StackPopV2 TensorArrayV3 TensorArrayGradV3
    TensorArrayWriteV3 TensorArrayReadV3 IdentityN
"""
CONTROL_OPS = frozenset(_CONTROL_OPS.split())


class Pair(NamedTuple):
    """Two loop variables."""

    j: Any
    k: Any


def forward(program: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Register a program of which all nodes are compared."""
    FORWARD[program.__name__[1:]] = program
    return program


def gradient(program: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Register a program of which only control-flow nodes are compared."""
    GRADIENTS[program.__name__[1:]] = program
    return program


# --------------------------------------------------------------------------- describing and feeding


def nodes_of(graph: Any, only_control: bool) -> list[list[Any]]:
    """Return name, op and inputs of each node; without inputs for nodes of gradients."""
    nodes: list[list[Any]] = []
    for node in graph.as_graph_def().node:
        if only_control:
            if node.op in CONTROL_OPS:
                nodes.append([node.name, node.op])
            continue
        data = [name for name in node.input if not name.startswith("^")]
        control = sorted(name for name in node.input if name.startswith("^"))
        nodes.append([node.name, node.op, data + control])
    return nodes


def described(result: Any) -> Any:
    """Return names, shapes and dtypes of a program's result."""
    if isinstance(result, (list, tuple)):
        return [described(one) for one in result]
    if isinstance(result, dict):
        return {key: described(value) for key, value in result.items()}
    if result is None:
        return None
    if hasattr(result, "dense_shape"):
        parts = [result.indices, result.values, result.dense_shape]
        return [type(result).__name__, *map(described, parts)]
    if hasattr(result, "shape"):
        return [result.name, str(result.shape), result.dtype.name]
    return result.name


def without_tensors(error: Exception) -> str:
    """Return an error's class, and its text without printed tensors."""
    text = f"{type(error).__name__}: {error}".split("\n")[0]
    return text.replace(" See info log for more details.", "")


def flat_fetches(result: Any) -> list[Any]:
    """Return a program's result as a list of fetches and None."""
    if isinstance(result, (list, tuple)):
        return [flat for one in result for flat in flat_fetches(one)]
    if isinstance(result, dict):
        return [flat for key in sorted(result) for flat in flat_fetches(result[key])]
    if hasattr(result, "dense_shape"):
        parts = [result.indices, result.values, result.dense_shape]
        return [part for part in parts if part is not None]
    return [result]


def feeds(graph: Any) -> Iterator[dict[str, Any]]:
    """Return values for the placeholders of a graph, once for each combination of its booleans."""
    placeholders = [op.outputs[0] for op in graph.get_operations() if op.type == "Placeholder"]
    booleans = [one.name for one in placeholders if one.dtype.name == "bool"]
    fixed = {one.name: _value(one) for one in placeholders if one.name not in booleans}
    for values in itertools.product([False, True], repeat=len(booleans)):
        yield {**fixed, **dict(zip(booleans, values, strict=True))}


def values_of(tf: Any, graph: Any, result: Any) -> list[Any]:
    """Return the values of a program's result for each of :func:`feeds`; errors by their class."""
    fetches = [one for one in flat_fetches(result) if one is not None]
    answers: list[Any] = []
    for feed in feeds(graph):
        with tf.Session(graph=graph, config=tf.ConfigProto(allow_soft_placement=True)) as session:
            if graph.get_collection("variables"):
                session.run(tf.global_variables_initializer())
            try:
                values = session.run(fetches, feed)
            except tf.errors.OpError as error:
                answers.append(type(error).__name__)
                continue
        answers.append([_plain(one) for one in values])
    return answers


def _plain(value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, bytes):
        return ["string", value.decode()]
    return [value.dtype.name, value.tolist()]


def _value(placeholder: Any) -> Any:
    dims = [2] if placeholder.shape.rank is None else placeholder.shape.as_list()
    shape = [3 if dim is None else dim for dim in dims]
    size = int(np.prod(shape))
    if placeholder.dtype.is_integer:
        return (np.arange(size) % 3).reshape(shape)
    values = np.linspace(0.3, 1.1, size) if size > 1 else np.array([0.7])
    return values.reshape(shape).astype(np.float32)


def _x(tf: Any, shape: Any = (), name: str = "x") -> Any:
    return tf.placeholder(tf.float32, shape, name=name)


def _p(tf: Any, name: str = "p") -> Any:
    return tf.placeholder(tf.bool, [], name=name)


@forward
def _cond_of_tensor(tf: Any) -> Any:
    x = _x(tf, [2])
    p = _p(tf)
    return tf.cond(p, lambda: x * 2.0, lambda: x)


@forward
def _cond_of_operations(tf: Any) -> Any:
    p = _p(tf)
    return tf.cond(p, lambda: tf.no_op(), lambda: tf.group(tf.constant(1.0)))


@forward
def _cond_of_structure(tf: Any) -> Any:
    x = _x(tf, [None, 2])
    p = _p(tf)
    return tf.cond(
        p,
        lambda: {"a": x, "b": (tf.constant(1),)},
        lambda: {"a": x + 1.0, "b": (tf.constant(2),)},
        name="my",
    )


@forward
def _cond_in_cond(tf: Any) -> Any:
    x = _x(tf, [2])
    p = _p(tf)
    q = _p(tf, "q")
    return tf.cond(
        p,
        lambda: tf.cond(q, lambda: x + 1.0, lambda: tf.constant([1.0, 2.0])),
        lambda: tf.cond(q, lambda: x, lambda: x * x),
    )


@forward
def _cond_of_single_lists(tf: Any) -> Any:
    p = _p(tf)
    return (
        tf.cond(p, lambda: [tf.constant(1)], lambda: [tf.constant(2)]),
        tf.cond(p, lambda: [tf.constant(1)], lambda: [tf.constant(2)], strict=True),
    )


@forward
def _cond_with_control_inputs(tf: Any) -> Any:
    p = _p(tf)
    x = _x(tf, [2])
    a = tf.no_op(name="a")

    def f():
        with tf.control_dependencies([a]):
            return tf.constant(1.0) + 1.0

    with tf.control_dependencies([x]):
        return tf.cond(p, f, lambda: tf.identity(2.0))


@forward
def _cond_with_other_dtype(tf: Any) -> Any:
    p = _p(tf)
    return tf.cond(p, lambda: tf.constant(1), lambda: tf.constant(1.0))


@forward
def _cond_with_other_number(tf: Any) -> Any:
    p = _p(tf)
    return tf.cond(p, lambda: (tf.constant(1), tf.constant(2)), lambda: tf.constant(1))


@forward
def _cond_without_value(tf: Any) -> Any:
    p = _p(tf)
    return tf.cond(p, lambda: None, lambda: tf.constant(1))


@forward
def _cond_on_python_bool(tf: Any) -> Any:
    return tf.cond(True, lambda: tf.constant(1), lambda: tf.constant(1))


@forward
def _cond_without_false_fn(tf: Any) -> Any:
    return tf.cond(tf.constant(True), lambda: tf.constant(1))


@forward
def _cond_with_tensor_for_function(tf: Any) -> Any:
    return tf.cond(tf.constant(True), tf.constant(1), lambda: 1)


@forward
def _cond_with_old_and_new_name(tf: Any) -> Any:
    return tf.cond(tf.constant(True), lambda: 1, lambda: 1, fn1=lambda: 2)


@forward
def _cond_of_nothing(tf: Any) -> Any:
    return tf.cond(tf.constant(True), list, list)


@forward
def _cond_on_float(tf: Any) -> Any:
    return tf.cond(tf.constant(1.0), lambda: 1, lambda: 2)


@forward
def _cond_with_other_keys(tf: Any) -> Any:
    return tf.cond(tf.placeholder(tf.bool, []), lambda: {"a": 1}, lambda: {"b": 1})


@forward
def _cond_of_python_numbers(tf: Any) -> Any:
    return tf.cond(tf.constant(True), lambda: 1, lambda: [2])


@forward
def _cond_of_sparse_tensor(tf: Any) -> Any:
    p = _p(tf)
    s = tf.SparseTensor([[0, 1]], [1.0], [2, 3])
    return tf.cond(p, lambda: s, lambda: tf.SparseTensor([[0, 0]], [2.0], [2, 3]))


@forward
def _cond_of_indexed_slices(tf: Any) -> Any:
    p = _p(tf)
    s = tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([0]))
    return tf.cond(
        p, lambda: s, lambda: tf.IndexedSlices(tf.constant([[2.0]]), tf.constant([1], tf.int64))
    )


@forward
def _while_of_one(tf: Any) -> Any:
    return tf.while_loop(lambda i: i < 10, lambda i: i + 1, [tf.constant(0)])


@forward
def _while_of_two(tf: Any) -> Any:
    x = _x(tf, [2])
    return tf.while_loop(
        lambda i, a: i < 10,
        lambda i, a: (i + 1, a * x + tf.constant(1.0)),
        [0, x],
        name="loop",
        parallel_iterations=3,
    )


@forward
def _while_with_maximum_iterations(tf: Any) -> Any:
    x = _x(tf, [2])
    return (
        tf.while_loop(lambda a: True, lambda a: a + 1.0, [x], maximum_iterations=5),
        tf.while_loop(
            lambda i, a: i < 3,
            lambda i, a: (i + 1, a + 1.0),
            [0, x],
            maximum_iterations=tf.constant(3, tf.int64),
        ),
    )


@forward
def _while_in_while(tf: Any) -> Any:
    x = _x(tf)

    def body(i, a):
        _, b = tf.while_loop(lambda j, b: j < i, lambda j, b: (j + 1, b * x), [0, a])
        return (i + 1, b + 1.0)

    return tf.while_loop(lambda i, a: i < 4, body, [0, x])


@forward
def _while_with_growing_shape(tf: Any) -> Any:
    x = _x(tf, [1, 2])
    return tf.while_loop(
        lambda i, a: i < 4,
        lambda i, a: (i + 1, tf.concat([a, a], 0)),
        [tf.constant(0), x],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, 2])],
    )


@forward
def _cond_in_while(tf: Any) -> Any:
    x = _x(tf)

    def body(i, a):
        return (i + 1, tf.cond(tf.equal(i % 2, 0), lambda: a * x, lambda: a + tf.constant(1.0)))

    return tf.while_loop(lambda i, a: i < 4, body, [0, x])


@forward
def _while_in_cond(tf: Any) -> Any:
    x = _x(tf)
    p = _p(tf)
    return tf.cond(
        p,
        lambda: tf.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, a * x), [0, 1.0])[1],
        lambda: x,
    )


@forward
def _while_of_structure(tf: Any) -> Any:
    return tf.while_loop(
        lambda i, p: i < 10,
        lambda i, p: (i + 1, Pair(p.j + p.k, p.k - p.j)),
        (tf.constant(0), Pair(tf.constant(1), tf.constant(2))),
    )


@forward
def _while_with_control_inputs(tf: Any) -> Any:
    a = tf.constant(3.0, name="a")
    n = tf.no_op(name="n")

    def body(i):
        with tf.control_dependencies([a, n]):
            return tf.identity(i) + 1

    with tf.control_dependencies([n]):
        return tf.while_loop(lambda i: i < 10, body, [tf.constant(0)])


@forward
def _while_with_control_inputs_of_constants(tf: Any) -> Any:
    a = tf.constant(3.0, name="a")

    def body(i):
        with tf.control_dependencies([a]):
            tf.no_op(name="m")
            c = tf.constant(1)
        with tf.control_dependencies([i]):
            d = tf.constant(1)
        return i + c + d

    return tf.while_loop(lambda i: i < 10, body, [tf.constant(0)])


@forward
def _while_with_other_shape(tf: Any) -> Any:
    return tf.while_loop(lambda a: True, lambda a: tf.concat([a, a], 0), [tf.ones([2])])


@forward
def _while_with_other_structure(tf: Any) -> Any:
    return tf.while_loop(lambda i, a: True, lambda i, a: (i,), [1, 2])


@forward
def _while_without_parallel_iterations(tf: Any) -> Any:
    return tf.while_loop(lambda i: True, lambda i: i, [1], parallel_iterations=0)


@forward
def _while_of_nothing(tf: Any) -> Any:
    return tf.while_loop(lambda: True, lambda: 1, [])


@forward
def _while_with_wrong_invariant(tf: Any) -> Any:
    return tf.while_loop(
        lambda i: True, lambda i: i, [tf.ones([2])], shape_invariants=[tf.TensorShape([3])]
    )


@forward
def _while_with_invariant_of_other_type(tf: Any) -> Any:
    return tf.while_loop(lambda i: True, lambda i: i, [tf.ones([2])], shape_invariants=[3])


@forward
def _while_with_number_for_function(tf: Any) -> Any:
    return tf.while_loop(1, lambda i: i, [1])


@forward
def _while_with_vector_of_maximum_iterations(tf: Any) -> Any:
    return tf.while_loop(lambda i: True, lambda i: i, [1], maximum_iterations=[1, 2])


@forward
def _while_on_vector(tf: Any) -> Any:
    return tf.while_loop(lambda i: tf.constant([True, False]), lambda i: i, [1])


@forward
def _while_value_used_outside(tf: Any) -> Any:
    L = []

    def body(i):
        L.append(i + 1)
        return L[0]

    tf.while_loop(lambda i: i < 10, body, [1])
    return L[0] * 2


@forward
def _while_of_indexed_slices(tf: Any) -> Any:
    s = tf.IndexedSlices(tf.placeholder(tf.float32, [2, 3]), tf.constant([0, 1]))
    return tf.while_loop(
        lambda i, a: i < 3,
        lambda i, a: (i + 1, tf.IndexedSlices(a.values * 2.0, a.indices)),
        [0, s],
    )


@forward
def _while_of_sparse_tensor(tf: Any) -> Any:
    s = tf.SparseTensor([[0, 1]], [1.0], [2, 3])
    return tf.while_loop(
        lambda i, a: i < 3,
        lambda i, a: (i + 1, tf.SparseTensor(a.indices, a.values * 2.0, a.dense_shape)),
        [0, s],
    )


@forward
def _while_of_sparse_tensor_with_invariant(tf: Any) -> Any:
    s = tf.SparseTensor([[0, 1]], [1.0], [2, 3])
    return tf.while_loop(
        lambda i, a: i < 3,
        lambda i, a: (i + 1, tf.SparseTensor(a.indices, a.values * 2.0, a.dense_shape)),
        [0, s],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([2])],
    )


@forward
def _group_on_devices(tf: Any) -> Any:
    with tf.device("/cpu:0"):
        a = tf.constant(1, name="a")
    with tf.device("/gpu:0"):
        b = tf.constant(1, name="b")
    c = tf.constant(1, name="c")
    return (tf.group(a, b, c), tf.group(a), tf.group(), tf.group(a, [c, {"k": b}], name="g"))


@forward
def _tuple_of_all_kinds(tf: Any) -> Any:
    a = tf.constant(1, name="a")
    b = tf.constant(2.0, name="b")
    n = tf.no_op()
    return tf.tuple([a, None, b, n, tf.IndexedSlices(b, a)], control_inputs=[n, a])


@forward
def _case_with_default(tf: Any) -> Any:
    x = _x(tf)
    return tf.case(
        [(x < 1.0, lambda: tf.constant(1)), (x > 2.0, lambda: tf.constant(2))],
        default=lambda: tf.constant(3),
    )


@forward
def _case_exclusive(tf: Any) -> Any:
    x = _x(tf)
    return tf.case(
        {x < 1.0: lambda: tf.constant(1), x > 2.0: lambda: tf.constant(2)},
        default=lambda: tf.constant(3),
        exclusive=True,
    )


@forward
def _case_without_default(tf: Any) -> Any:
    x = _x(tf)
    return tf.case([(x < 1.0, lambda: tf.constant(1)), (x > 2.0, lambda: tf.constant(2))])


@forward
def _assert_guards_tensors(tf: Any) -> Any:
    x = _x(tf, [2])
    return (
        tf.Assert(tf.reduce_all(x > 0.0), [x], summarize=4),
        tf.Assert(tf.constant(True), ["a", 3]),
    )


@forward
def _cond_on_devices(tf: Any) -> Any:
    p = _p(tf)
    with tf.device("/cpu:0"):
        x = _x(tf, [2])
    with tf.device("/gpu:0"):
        return tf.cond(p, lambda: x * 2.0, lambda: x)


@forward
def _while_in_while_with_constant(tf: Any) -> Any:
    c = tf.constant(2)

    def body(i):
        return tf.while_loop(lambda j: j < c, lambda j: j + c, [c]) + i

    return tf.while_loop(lambda i: i < 10, body, [tf.constant(0)])


@forward
def _tensor_array_in_while(tf: Any) -> Any:
    x = _x(tf, [4])
    ta = tf.TensorArray(tf.float32, 4)
    ti = tf.TensorArray(tf.float32, 4).unstack(x)
    r = tf.while_loop(
        lambda i, t: i < 4, lambda i, t: (i + 1, t.write(i, ti.read(i) * 2.0)), [0, ta]
    )
    return r[1].stack()


@forward
def _tensor_array_in_cond(tf: Any) -> Any:
    p = _p(tf)
    ta = tf.TensorArray(tf.float32, 2, clear_after_read=False).write(0, 1.0)
    r = tf.cond(p, lambda: ta.write(1, 2.0), lambda: ta.write(1, 3.0))
    return r.stack()


@forward
def _conds_in_scopes(tf: Any) -> Any:
    p = _p(tf)
    x = _x(tf)
    with tf.name_scope("a"), tf.device("/cpu:0"), tf.control_dependencies([x]):

        def t():
            with tf.name_scope("b"), tf.device("/cpu:1"), tf.control_dependencies([p]):
                return x * 2.0

        return (
            tf.cond(p, t, lambda: x),
            tf.while_loop(lambda i, v: i < 2, lambda i, v: (i + 1, t() + v), [0, x]),
        )


@forward
def _cond_colocated(tf: Any) -> Any:
    p = _p(tf)
    x = _x(tf)
    with tf.colocate_with(x):
        return tf.cond(p, lambda: tf.stack([x, x]), lambda: tf.zeros([2]))


@forward
def _cond_of_waiting_operations(tf: Any) -> Any:
    p = _p(tf)

    def t():
        a = tf.no_op()
        with tf.control_dependencies([a]):
            b = tf.constant(1.0)
        with tf.control_dependencies([b]):
            return tf.no_op()

    return tf.cond(p, t, lambda: tf.no_op())


@forward
def _while_of_dicts(tf: Any) -> Any:
    x = _x(tf)
    return tf.while_loop(
        lambda d, e: d["i"] < 3,
        lambda d, e: ({"i": d["i"] + 1, "a": d["a"] * 2.0}, [e[0] + 1]),
        [{"i": 0, "a": x}, [tf.constant(1)]],
    )


@forward
def _while_of_same_structure(tf: Any) -> Any:
    return (
        tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0], return_same_structure=True),
        tf.while_loop(
            lambda i: i < 3,
            lambda i: [i + 1],
            [0],
            maximum_iterations=2,
            return_same_structure=True,
        ),
    )


@forward
def _while_of_arrays(tf: Any) -> Any:
    return tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * 2), [0, np.array([1.0, 2.0])])


@forward
def _while_of_strings(tf: Any) -> Any:
    return tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a + "x"), [0, tf.constant("a")])
