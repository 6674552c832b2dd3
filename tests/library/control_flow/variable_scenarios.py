"""Programs with conds, loops, gradients and variables, once for each kind of variable."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from tests.library.control_flow.control_flow_scenarios import GRADIENTS, _p, _x, gradient

if TYPE_CHECKING:
    from collections.abc import Callable


def with_variables(program: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Register ``program(tf, variable)`` for references and for resources."""
    for kind, use_resource in (("ref", False), ("resource", True)):

        def build(tf: Any, use_resource: bool = use_resource) -> Any:
            return program(tf, functools.partial(tf.Variable, name="v", use_resource=use_resource))

        GRADIENTS[f"{program.__name__[1:]}_{kind}"] = build
    return program


@with_variables
def _gradient_of_variable(tf: Any, variable: Any) -> Any:
    v = variable([1.0, 2.0])
    x = _x(tf, [2])
    return [
        tf.gradients(v * x + v, [v, x]),
        tf.gradients(x, v, unconnected_gradients="zero"),
    ]


@with_variables
def _gradient_of_variable_in_while(tf: Any, variable: Any) -> Any:
    v = variable([1.0, 2.0])
    start = [0, tf.constant([1.0, 2.0])]
    r = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * v), start)
    return r, tf.gradients(r[1], v)


@with_variables
def _gradient_of_variable_in_cond(tf: Any, variable: Any) -> Any:
    v = variable([1.0, 2.0])
    p = _p(tf)
    r = tf.cond(p, lambda: v * 2.0, lambda: v + 1.0)
    q = tf.cond(p, lambda: v, lambda: tf.constant([1.0, 1.0]))
    return r, q, tf.gradients(r, v), tf.gradients(q, v)


@with_variables
def _gradient_of_gathered_variable(tf: Any, variable: Any) -> Any:
    v = variable(tf.ones([5, 2]))
    i = tf.placeholder(tf.int32, [3])
    p = _p(tf)

    def body(j: Any, a: Any) -> Any:
        return j + 1, a + tf.gather(v, [j, j])

    looped = tf.while_loop(lambda j, a: j < 3, body, [0, tf.zeros([2, 2])])[1]
    either = tf.cond(p, lambda: tf.gather(v, i), lambda: tf.gather(v, i) * 3.0)
    return [tf.gradients(one, v) for one in (tf.gather(v, i) * 2.0, looped, either)]


@with_variables
def _assign_in_cond(tf: Any, variable: Any) -> Any:
    v = variable([1.0, 2.0])
    return tf.cond(_p(tf), lambda: tf.assign_add(v, [1.0, 1.0]), lambda: tf.identity(v))


@with_variables
def _assign_in_while(tf: Any, variable: Any) -> Any:
    v = variable(1.0)

    def body(i: Any) -> Any:
        with tf.control_dependencies([tf.assign_add(v, 2.0)]):
            return i + 1

    done = tf.while_loop(lambda i: i < 3, body, [0])
    with tf.control_dependencies([done]):
        return tf.identity(v.read_value())


@with_variables
def _loop_variable_starts_at_variable(tf: Any, variable: Any) -> Any:
    v = variable([1.0, 2.0])
    r = tf.while_loop(lambda a: tf.reduce_sum(a) < 30.0, lambda a: a * 2.0, [v])
    return r, tf.gradients(r, v)


@with_variables
def _custom_gradient_of_variable(tf: Any, variable: Any) -> Any:
    v = variable([2.0, 3.0])

    @tf.custom_gradient
    def scaled(x: Any) -> Any:
        def grad(dy: Any, variables: Any = None) -> Any:
            return dy * 5.0, [dy * 7.0 for _ in variables]

        return x * v, grad

    x = _x(tf, [2])
    return tf.gradients(scaled(x), [x, v])


def _reference(tf: Any, value: Any) -> Any:
    variable = tf.Variable(value, use_resource=False)
    return variable, variable._ref()


@gradient
def _references_in_while(tf: Any) -> Any:
    v, ref = _reference(tf, 1.5)

    def body(i: Any, r: Any) -> Any:
        return i + 1, tf.raw_ops.RefIdentity(input=r)

    loop = tf.while_loop(lambda i, r: i < 20, body, [tf.constant(0), ref], parallel_iterations=5)
    return loop, tf.gradients(tf.exp(loop[1]), v)


@gradient
def _references_in_cond(tf: Any) -> Any:
    _, ref = _reference(tf, [1.5])
    return tf.cond(_p(tf), lambda: ref, lambda: tf.raw_ops.RefIdentity(input=ref))
