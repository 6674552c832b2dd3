"""Gradients where loops, conds, slices, TensorArrays and own gradients meet."""

from __future__ import annotations

from typing import Any

from tests.library.control_flow.control_flow_scenarios import _p, _x, gradient


@gradient
def _gradient_of_gather_in_nested_whiles(tf: Any) -> Any:
    x = _x(tf, [5, 3])

    def body(i, a):
        r = tf.while_loop(
            lambda j, b: j < 2, lambda j, b: (j + 1, tf.tanh(b + tf.gather(x, [i, j]))), [0, a]
        )
        return (i + 1, r[1])

    return tf.gradients(tf.while_loop(lambda i, a: i < 3, body, [0, tf.zeros([2, 3])])[1], x)


@gradient
def _gradient_of_gather_in_cond_in_while(tf: Any) -> Any:
    x = _x(tf, [5, 3])

    def body(i, a):
        return (
            i + 1,
            tf.cond(tf.equal(i % 2, 0), lambda: a + tf.gather(x, [i, i]), lambda: a * 2.0),
        )

    return tf.gradients(tf.while_loop(lambda i, a: i < 3, body, [0, tf.zeros([2, 3])])[1], x)


@gradient
def _gradient_of_gather_of_unknown_shape_in_while(tf: Any) -> Any:
    x = _x(tf, [None, 3])
    idx = tf.placeholder(tf.int32, [None], name="idx")

    def body(i, a):
        return (i + 1, tf.tanh(a + tf.gather(x, idx)))

    return tf.gradients(tf.while_loop(lambda i, a: i < 3, body, [0, tf.gather(x, idx)])[1], x)


@gradient
def _gradient_of_tensor_array_in_nested_whiles(tf: Any) -> Any:
    x = _x(tf, [3, 2])
    ti = tf.TensorArray(tf.float32, 3, clear_after_read=False).unstack(x)

    def body(i, t):
        r = tf.while_loop(
            lambda j, b: j <= i, lambda j, b: (j + 1, b * ti.read(j)), [0, tf.ones([2])]
        )
        return (i + 1, t.write(i, r[1]))

    return tf.gradients(
        tf.while_loop(lambda i, t: i < 3, body, [0, tf.TensorArray(tf.float32, 3)])[1].stack(), x
    )


@gradient
def _gradient_of_tensor_array_in_cond(tf: Any) -> Any:
    x = _x(tf, [3])
    p = _p(tf)
    ta = tf.TensorArray(tf.float32, 3, clear_after_read=False).unstack(x)
    return tf.gradients(tf.cond(p, lambda: ta.read(0) * ta.read(1), lambda: ta.read(2)), x)


@gradient
def _custom_gradient_in_cond(tf: Any) -> Any:
    x = _x(tf, [3])
    p = _p(tf)

    @tf.custom_gradient
    def f(a):
        return (tf.exp(a), lambda dy: dy * 3.0 * a)

    return tf.gradients(tf.cond(p, lambda: f(x), lambda: f(x * 2.0)), x)


@gradient
def _gradient_of_case(tf: Any) -> Any:
    x = _x(tf)
    return tf.gradients(
        tf.case(
            [(x < 0.5, lambda: x * x), (x < 1.0, lambda: tf.exp(x))], default=lambda: tf.sin(x)
        ),
        x,
    )


@gradient
def _gradient_of_while_with_assert(tf: Any) -> Any:
    x = _x(tf)

    def body(i, a):
        with tf.control_dependencies([tf.Assert(a < 100.0, [a])]):
            return (i + 1, a * x)

    return tf.gradients(tf.while_loop(lambda i, a: i < 3, body, [0, x])[1], x)


@gradient
def _gradient_of_indexed_slices_in_while(tf: Any) -> Any:
    x = _x(tf, [2, 3])
    s = tf.IndexedSlices(x * 2.0, tf.constant([0, 1]), tf.constant([4, 3]))
    r = tf.while_loop(
        lambda i, a: i < 3,
        lambda i, a: (i + 1, tf.IndexedSlices(tf.tanh(a.values), a.indices, a.dense_shape)),
        [0, s],
    )
    return tf.gradients(r[1].values, x)


@gradient
def _two_gradients_of_one_while(tf: Any) -> Any:
    x = _x(tf)
    r = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, tf.tanh(a) * x), [0, x])
    return (tf.gradients(r[1], x), tf.gradients(r[1] * 2.0, x))


@gradient
def _gradient_of_bare_switch_and_merge(tf: Any) -> Any:
    x = _x(tf)
    p = _p(tf)
    sw = tf.raw_ops.Switch(data=x, pred=p)
    m = tf.raw_ops.Merge(inputs=[sw[0] * 2.0, sw[1] * 3.0])
    return (m[0], tf.gradients(m[0], x))
