"""Files of TensorFlow are read, and tfnb's own files give the same contents.

The programs are in format_scenarios.py; golden/formats has TensorFlow's files and their contents.
scripts/oracle/formats.py checks that TensorFlow reads tfnb's files.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tfnb as tf
from tests.library.data.format_scenarios import read, write

_FOLDER = Path(__file__).parents[2] / "golden" / "formats"
_VALUES: dict[str, Any] = json.loads((_FOLDER / "values.json").read_text())


def test_files_of_tensorflow_are_read() -> None:
    """Checkpoints of both formats, MetaGraphDefs, a frozen graph and a SavedModel are read."""
    assert json.loads(json.dumps(read(tf, str(_FOLDER)))) == _VALUES


@pytest.mark.slow
def test_own_files_are_read_the_same(tmp_path: Path) -> None:
    """The same kinds of files, written by tfnb, are read."""
    write(tf, str(tmp_path))
    assert json.loads(json.dumps(read(tf, str(tmp_path)))) == _VALUES
    names = {path.relative_to(_FOLDER) for path in _FOLDER.rglob("*") if path.is_file()}
    own = {path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()}
    assert {name for name in names - own if name.parts[0] != "saved"} == {
        Path("values.json"),
        Path("objects.index"),
        Path("objects.data-00000-of-00001"),
    }


def test_a_checkpoint_of_objects_may_be_partly_wanted() -> None:
    """Objects made later are restored; missing ones on either side are named."""
    path = str(_FOLDER / "objects")
    with tf.Graph().as_default(), tf.Session() as sess:
        root = tf.train.Checkpoint(first=tf.Variable([0.0, 0.0], name="v"))
        status = root.restore(path).expect_partial().assert_existing_objects_matched()
        with pytest.raises(AssertionError, match=r"Unresolved object.*inner/second"):
            status.assert_consumed()
        root.inner = tf.train.Checkpoint(second=tf.Variable([[0]], name="other"))
        status.assert_consumed().run_restore_ops(sess)
        assert sess.run(root.inner.second).tolist() == [[3]]
        root.more = [tf.Variable(7.0, name="more")]
        with pytest.raises(AssertionError, match=r"Found 1 Python objects.*'more:0'"):
            status.assert_consumed()
        status.initialize_or_restore(sess)
        assert sess.run([root.first[1], root.more[0]]) == [2.0, 7.0]
        with pytest.raises(AssertionError, match="Nothing except the root object matched"):
            tf.train.Checkpoint(x=root.first).restore(path).assert_nontrivial_match()


def test_a_checkpoint_of_a_saver_is_restored_into_objects(tmp_path: Path) -> None:
    """Variables are found by their names."""
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable([1.0, 2.0], name="v")
        sess.run(v.initializer)
        path = tf.train.Saver().save(sess, str(tmp_path / "model"))
        sess.run(v.assign([0.0, 0.0]))
        root = tf.train.Checkpoint(anything=v)
        root.restore(path).assert_consumed().initialize_or_restore(sess)
        assert sess.run(v).tolist() == [1.0, 2.0]
        assert sess.run(root.save_counter) == 0


def test_objects_without_a_checkpoint_are_initialized() -> None:
    """restore(None) initializes the variables."""
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable([1.0, 2.0])
        status = tf.train.Checkpoint(v=v).restore(None)
        with pytest.raises(AssertionError, match="No checkpoint specified"):
            status.assert_consumed()
        status.initialize_or_restore(sess)
        assert sess.run(v).tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match=r"expecting a trackable object.*got 3"):
        tf.train.Checkpoint(x=3)
    with pytest.raises(RuntimeError, match="needs a session"):
        tf.train.Checkpoint().save("/nowhere/model")


def test_layers_and_cells_are_saved_by_the_names_of_their_weights(tmp_path: Path) -> None:
    """A new graph restores them into layers at the same places."""

    def build() -> tuple[tf.train.Checkpoint, object]:
        dense = tf.layers.Dense(2)
        cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.GRUCell(2)])
        out, _ = cell(dense(tf.ones([1, 3])), cell.zero_state(1, tf.float32))
        return tf.train.Checkpoint(layers=[dense, cell]), out

    with tf.Graph().as_default(), tf.Session() as sess:
        root, out = build()
        sess.run(tf.global_variables_initializer())
        path = root.save(str(tmp_path / "deep" / "er" / "ckpt"), sess)
        wanted = sess.run(out)
    assert "layers/0/kernel/.ATTRIBUTES/VARIABLE_VALUE" in dict(tf.train.list_variables(path))
    with tf.Graph().as_default(), tf.Session() as sess:
        root, out = build()
        root.restore(path).assert_consumed().run_restore_ops(sess)
        assert sess.run(out).tolist() == wanted.tolist()


def test_a_manager_keeps_the_last_checkpoints(tmp_path: Path) -> None:
    """It deletes older ones, respects its interval, and continues after a restart."""
    started = []
    with tf.Graph().as_default(), tf.Session():
        step = tf.Variable(0, dtype=tf.int64)
        step.initializer.run()

        def made() -> tf.train.CheckpointManager:
            return tf.train.CheckpointManager(
                *(tf.train.Checkpoint(step=step), str(tmp_path / "run"), 2),
                step_counter=step,
                checkpoint_interval=2,
                init_fn=lambda: started.append(1),
            )

        manager = made()
        assert manager.restore_or_initialize() is None
        assert started == [1]
        paths = []
        for value in range(6):
            step.load(value)
            paths.append(manager.save())
        assert [path is None for path in paths] == [False, True] * 3
        assert manager.checkpoints == [paths[2], paths[4]]
        assert not Path(f"{paths[0]}.index").exists()
        again = made()
        assert again.checkpoints == manager.checkpoints
        assert again.restore_or_initialize() == paths[4]
        assert step.eval() == 4
        assert again.save() is None
        assert again.save(checkpoint_number=step, check_interval=False) == f"{tmp_path}/run/ckpt-4"
    with pytest.raises(ValueError, match="positive integer or `None`"):
        tf.train.CheckpointManager(tf.train.Checkpoint(), str(tmp_path), 0)


def test_a_checkpoint_is_written_byte_for_byte(tmp_path: Path) -> None:
    """Index and data of the second format equal TensorFlow's."""
    write(tf, str(tmp_path))
    for name in ("second-3.index", "second-3.data-00000-of-00001", "sharded-3.index"):
        assert (tmp_path / name).read_bytes() == (_FOLDER / name).read_bytes(), name


def test_a_checkpoint_of_objects_is_restored_by_names(caplog: pytest.LogCaptureFixture) -> None:
    """tf.train.Checkpoint stores paths of attributes, with the names of variables beside them."""
    path = str(_FOLDER / "objects")
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable([0.0, 0.0], name="v")
        w = tf.Variable([[0]], name="scope/w", use_resource=True)
        tf.train.Saver().restore(sess, path)
        assert sess.run(v).tolist() == [1.0, 2.0]
        assert sess.run(w).tolist() == [[3]]
    assert "object-based checkpoint" in caplog.text


def test_a_checkpoint_of_objects_that_lacks_a_variable_says_so() -> None:
    """The table in the error uses the names in the checkpoint."""
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.Variable([0.0, 0.0], name="v")
        tf.Variable(0.0, name="other")
        with pytest.raises(tf.errors.NotFoundError, match=r"other +float32 \(\) +missing"):
            tf.train.Saver().restore(sess, str(_FOLDER / "objects"))


def test_tables_of_a_checkpoint_are_compared_like_variables(tmp_path: Path) -> None:
    """A missing table is named; a static table is restored if it is not initialized."""
    path = str(tmp_path / "x")

    def static() -> tf.lookup.StaticHashTable:
        words = tf.lookup.KeyValueTensorInitializer(["a"], tf.constant([1], tf.int64))
        return tf.lookup.StaticHashTable(words, -1)

    with tf.Graph().as_default(), tf.Session() as sess:
        root = tf.train.Checkpoint(static=static(), v=tf.Variable(3.0))
        root.restore(None).initialize_or_restore()
        assert sess.run(root.static.size()) == 1
        root.save(path)
    with tf.Graph().as_default(), tf.Session() as sess:
        table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
        root = tf.train.Checkpoint(other=static(), v=tf.Variable(4.0), table=table)
        status = root.restore(f"{path}-1")
        with pytest.raises(AssertionError, match=r"1 of 1 unmatched.*MutableHashTable"):
            status.assert_existing_objects_matched()
        status.initialize_or_restore()
        assert sess.run([root.other.size(), root.v]) == [1, 3.0]
