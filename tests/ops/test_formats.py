"""Files that TensorFlow wrote are read, and what is written here reads the same.

The programs stand in format_scenarios.py; golden/formats has TensorFlow's files, and what is in
them. That TensorFlow reads ours is shown by scripts/oracle/formats.py.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tfnb as tf
from tests.ops.format_scenarios import read, write

_FOLDER = Path(__file__).parents[1] / "golden" / "formats"
_VALUES: dict[str, Any] = json.loads((_FOLDER / "values.json").read_text())


def test_files_of_tensorflow_are_read() -> None:
    """Checkpoints of both formats, MetaGraphDefs, a frozen graph, a SavedModel with assets."""
    assert json.loads(json.dumps(read(tf, str(_FOLDER)))) == _VALUES


@pytest.mark.slow
def test_own_files_are_read_the_same(tmp_path: Path) -> None:
    """The same kinds of files, written here."""
    write(tf, str(tmp_path))
    assert json.loads(json.dumps(read(tf, str(tmp_path)))) == _VALUES
    names = {path.relative_to(_FOLDER) for path in _FOLDER.rglob("*") if path.is_file()}
    own = {path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()}
    assert {name for name in names - own if name.parts[0] != "saved"} == {
        Path("values.json"),
        Path("objects.index"),
        Path("objects.data-00000-of-00001"),
    }


def test_a_checkpoint_is_written_byte_for_byte(tmp_path: Path) -> None:
    """Index and data of the second format are TensorFlow's."""
    write(tf, str(tmp_path))
    for name in ("second-3.index", "second-3.data-00000-of-00001", "sharded-3.index"):
        assert (tmp_path / name).read_bytes() == (_FOLDER / name).read_bytes(), name


def test_a_checkpoint_of_objects_is_restored_by_names(caplog: pytest.LogCaptureFixture) -> None:
    """tf.train.Checkpoint stores paths of attributes; the names of variables lie beside them."""
    path = str(_FOLDER / "objects")
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable([0.0, 0.0], name="v")
        w = tf.Variable([[0]], name="scope/w", use_resource=True)
        tf.train.Saver().restore(sess, path)
        assert sess.run(v).tolist() == [1.0, 2.0]
        assert sess.run(w).tolist() == [[3]]
    assert "object-based checkpoint" in caplog.text


def test_a_checkpoint_of_objects_that_lacks_a_variable_says_so() -> None:
    """The table compares under the names in the checkpoint."""
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.Variable([0.0, 0.0], name="v")
        tf.Variable(0.0, name="other")
        with pytest.raises(tf.errors.NotFoundError, match=r"other +float32 \(\) +missing"):
            tf.train.Saver().restore(sess, str(_FOLDER / "objects"))
