"""Algorithms as loops of the graph: Newton's method, a sieve, power iteration, and a gradient."""

from __future__ import annotations

import numpy as np

import tfnb as tf


def square_root(x: tf.Tensor) -> tf.Tensor:
    """Newton's method until it converges."""

    def close(guess: tf.Tensor, change: tf.Tensor) -> tf.Tensor:
        return change > 1e-6

    def improve(guess: tf.Tensor, change: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        better = 0.5 * (guess + x / guess)
        return better, tf.abs(better - guess)

    return tf.while_loop(close, improve, [x, tf.constant(1.0)])[0]


def primes_below(limit: int) -> tf.Tensor:
    """The sieve of Eratosthenes; an inner loop removes the multiples of each prime."""

    def cross_out(n: tf.Tensor, alive: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        def multiples() -> tf.Tensor:
            others = tf.range(limit)
            is_multiple = tf.logical_and(tf.equal(others % n, 0), others > n)
            return tf.logical_and(alive, tf.logical_not(is_multiple))

        return n + 1, tf.cond(alive[n], multiples, lambda: alive)

    start = tf.constant([False, False] + [True] * (limit - 2))
    _, alive = tf.while_loop(lambda n, _: n * n < limit, cross_out, [tf.constant(2), start])
    return tf.squeeze(tf.where(alive), axis=1)


def largest_eigenvalue(matrix: tf.Tensor, steps: int) -> tf.Tensor:
    """Power iteration with its vectors in a TensorArray."""
    size = matrix.shape[0].value
    history = tf.TensorArray(tf.float32, size=steps, clear_after_read=False)

    def step(i: tf.Tensor, vector: tf.Tensor, seen: tf.TensorArray) -> tuple:
        vector = tf.nn.l2_normalize(tf.linalg.matvec(matrix, vector), axis=0)
        return i + 1, vector, seen.write(i, vector)

    loop = tf.while_loop(lambda i, *_: i < steps, step, [0, tf.ones([size]), history])
    vectors = loop[2].stack()
    return tf.reduce_sum(vectors[-1] * tf.linalg.matvec(matrix, vectors[-1]))


def main() -> dict[str, float]:
    """Return the results of the loops."""
    x = tf.placeholder(tf.float32, [])
    root = square_root(x)
    slope = tf.gradients(root, x)[0]
    primes = primes_below(50)
    matrix = tf.constant([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]])
    eigenvalue = largest_eigenvalue(matrix, 40)
    powers = tf.scan(lambda a, b: a * b, tf.fill([6], 2.0))
    squares = tf.map_fn(lambda v: v * v, tf.range(5.0))
    folded = tf.foldl(lambda a, b: a * 10 + b, tf.constant([1, 2, 3]))
    with tf.Session() as session:
        two = session.run([root, slope], {x: 2.0})
        found = session.run([primes, eigenvalue, powers, squares, folded])
    assert found[0].tolist() == [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47]
    np.testing.assert_allclose(two, [2.0**0.5, 0.5 * 2.0**-0.5], rtol=1e-4)
    np.testing.assert_allclose(
        found[1], np.linalg.eigvalsh([[4, 1, 0], [1, 3, 1], [0, 1, 2]])[-1], rtol=1e-4
    )
    assert found[2].tolist() == [2.0, 4.0, 8.0, 16.0, 32.0, 64.0]
    assert found[4] == 123
    return {"root": float(two[0]), "slope": float(two[1]), "eigenvalue": float(found[1])}


if __name__ == "__main__":
    print(main())
