"""Programs whose gradients are compared with TensorFlow's, as in control_flow_scenarios."""

from __future__ import annotations

from typing import Any

from tests.library.control_flow.control_flow_scenarios import _p, _x, gradient


@gradient
def _gradient_of_matmul(tf: Any) -> Any:
    x = _x(tf, [2, 3])
    w = _x(tf, [3, 4], "w")
    return tf.gradients(tf.matmul(x, w) * 2.0, [x, w])


@gradient
def _gradient_of_several(tf: Any) -> Any:
    x = _x(tf, [2])
    y = x * x + x
    return tf.gradients([y, tf.exp(y)], [x, y])


@gradient
def _gradient_with_weights(tf: Any) -> Any:
    x = _x(tf, [2])
    y = x * x
    return (
        tf.gradients(y, x, grad_ys=[tf.constant([1.0, 2.0])], name="mygrads"),
        tf.gradients(y, x, grad_ys=[3.0]),
    )


@gradient
def _gradient_of_unconnected(tf: Any) -> Any:
    x = _x(tf, [2])
    z = tf.placeholder(tf.int32, [3], name="z")
    return (
        tf.gradients(x * 2.0, [x, z, tf.constant(1.0)]),
        tf.gradients(x * 2.0, [z, tf.constant(1.0)], unconnected_gradients="zero"),
    )


@gradient
def _gradient_with_stops(tf: Any) -> Any:
    a = tf.constant(0.0)
    b = 2 * a
    return (
        tf.gradients(a + b, [a, b], stop_gradients=[a, b]),
        tf.gradients(a + b, [a, b]),
        tf.gradients(tf.stop_gradient(a) + b, [a]),
    )


@gradient
def _gradient_summed_in_pairs(tf: Any) -> Any:
    x = _x(tf, [2])
    y = x + x * 2.0 + x * 3.0
    return tf.gradients(y, x, aggregation_method=tf.AggregationMethod.EXPERIMENTAL_TREE)


@gradient
def _gradient_gated(tf: Any) -> Any:
    x = _x(tf, [2])
    return tf.gradients(x * tf.exp(x), x, gate_gradients=True)


@gradient
def _gradient_colocated(tf: Any) -> Any:
    with tf.device("/cpu:0"):
        x = _x(tf, [2])
        y = x * x
    with tf.device("/gpu:0"):
        z = tf.exp(y) + x
    return (tf.gradients(z, x, colocate_gradients_with_ops=True), tf.gradients(z, x))


@gradient
def _gradient_of_complex(tf: Any) -> Any:
    return tf.gradients(tf.placeholder(tf.complex64, []), tf.placeholder(tf.float32, []))


@gradient
def _gradient_with_too_many_weights(tf: Any) -> Any:
    x = tf.placeholder(tf.float32, [])
    return tf.gradients(x, x, grad_ys=[1.0, 2.0])


@gradient
def _gradient_with_unknown_option(tf: Any) -> Any:
    x = tf.placeholder(tf.float32, [])
    return tf.gradients(x, x, unconnected_gradients="foo")


@gradient
def _gradient_with_complex_weight(tf: Any) -> Any:
    x = tf.placeholder(tf.float32, [])
    return tf.gradients(x, x, grad_ys=[tf.constant(1, tf.complex64)])


@gradient
def _gradient_of_integers(tf: Any) -> Any:
    x = tf.placeholder(tf.int32, [2], name="x")
    return tf.gradients(x * x, x)


@gradient
def _gradient_of_cond(tf: Any) -> Any:
    x = _x(tf, [2])
    p = _p(tf)
    return tf.gradients(tf.cond(p, lambda: x * 2.0, lambda: x), x)


@gradient
def _gradient_of_cond_of_unknown_shape(tf: Any) -> Any:
    x = _x(tf, None)
    p = _p(tf)
    y = x * 3.0
    return tf.gradients(tf.cond(p, lambda: y * 2.0, lambda: x + 1.0), x)


@gradient
def _gradient_of_one_branch(tf: Any) -> Any:
    x = _x(tf, [2])
    p = _p(tf)
    return tf.gradients(tf.cond(p, lambda: x * 2.0, lambda: tf.constant([1.0, 2.0])), x)


@gradient
def _gradient_of_cond_in_cond(tf: Any) -> Any:
    x = _x(tf, [2])
    p = _p(tf)
    q = _p(tf, "q")
    return tf.gradients(
        tf.cond(p, lambda: tf.cond(q, lambda: x * x, lambda: tf.exp(x)), lambda: x), x
    )


@gradient
def _gradient_of_while(tf: Any) -> Any:
    x = _x(tf)
    return tf.gradients(
        tf.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, a * a), [0, x])[1], x
    )


@gradient
def _gradient_of_loop_invariant(tf: Any) -> Any:
    x = _x(tf, [2])
    w = _x(tf, [2], "w")
    r = tf.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, a * w + tf.exp(a)), [0, x])
    return tf.gradients(r[1], [x, w])


@gradient
def _gradient_of_while_of_unknown_shape(tf: Any) -> Any:
    x = _x(tf, [None])
    w = _x(tf, None, "w")
    r = tf.while_loop(
        lambda i, a, b: i < 4,
        lambda i, a, b: (i + 1, a * w, b + a),
        [0, x, tf.zeros_like(x)],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape(None), tf.TensorShape(None)],
    )
    return (tf.gradients(r[1], [x, w]), tf.gradients(r[2], [x, w]))


@gradient
def _gradient_of_overwritten_variable(tf: Any) -> Any:
    x = _x(tf, [2])
    y = _x(tf, [2], "y")
    r = tf.while_loop(
        lambda i, a, b: i < 4, lambda i, a, b: (i + 1, b * 2.0, tf.constant([1.0, 2.0])), [0, x, y]
    )
    return tf.gradients(r[1], [x, y])


@gradient
def _gradient_of_while_in_while(tf: Any) -> Any:
    x = _x(tf)
    w = _x(tf, [], "w")

    def body(i, a):
        _, b = tf.while_loop(lambda j, b: j < i, lambda j, b: (j + 1, b * x * a), [0, a])
        return (i + 1, b * w)

    return tf.gradients(tf.while_loop(lambda i, a: i < 4, body, [0, x])[1], [x, w])


@gradient
def _gradient_of_while_in_while_of_unknown_shape(tf: Any) -> Any:
    x = _x(tf, [None])
    w = _x(tf, [None], "w")

    def body(i, a):
        _, b, c = tf.while_loop(
            lambda j, b, c: j < i, lambda j, b, c: (j + 1, b * x * a, c + b), [0, a, w]
        )
        return (i + 1, b * w + c)

    return tf.gradients(tf.while_loop(lambda i, a: i < 4, body, [0, x])[1], [x, w])


@gradient
def _gradient_of_cond_in_while(tf: Any) -> Any:
    x = _x(tf)

    def body(i, a):
        return (i + 1, tf.cond(tf.equal(i % 2, 0), lambda: a * x, lambda: a * a + tf.constant(1.0)))

    return tf.gradients(tf.while_loop(lambda i, a: i < 4, body, [0, x])[1], x)


@gradient
def _gradient_of_cond_in_while_of_unknown_shape(tf: Any) -> Any:
    x = _x(tf, None)

    def body(i, a):
        return (i + 1, tf.cond(tf.equal(i % 2, 0), lambda: a * x, lambda: a * a + tf.constant(1.0)))

    return tf.gradients(
        tf.while_loop(
            lambda i, a: i < 4,
            body,
            [0, x],
            shape_invariants=[tf.TensorShape([]), tf.TensorShape(None)],
        )[1],
        x,
    )


@gradient
def _gradient_of_while_in_cond(tf: Any) -> Any:
    x = _x(tf)
    p = _p(tf)
    return tf.gradients(
        tf.cond(
            p,
            lambda: tf.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, a * x), [0, 1.0])[1],
            lambda: x,
        ),
        x,
    )


@gradient
def _gradient_of_serial_while_with_swapping(tf: Any) -> Any:
    x = _x(tf)
    return tf.gradients(
        tf.while_loop(
            lambda i, a: i < 4,
            lambda i, a: (i + 1, a * a),
            [0, x],
            parallel_iterations=1,
            swap_memory=True,
        )[1],
        x,
    )


@gradient
def _gradient_without_back_prop(tf: Any) -> Any:
    x = _x(tf)
    return tf.gradients(
        tf.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, a * a), [0, x], back_prop=False)[1],
        x,
    )


@gradient
def _gradient_inside_while(tf: Any) -> Any:
    x = _x(tf)

    def body(i, a):
        return (i + 1, tf.gradients(a * a * x, a)[0])

    return tf.while_loop(lambda i, a: i < 4, body, [0, x])


@gradient
def _gradient_by_constant_inside_while(tf: Any) -> Any:
    x = _x(tf)

    def body(i, a):
        return (i + 1, tf.gradients(a * a, x)[0])

    return tf.while_loop(lambda i, a: i < 4, body, [0, x])


@gradient
def _second_gradient_of_while(tf: Any) -> Any:
    x = _x(tf)
    g = tf.gradients(tf.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, a * a), [0, x])[1], x)
    return tf.gradients(g, x)


@gradient
def _gradient_of_gather(tf: Any) -> Any:
    x = _x(tf, [5, 3])
    i = tf.placeholder(tf.int32, [2], name="i")
    j = tf.placeholder(tf.int32, [4], name="j")
    return (
        tf.gradients(tf.gather(x, i), x),
        tf.gradients([tf.gather(x, i), tf.gather(x, j)], x),
        tf.gradients([tf.gather(x, i), x * 2.0], x),
    )


@gradient
def _gradient_of_gather_in_while(tf: Any) -> Any:
    x = _x(tf, [5, 3])
    r = tf.while_loop(
        lambda i, a: i < 4, lambda i, a: (i + 1, a + tf.gather(x, [i, i])), [0, tf.zeros([2, 3])]
    )
    return tf.gradients(r[1], x)


@gradient
def _gradient_of_split(tf: Any) -> Any:
    x = _x(tf, [4])
    a, _ = tf.split(x, 2)
    c, d, _, _ = tf.unstack(x)
    return (tf.gradients(a, x), tf.gradients([c, d], [x, c]))


@gradient
def _gradient_of_tensor_array(tf: Any) -> Any:
    x = _x(tf, [4])
    ta = tf.TensorArray(tf.float32, 4)
    ti = tf.TensorArray(tf.float32, 4).unstack(x)
    r = tf.while_loop(
        lambda i, t: i < 4, lambda i, t: (i + 1, t.write(i, ti.read(i) * ti.read(i))), [0, ta]
    )
    return tf.gradients(r[1].stack(), x)


@gradient
def _gradient_of_recurrence(tf: Any) -> Any:
    x = _x(tf, [4, 2])
    w = _x(tf, [2], "w")
    ti = tf.TensorArray(tf.float32, 4).unstack(x)
    r = tf.while_loop(
        lambda i, h, t: i < 4,
        lambda i, h, t: (i + 1, tf.tanh(h * w + ti.read(i)), t.write(i, h)),
        [0, tf.zeros([2]), tf.TensorArray(tf.float32, 4)],
    )
    y = r[2].stack()
    return tf.gradients([y, r[1]], [x, w])


@gradient
def _gradient_of_tensor_array_without_loop(tf: Any) -> Any:
    x = _x(tf, [3])
    ta = tf.TensorArray(tf.float32, 3, element_shape=[]).unstack(x * 2.0)
    return tf.gradients(ta.read(0) + ta.read(1) * 3.0 + tf.reduce_sum(ta.gather([2])), x)


@gradient
def _gradient_of_split_tensor_array(tf: Any) -> Any:
    x = _x(tf, [3])
    ta = tf.TensorArray(tf.float32, 2, infer_shape=False).split(x * 2.0, [1, 2])
    return tf.gradients(ta.concat() * 3.0, x)


@gradient
def _hessian(tf: Any) -> Any:
    x = _x(tf, [3])
    return tf.hessians(tf.reduce_sum(tf.exp(x)), x)


@gradient
def _custom_gradient(tf: Any) -> Any:
    x = _x(tf, [3])

    @tf.custom_gradient
    def f(x):
        e = tf.exp(x)

        def grad(dy):
            return dy * (1 - 1 / (1 + e))

        return (tf.log(1 + e), grad)

    y = f(x)
    return (y, tf.gradients(y, x))


@gradient
def _custom_gradient_of_two(tf: Any) -> Any:
    x = _x(tf, [3])
    w = _x(tf, [3], "w")

    @tf.custom_gradient
    def f(a, b):

        def grad(da, db):
            return (da * 7.0, None)

        return ([a * b, a + b], grad)

    y = f(x, w)
    return (y, tf.gradients(y, [x, w]))


@gradient
def _gradient_in_name_scopes(tf: Any) -> Any:
    x = _x(tf, [2])
    with tf.name_scope("outer"):
        return (tf.gradients(tf.exp(x), [x], name="grad"), tf.gradients(tf.exp(x), x, name=None))


@gradient
def _gradient_of_the_same_twice(tf: Any) -> Any:
    x = _x(tf, [2])
    y = tf.exp(x)
    return (tf.gradients([y, y], [x, x]), tf.gradients(y, [y]))


@gradient
def _gradient_of_integers_in_cond(tf: Any) -> Any:
    x = _x(tf)
    i = tf.placeholder(tf.int32, [], name="i")
    p = _p(tf)
    r = tf.cond(p, lambda: (x * tf.cast(i, tf.float32), i + 1), lambda: (x, i))
    return tf.gradients(r[0], [x, i])


@gradient
def _gradient_inside_cond(tf: Any) -> Any:
    x = _x(tf)
    p = _p(tf)
    return tf.cond(p, lambda: tf.gradients(tf.exp(x), x)[0], lambda: x)


@gradient
def _gradient_of_while_inside_while(tf: Any) -> Any:
    x = _x(tf)

    def body(i, a):
        r = tf.while_loop(lambda j, b: j < 2, lambda j, b: (j + 1, tf.exp(b) * x * 0.1), [0, a])[1]
        return (i + 1, tf.gradients(r, a)[0])

    return tf.while_loop(lambda i, a: i < 2, body, [0, x])


@gradient
def _gradient_of_cond_in_while_in_cond(tf: Any) -> Any:
    x = _x(tf, None)
    p = _p(tf)

    def loop():
        return tf.while_loop(
            lambda i, a: i < 3,
            lambda i, a: (
                i + 1,
                tf.cond(tf.equal(i % 2, 0), lambda: tf.exp(a) * x * 0.2, lambda: tf.tanh(a)),
            ),
            [0, x],
            shape_invariants=[tf.TensorShape([]), tf.TensorShape(None)],
        )[1]

    return tf.gradients(tf.cond(p, loop, lambda: x * x), x)


@gradient
def _gradient_of_cond_in_while_on_outer_predicate(tf: Any) -> Any:
    x = _x(tf)
    p = _p(tf)
    return tf.gradients(
        tf.while_loop(
            lambda i, a: i < 3,
            lambda i, a: (i + 1, tf.cond(p, lambda: tf.exp(a) * 0.1, lambda: tf.tanh(a) * x)),
            [0, x],
        )[1],
        x,
    )


@gradient
def _gradient_of_nested_conds_in_while(tf: Any) -> Any:
    x = _x(tf)
    p = _p(tf)

    def body(i, a):
        return (
            i + 1,
            tf.cond(
                i < 2,
                lambda: tf.cond(p, lambda: tf.exp(a) * 0.1 * x, lambda: a * a),
                lambda: tf.while_loop(lambda j, b: j < i, lambda j, b: (j + 1, b * x), [0, a])[1],
            ),
        )

    return tf.gradients(tf.while_loop(lambda i, a: i < 4, body, [0, x])[1], x)


@gradient
def _gradient_of_while_without_iterations(tf: Any) -> Any:
    x = _x(tf, [None])
    w = _x(tf, [None], "w")
    r = tf.while_loop(lambda i, a: i < 0, lambda i, a: (i + 1, a * w), [0, x])
    return (r, tf.gradients(r[1], [x, w]))
