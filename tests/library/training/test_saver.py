"""Savers build TensorFlow's nodes, files and values.

The programs are in saver_scenarios.py, TensorFlow's answers in golden/savers.json.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tfnb as tf
from tests.library.training.saver_scenarios import GRAPHS, RUNS, answer_of_run
from tests.ops.waiting.pipeline_scenarios import answer_of_graph

_GOLDEN = Path(__file__).parents[2] / "golden" / "savers.json"
_ANSWERS: dict[str, Any] = json.loads(_GOLDEN.read_text())


@pytest.mark.parametrize("name", sorted(GRAPHS))
def test_saver_is_built_as_in_tensorflow(name: str) -> None:
    """Nodes, attributes, messages and errors equal TensorFlow's."""
    actual = json.loads(json.dumps(answer_of_graph(tf, GRAPHS[name])))
    assert _ANSWERS[name] == actual


@pytest.mark.parametrize("name", sorted(RUNS))
def test_saver_does_what_tensorflows_does(name: str) -> None:
    """Files, values and errors equal TensorFlow's."""
    actual = json.loads(json.dumps(answer_of_run(tf, RUNS[name])))
    assert _ANSWERS[f"run:{name}"] == actual


def test_paths_may_be_bytes(tmp_path: Path) -> None:
    """As names of files that the operating system gives."""
    path = str(tmp_path / "model").encode()
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.get_variable("x", initializer=3.0)
        session.run(x.initializer)
        saver = tf.train.Saver()
        saved = saver.save(session, path)
        session.run(x.assign(0.0))
        saver.restore(session, path)
        assert session.run(x) == 3.0

    assert saved == path.decode()
    assert tf.train.load_variable(path, "x") == 3.0
    assert tf.train.list_variables(str(tmp_path).encode()) == [("x", [])]


def test_a_checkpoint_that_is_written_again_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if an interrupt came before an older one of its name was deleted."""

    def interrupt(*args: Any) -> None:
        raise KeyboardInterrupt

    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.get_variable("x", initializer=3.0)
        session.run(x.initializer)
        saver = tf.train.Saver(max_to_keep=2)
        first, _ = (saver.save(session, str(tmp_path / "m"), step) for step in (1, 2))
        with monkeypatch.context() as patch:
            patch.setattr(saver, "_delete_old", interrupt)
            with pytest.raises(KeyboardInterrupt):
                saver.save(session, str(tmp_path / "m"), 3)
        assert saver.save(session, str(tmp_path / "m"), 1) == first
        saver.restore(session, first)
    assert tf.train.latest_checkpoint(str(tmp_path)) == first
