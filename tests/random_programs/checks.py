"""Runs a random program in tfnb and compares with TensorFlow's answers."""

from __future__ import annotations

import contextlib
import tempfile
from typing import Any

import numpy as np

import tfnb as tf

# TensorFlow ended all programs: only a defect takes so long, on a busy machine, too.
_HANG_MS = 600_000


def answer(program: dict[str, Any]) -> list[Any]:
    """Return the fetched values of each run, or the class of the error.

    Files are in a separate folder.
    """
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        with tf.safety.allow("file"):
            return _answer(program)


def _answer(program: dict[str, Any]) -> list[Any]:
    with tf.Graph().as_default() as graph:
        try:
            tf.import_graph_def(tf.GraphDef.FromString(program["graph"]), name="")
        except (ValueError, tf.errors.OpError) as error:
            return [f"import: {error}"]
    config = tf.ConfigProto()
    config.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
    results: list[Any] = []
    options = tf.RunOptions(timeout_in_ms=_HANG_MS)
    with tf.Session(graph=graph, config=config) as session:
        for fetches in program["runs"]:
            try:
                results.append(session.run(fetches, options=options))
            except tf.errors.OpError as error:
                results.append(type(error).__name__)
    return results


def difference(found: list[Any], wanted: list[Any], steps: int = 0) -> str:
    """Return the first run that differs, in one line, or ""; integers may differ by the steps."""
    if len(found) != len(wanted):
        return f"{found[-1:]} here, {wanted[-1:]} there"
    for number, (here, there) in enumerate(zip(found, wanted, strict=True)):
        if isinstance(here, str) or isinstance(there, str):
            if here != there:
                return f"run {number}: {here} here, {there} there"
            continue
        for position, (a, b) in enumerate(zip(here, there, strict=True)):
            if not same(a, b, steps):
                return f"run {number}, fetch {position}: {a!r} here, {b!r} there"
    return ""


def same(a: Any, b: Any, steps: int = 0) -> bool:
    """Return whether two fetched values are equal."""
    if a is None or b is None:
        return a is b
    a, b = np.asarray(a), np.asarray(b)
    is_text = a.dtype.kind in "OSU" and b.dtype.kind in "OSU"
    if a.shape != b.shape or (a.dtype != b.dtype and not is_text):
        return False
    if is_text:
        return bool(np.array_equal(a.astype(object), b.astype(object)))
    if a.dtype.kind in "biu":
        return bool(np.array_equal(a, b) or (steps and np.allclose(a, b, rtol=0, atol=steps)))
    return bool(np.allclose(a, b, rtol=1e-6, equal_nan=True))
