"""Processes that Python spawns for a program."""

from __future__ import annotations

import pickle
import subprocess
import sys
from multiprocessing import spawn
from typing import TYPE_CHECKING

import pytest

from tfnb.as_tensorflow import children, finder, older_libraries

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROGRAM = """\
import multiprocessing
import numpy as np
import tensorflow as tf


def double(x):
    with tf.Graph().as_default(), tf.Session() as session:
        return float(session.run(tf.constant(x) * 2.0)), tf.__version__, np.float is float


if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(double, [1.0]))
"""


def _started(name: str, with_older_names: bool) -> str:
    return f"{name}, started ({with_older_names})"


@pytest.fixture
def _nothing_else() -> Iterator[None]:
    """Leave the module of Python as it was."""
    before = spawn.get_preparation_data
    yield
    children.prepare_children(None)
    spawn.get_preparation_data = before


@pytest.mark.usefixtures("_nothing_else")
def test_a_child_begins_with_a_call() -> None:
    """As the data are unpacked that it is given; not after the end of that."""
    spawn.get_preparation_data = lambda name: {"name": name, "dir": "/"}
    children.prepare_children(_started)
    children.prepare_children(_started)
    sent = pickle.dumps(spawn.get_preparation_data("Child-1"))

    assert spawn.get_preparation_data("Child-1")["name"] == "Child-1"
    assert pickle.loads(sent) == {"name": "Child-1, started (False)", "dir": "/"}
    children.prepare_children(None)
    assert type(spawn.get_preparation_data("Child-2")["name"]) is str


def test_a_child_installs_the_finder(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the names that NumPy dropped, if the program has them."""
    done: list[str] = []
    monkeypatch.setattr(finder, "install_as_tensorflow", lambda: done.append("finder"))
    monkeypatch.setattr(older_libraries, "serve_older_names", lambda: done.append("names"))

    assert finder.start_child("Child-1", False) == "Child-1"
    assert done == ["finder"]
    assert finder.start_child("Child-1", True) == "Child-1"
    assert done == ["finder", "finder", "names"]


@pytest.mark.repeats
def test_a_spawned_process_computes(tmp_path: Path) -> None:
    """With tfnb as TensorFlow, and the names that NumPy dropped."""
    (tmp_path / "program.py").write_text(PROGRAM)
    found = subprocess.run(
        [sys.executable, "-m", "tfnb", "run", "program.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert found.stdout == "[(2.0, '1.15.5', True)]\n", found.stderr
