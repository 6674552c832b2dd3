"""A trained model in each kind of file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tfnb as tf

if TYPE_CHECKING:
    from pathlib import Path


def trained_model(folder: Path) -> dict[str, str]:
    """Write one graph with a variable of 3, y = x * w; return the paths of its files."""
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None], name="x")
        y = tf.multiply(x, tf.get_variable("w", initializer=3.0), name="y")
        sess.run(tf.global_variables_initializer())
        prefix = tf.train.Saver().save(sess, str(folder / "c" / "model"))
        assert prefix is not None
        tf.saved_model.simple_save(sess, str(folder / "s"), {"in": x}, {"out": y})
        tf.train.write_graph(sess.graph, str(folder), "g.pb", as_text=False)
    return {
        "prefix": prefix,
        "folder": str(folder / "c"),
        "saved_model": str(folder / "s"),
        "graph": str(folder / "g.pb"),
    }
