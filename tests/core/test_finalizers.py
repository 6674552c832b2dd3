"""Code of tfnb that runs when objects are collected, at any moment and in any thread.

An interrupt during this code is lost to the step or loop in which the object was collected.
"""

from __future__ import annotations

import ast
import gc
import re
import sys
import threading
from pathlib import Path

import pytest

import tfnb as tf

_PACKAGE = Path(tf.__file__).parent
_TABLES = {"WeakKeyDictionary", "WeakSet", "WeakValueDictionary", "WeakMethod"}

# Each releases something other than memory: a file, a thread, a session, a tensor on a device.
_NEEDED = {
    "client/testing/benchmark.py": {"__del__"},
    "client/session/callable.py": {"__del__"},
    "client/files/event_file_writer.py": {"finalize"},
    "client/files/gfile.py": {"__del__"},
    "client/session/session.py": {"__del__"},
    "client/session/tensor_handle.py": {"__del__"},
    # A function of C that stops a trace.
    "common_runtime/looking/allocation_tracker.py": {"ref with a callback"},
    "common_runtime/device/gpu_device.py": {"__del__"},
    "common_runtime/device/thread_pool.py": {"finalize"},
    "ops/dataset/dataset_file_cache.py": {"finalize"},
    "ops/dataset/dataset_snapshot_ops.py": {"finalize"},
    "ops/dataset/dataset_table_ops.py": {"finalize"},
    "ops/io/summary_file_ops.py": {"__del__"},
}


# Without these words a file has none; parsing all files takes seconds.
_WORDS = re.compile(r"__del__|weakref|\b(?:ref|proxy)\b")


def _finalizers(source: str) -> set[str]:
    """Return which objects of a module have Python code that runs when they end."""
    found: set[str] = set()
    if not _WORDS.search(source):
        return found
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and node.name == "__del__":
            found.add("__del__")
        if isinstance(node, ast.ImportFrom) and node.module == "weakref":
            found.update(alias.name for alias in node.names)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "weakref":
            found.update({node.attr} & {*_TABLES, "finalize"})
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name, num_arguments = node.func.attr, len(node.args) + len(node.keywords)
            if name in ("ref", "proxy") and num_arguments > 1:
                found.add(f"{name} with a callback")
    return found


def test_what_runs_as_objects_end_is_what_has_to() -> None:
    """Sets and tables of living objects use core/process/weak_registry.py."""
    found = {}
    for path in sorted(_PACKAGE.rglob("*.py")):
        kinds = _finalizers(path.read_text())
        if kinds:
            found[path.relative_to(_PACKAGE).as_posix()] = kinds
    assert found == _NEEDED


@pytest.mark.parametrize(
    ("source", "kinds"),
    [
        ("x = weakref.WeakKeyDictionary()", {"WeakKeyDictionary"}),
        ("from weakref import WeakSet", {"WeakSet"}),
        ("weakref.ref(x, print)", {"ref with a callback"}),
        ("weakref.finalize(x, print)", {"finalize"}),
        ("class A:\n  def __del__(self): pass", {"__del__"}),
        ("weakref.ref(x)", set()),
    ],
)
def test_each_kind_of_finalizer_is_seen(source: str, kinds: set[str]) -> None:
    """The search finds each kind of finalizer, so that the list above is complete."""
    assert _finalizers(source) == kinds


def _model() -> None:
    with tf.Graph().as_default(), tf.variable_creator_scope(lambda create, **more: create(**more)):
        x = tf.placeholder(tf.float32, [None, 3])
        y = tf.layers.dense(tf.Variable([[1.0, 2.0, 3.0]]) + x, 2)
        loss = tf.reduce_mean(tf.reduce_sum(y, axis=1))
        tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            for _ in range(3):
                sess.run(loss, {x: [[1.0, 2.0, 3.0]]})


def test_a_graph_that_ends_runs_no_python_code() -> None:
    """Graphs, operations, variables and layers run no code when they end; a session does."""
    _model()
    gc.collect()
    _model()
    calls: set[str] = set()
    thread = threading.get_ident()

    def note(frame: object, event: str, _: object) -> None:
        if event == "call" and threading.get_ident() == thread:
            code = frame.f_code  # type: ignore[attr-defined]
            calls.add(f"{Path(code.co_filename).name} {code.co_name}")

    # Test tools register callbacks of the collector.
    others, gc.callbacks[:] = gc.callbacks[:], []
    sys.setprofile(note)
    try:
        gc.collect()
    finally:
        sys.setprofile(None)
        gc.callbacks[:] = others
    assert {call for call in calls if not call.startswith("session.py ")} == set()
