"""The program whose requests and answers were recorded with TensorFlow: the same for tfnb."""

from __future__ import annotations

from typing import Any


def run(tf: Any, target: str, device: str) -> list[Any]:
    """Run it on a master; return what its steps gave.

    Args:
      tf: the library.
      target: the master.
      device: of its variable and its ops.
    """
    found: list[Any] = []
    with tf.Graph().as_default():
        with tf.device(device):
            x = tf.placeholder(tf.float32, [None], name="x")
            v = tf.get_variable("v", [2], initializer=tf.ones_initializer(), use_resource=False)
            doubled = tf.multiply(x, 2.0, name="doubled")
            total = tf.add(doubled, v, name="total")
            text = tf.placeholder(tf.string, [], name="text")
            joined = tf.identity(text, name="joined")
        with tf.Session(target) as sess:
            sess.run(v.initializer)
            found.append(sess.run(total, {x: [1.0, 2.0]}).tolist())
            found.append(sess.run([joined, doubled], {text: "abc", x: [3.0]})[0])
            try:
                sess.run(total)
            except tf.errors.InvalidArgumentError as error:
                found.append("You must feed" in str(error))
            with tf.device(device):
                added = tf.assign_add(v, [1.0, 1.0], name="added")  # the graph grows
            found.append(sess.run(added).tolist())
            handle = sess.partial_run_setup([doubled, total], [x])
            found.append(sess.partial_run(handle, doubled, {x: [1.0, 1.0]}).tolist())
            found.append(sess.partial_run(handle, total).tolist())
            found.append(len(sess.list_devices()))
    return found
