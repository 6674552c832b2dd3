"""cond and case: branches with effects, nested ones, gradients through the one that ran."""

from __future__ import annotations

import tfnb as tf


def main() -> dict[str, float]:
    """Return values and gradients for several inputs, and which branches ran."""
    x = tf.placeholder(tf.float32, [], name="x")
    taken = tf.Variable([0, 0, 0], name="taken")

    def noted(branch: int, value: tf.Tensor) -> tf.Tensor:
        with tf.control_dependencies([tf.scatter_add(taken, [branch], [1])]):
            return tf.identity(value)

    huber = tf.cond(
        tf.abs(x) < 1.0,
        lambda: noted(0, 0.5 * x * x),
        lambda: tf.cond(x > 0.0, lambda: noted(1, x - 0.5), lambda: noted(2, -x - 0.5)),
    )
    slope = tf.gradients(huber, x)[0]
    band = tf.case(
        [(x < -1.0, lambda: tf.constant(b"low")), (x > 1.0, lambda: tf.constant(b"high"))],
        default=lambda: tf.constant(b"middle"),
        exclusive=True,
    )
    number = tf.cast(tf.abs(x), tf.int32)
    chosen = tf.switch_case(number, [lambda: x + 10.0, lambda: x * 10.0], default=lambda: -x)
    found = {}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for value, name in ((0.5, b"middle"), (3.0, b"high"), (-2.0, b"low"), (1.5, b"high")):
            result = session.run([huber, slope, band, chosen], {x: value})
            assert result[2] == name
            found[f"huber({value})"] = float(result[0])
            found[f"slope({value})"] = float(result[1])
            found[f"chosen({value})"] = float(result[3])
        counts = session.run(taken)
    assert counts.tolist() == [1, 2, 1]
    return found


if __name__ == "__main__":
    print(main())
