"""One cluster of two worker processes for the tests of a file, and models in files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import distributed
import pytest

import tfnb as tf

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """A client with two workers, each a process of one thread; Dask restarts one that dies."""
    with distributed.Client(
        n_workers=2, threads_per_worker=1, dashboard_address="localhost:0", set_as_default=False
    ) as made:
        yield made


@pytest.fixture
def frozen(tmp_path: Path) -> str:
    """A frozen graph: x [?, 2] -> y [?, 3], and a sum of each row."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        y = tf.matmul(x, tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), name="y")
        tf.reduce_sum(y, 1, name="sums")
        return str(tf.train.write_graph(graph, str(tmp_path), "frozen.pb", as_text=False))


@pytest.fixture
def trained(tmp_path: Path) -> dict[str, str]:
    """A checkpoint and a SavedModel of one graph with a variable and a table, by kind."""
    vocabulary = tmp_path / "words.txt"
    vocabulary.write_text("a\nb\nc\n")
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        w = tf.get_variable("w", [2], initializer=tf.constant_initializer([10.0, 1.0]))
        y = tf.reduce_sum(x * w, 1, name="y")
        words = tf.placeholder(tf.string, [None], name="words")
        table = tf.lookup.StaticHashTable(
            tf.lookup.TextFileInitializer(
                str(vocabulary),
                tf.string,
                tf.lookup.TextFileIndex.WHOLE_LINE,
                tf.int64,
                tf.lookup.TextFileIndex.LINE_NUMBER,
            ),
            -1,
        )
        numbers = table.lookup(words, name="numbers")
        sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
        prefix = tf.train.Saver().save(sess, str(tmp_path / "checkpoint" / "model"), global_step=3)
        folder = str(tmp_path / "saved_model")
        builder = tf.saved_model.Builder(folder)
        info = tf.saved_model.build_tensor_info
        signatures = {
            "sums": tf.saved_model.build_signature_def({"x": info(x)}, {"y": info(y)}, "sums"),
            "words": tf.saved_model.build_signature_def(
                {"words": info(words)}, {"numbers": info(numbers)}, "words"
            ),
        }
        builder.add_meta_graph_and_variables(
            sess,
            ["serve"],
            signatures,
            assets_collection=tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS),
            main_op=tf.tables_initializer(),
            strip_default_attrs=True,
        )
        builder.save()
    return {"checkpoint": prefix, "saved_model": folder}
