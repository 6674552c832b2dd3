"""Programs with conds built of functions, and their gradients; see function_scenarios.py."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from tests.framework.function_scenarios import scenario

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.framework.function_scenarios import Kit


def v2(nodes: bool = True, functions: bool = True) -> Callable[[Any], Any]:
    """A program that is built after ``tf.enable_control_flow_v2()``."""

    def register(program: Callable[[Any, Kit], Any]) -> Callable[[Any, Kit], Any]:
        @functools.wraps(program)
        def run(tf: Any, kit: Kit) -> Any:
            tf.enable_control_flow_v2()
            try:
                return program(tf, kit)
            finally:
                tf.disable_control_flow_v2()

        scenario(nodes, functions)(run)
        return program

    return register


def _xp(tf: Any, value: bool = True) -> Any:
    return (
        tf.constant([2.0, 3.0], name="x"),
        tf.placeholder_with_default(value, [], name="p"),
    )


@v2()
def v2_cond(tf: Any, kit: Kit) -> Any:
    """Captures, a constant result, and a captured tensor as a result."""
    x, p = _xp(tf)
    y = tf.constant(5.0, name="y")
    one = tf.cond(p, lambda: tf.exp(x) * 2.0, lambda: x)
    other = tf.cond(tf.logical_not(p), lambda: (x, y), lambda: (x + y, tf.constant(1.0)), name="c")
    return [one, other]


@v2()
def v2_cond_structures(tf: Any, kit: Kit) -> Any:
    """Dictionaries, lists and operations."""
    x, p = _xp(tf, False)
    found = tf.cond(p, lambda: {"a": x, "b": [x, x]}, lambda: {"a": x * 2.0, "b": [x, x + 1.0]})
    ran = tf.cond(p, lambda: tf.no_op(), lambda: tf.group(tf.identity(x)))
    return [found["a"], found["b"], ran]


@v2()
def v2_cond_stateful(tf: Any, kit: Kit) -> Any:
    """Effects make it If; an effect that no result needs still happens."""
    x, p = _xp(tf)
    v = tf.get_variable("v", initializer=[1.0, 1.0], use_resource=True)
    y = tf.cond(p, lambda: v.assign_add(x).op, lambda: tf.no_op())
    with tf.control_dependencies([y]):
        return v.read_value()


@v2()
def v2_cond_reads_variable(tf: Any, kit: Kit) -> Any:
    """Resources that are only read are marked; the gradient reaches the variable."""
    x, p = _xp(tf)
    v = tf.get_variable("v", initializer=[1.0, 1.0], use_resource=True)
    return tf.cond(p, lambda: v * x, lambda: x)


@v2(nodes=False, functions=False)
def v2_cond_variable_gradient(tf: Any, kit: Kit) -> Any:
    """Gradients of a resource variable that is read inside."""
    x, p = _xp(tf)
    v = tf.get_variable("v", initializer=[1.0, 1.0], use_resource=True)
    y = tf.cond(p, lambda: v * v * x, lambda: x)
    return tf.gradients(y, [v, x])


@v2()
def v2_cond_controls(tf: Any, kit: Kit) -> Any:
    """Control inputs from outside become those of the node."""
    x, p = _xp(tf)
    first = tf.identity(x, name="first")

    def branch() -> Any:
        with tf.control_dependencies([first]):
            return tf.negative(x)

    with tf.control_dependencies([tf.no_op(name="before")]):
        return tf.cond(p, branch, lambda: x)


@v2(functions=False)
def v2_cond_gradient(tf: Any, kit: Kit) -> Any:
    """Inner values leave the branch as optionals; constants are built again."""
    x, p = _xp(tf)
    y = tf.cond(p, lambda: tf.exp(tf.sin(x)), lambda: x)
    return tf.gradients(y, x)


@v2(nodes=False, functions=False)
def v2_cond_gradients_of_both(tf: Any, kit: Kit) -> Any:
    """Predicates of both values, several results, unused inputs."""
    found = []
    for value in (True, False):
        x = tf.constant([2.0, 3.0])
        z = tf.constant(4.0)
        p = tf.placeholder_with_default(value, [])

        def taken(x: Any = x, z: Any = z) -> Any:
            return tf.exp(x) * z, tf.reduce_sum(x)

        def other(x: Any = x) -> Any:
            return tf.square(x), tf.reduce_prod(x)

        first, second = tf.cond(p, taken, other)
        found += [first, second, tf.gradients([first, second], [x, z]), tf.gradients(second, x)]
    return found


@v2(nodes=False, functions=False)
def v2_cond_twice(tf: Any, kit: Kit) -> Any:
    """Two gradients of one cond, and the gradient of a gradient."""
    x, p = _xp(tf)
    y = tf.cond(p, lambda: tf.exp(x) * tf.sin(x), lambda: x * x)
    first = tf.gradients(y, x)[0]
    again = tf.gradients(y, x, grad_ys=[2.0, 3.0])[0]
    return [first, again, tf.gradients(first, x)]


@v2(nodes=False, functions=False)
def v2_cond_nested(tf: Any, kit: Kit) -> Any:
    """A cond in a cond, and their gradients."""
    x, p = _xp(tf)
    q = tf.placeholder_with_default(False, [], name="q")

    def inner() -> Any:
        return tf.cond(q, lambda: tf.exp(x), lambda: tf.sin(x) * x)

    y = tf.cond(p, lambda: inner() * x, lambda: x)
    return [y, tf.gradients(y, x)]


@v2()
def v2_nested_forward(tf: Any, kit: Kit) -> Any:
    """Captures through two functions."""
    x, p = _xp(tf)
    return tf.cond(p, lambda: tf.cond(p, lambda: x + 1.0, lambda: x), lambda: x * 2.0)


@v2(nodes=False, functions=False)
def v2_cond_indexed_slices(tf: Any, kit: Kit) -> Any:
    """A gradient that is IndexedSlices in one branch."""
    x, p = _xp(tf)
    y = tf.cond(p, lambda: tf.gather(x, [1, 1]), lambda: x)
    return [tf.convert_to_tensor(tf.gradients(y, x)[0])]


@v2()
def v2_switch_case(tf: Any, kit: Kit) -> Any:
    """Case, with and without default."""
    x, _ = _xp(tf)
    index = tf.placeholder_with_default(1, [], name="index")
    one = tf.switch_case(index, [lambda: x, lambda: x * 2.0, lambda: tf.exp(x)])
    other = tf.switch_case(index, {0: lambda: x}, default=lambda: x + 5.0, name="named")
    return [one, other]


@v2(nodes=False, functions=False)
def v2_switch_case_gradient(tf: Any, kit: Kit) -> Any:
    """Gradients of each branch."""
    found = []
    for number in (0, 1, 2, 7):
        x = tf.constant([2.0, 3.0])
        index = tf.placeholder_with_default(number, [])

        def branches(x: Any = x) -> Any:
            return [lambda: x, lambda: tf.sin(x) * x, lambda: tf.exp(x)]

        y = tf.switch_case(index, branches())
        found += [y, tf.gradients(y, x)]
    return found


@v2()
def v2_case(tf: Any, kit: Kit) -> Any:
    """Nested conds."""
    x, p = _xp(tf)
    return tf.case([(p, lambda: x), (tf.logical_not(p), lambda: x * 2.0)], default=lambda: x + 1.0)


@v2()
def v2_cond_random(tf: Any, kit: Kit) -> Any:
    """Random numbers make If, not Case."""
    _, p = _xp(tf)
    index = tf.cast(p, tf.int32)
    tf.cond(p, lambda: tf.random_uniform([2], seed=1), lambda: tf.zeros([2]))
    tf.switch_case(index, [lambda: tf.random_uniform([2], seed=1), lambda: tf.zeros([2])])
    return p


@v2()
def v2_cond_devices(tf: Any, kit: Kit) -> Any:
    """Devices around the cond apply inside of it."""
    x, p = _xp(tf)
    with tf.device("/device:CPU:0"):
        return tf.cond(p, lambda: x * 2.0, lambda: x)


@v2()
def v2_cond_types_differ(tf: Any, kit: Kit) -> Any:
    """Branches of different types are refused."""
    x, p = _xp(tf)
    return tf.cond(p, lambda: x, lambda: tf.cast(x, tf.int32))


@v2()
def v2_cond_structures_differ(tf: Any, kit: Kit) -> Any:
    """Branches of different structures are refused."""
    x, p = _xp(tf)
    return tf.cond(p, lambda: [x, x], lambda: (x, x))


@v2()
def v2_cond_tensor_of_other_branch(tf: Any, kit: Kit) -> Any:
    """A tensor of the other branch is refused."""
    x, p = _xp(tf)
    kept = []

    def first() -> Any:
        kept.append(x * 2.0)
        return kept[0]

    return tf.cond(p, first, lambda: kept[0])


@v2()
def v2_cond_tensor_leaves(tf: Any, kit: Kit) -> Any:
    """A tensor of a branch is refused outside of it."""
    x, p = _xp(tf)
    kept = []

    def first() -> Any:
        kept.append(x * 2.0)
        return kept[0]

    tf.cond(p, first, lambda: x)
    return kept[0] + 1.0


@v2()
def v2_cond_python_bool(tf: Any, kit: Kit) -> Any:
    """A Python bool as predicate is refused."""
    return tf.cond(True, lambda: 1.0, lambda: 2.0)


@v2()
def v2_cond_predicate_of_rank_one(tf: Any, kit: Kit) -> Any:
    """A predicate of rank 1 is squeezed."""
    x, _ = _xp(tf)
    return tf.cond(tf.constant([True]), lambda: x, lambda: x * 2.0)


@v2(nodes=False, functions=False)
def v2_cond_imported(tf: Any, kit: Kit) -> Any:
    """The cond of an imported graph is differentiated."""
    with tf.Graph().as_default() as other:
        x = tf.placeholder_with_default([2.0, 3.0], [2], name="x")
        p = tf.placeholder_with_default(True, [], name="p")
        tf.cond(p, lambda: tf.exp(x) * tf.sin(x), lambda: x, name="c")
    x, y = tf.import_graph_def(other.as_graph_def(), return_elements=["x:0", "c:0"])
    y = tf.identity(y)
    return [y, tf.gradients(y, x)]


@v2(nodes=False, functions=False)
def v2_cond_in_defun(tf: Any, kit: Kit) -> Any:
    """A cond in the body of a function is called and differentiated."""

    @kit.function.Defun(tf.float32)
    def body(x: Any) -> Any:
        return tf.cond(tf.reduce_sum(x) > 1.0, lambda: x * 2.0, lambda: x)

    return body(_xp(tf)[0])
