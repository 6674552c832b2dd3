"""Runs a case with TensorFlow's API in either library, and compares the results.

An answer is a list with one entry per step, ready for JSON::

    {"values": [[name, value], ...], "dead": [name, ...], "error": [class, text, nodes],
     "counts": {node: executions}}

A step with a dead fetch runs again for each of its fetches alone, to find which are dead. A script
ends where a step fails while the graph has state, or if it cannot be imported.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.random_graphs.case import array_of, value_of

if TYPE_CHECKING:
    from tests.random_graphs.case import Case, Step

Answer = list[dict[str, Any]]
# The time after which a malformed graph in TensorFlow's process counts as standing still.
STILL_MS = 10_000
# tfnb runs graphs that TensorFlow ended: only a defect takes so long, on a busy machine, too.
HANG_MS = 600_000
_NODE = re.compile(r"\{\{node ([^}\s]+)\}\}|\[\[node ([^\s\]]+)")
_DEAD = "does not have value"
_DEAD_IN_PIECE = "was not valid"


def config(tf: Any, optimize: bool, limit_ms: int) -> Any:
    """Return a configuration with three CPU devices; all optimizers are off or as by default."""
    found = tf.ConfigProto(device_count={"CPU": 3}, operation_timeout_in_ms=limit_ms)
    if not optimize:
        found.graph_options.rewrite_options.disable_meta_optimizer = True
        found.graph_options.optimizer_options.opt_level = -1
    return found


def answer_of(tf: Any, case: Case, optimize: bool = False, limit_ms: int = HANG_MS) -> Answer:
    """Import and run a case; a step ends at the limit with DeadlineExceededError."""
    graph = tf.Graph()
    with graph.as_default():
        try:
            tf.import_graph_def(case.fill(tf.GraphDef()), name="")
        except Exception as error:
            return [{"import": type(error).__name__, "text": str(error)[:400]}]
    answer: Answer = []
    with tf.Session(graph=graph, config=config(tf, optimize, limit_ms)) as session:
        for step in case.steps:
            found = _answer_of_step(tf, session, step)
            answer.append(found)
            if "error" in found and case.has_state:
                break
    return answer


def _answer_of_step(tf: Any, session: Any, step: Step) -> dict[str, Any]:
    feeds = {name: array_of(value) for name, value in step.feeds.items()}
    if step.pieces is not None:
        return _answer_of_pieces(tf, session, step, feeds)
    found = _run(tf, session, feeds, step.fetches, step.targets)
    if "error" in found and _DEAD in found["error"][1]:
        del found["error"]
        found["dead"] = []
        values = found["values"] = []
        for name in dict.fromkeys(step.fetches):
            alone = _run(tf, session, feeds, [name], [])
            if "error" not in alone:
                values += alone["values"]
            elif _DEAD in alone["error"][1]:
                found["dead"].append(name)
            else:
                found["error"] = alone["error"]
                break
    return found


def _run(
    tf: Any, session: Any, feeds: dict[str, Any], fetches: list[str], targets: list[str]
) -> dict[str, Any]:
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    metadata = tf.RunMetadata()
    found: dict[str, Any] = {}
    try:
        values = session.run([*fetches, *targets], feeds, options, metadata)
        found["values"] = [[n, value_of(v)] for n, v in zip(fetches, values, strict=False)]
    except tf.errors.OpError as error:
        found["error"] = _described(error)
        if _DEAD not in found["error"][1]:
            return found
    except (ValueError, TypeError, KeyError) as error:
        found["error"] = [type(error).__name__, "", []]
        return found
    found["counts"] = _counts(metadata.step_stats)
    return found


def _answer_of_pieces(tf: Any, session: Any, step: Step, feeds: dict[str, Any]) -> dict[str, Any]:
    graph = session.graph
    targets = [graph.get_operation_by_name(name) for name in step.targets]
    found: dict[str, Any] = {"values": [], "refused": 0}
    try:
        handle = session.partial_run_setup(step.fetches + targets, list(feeds))
        for fed, fetched in step.pieces or ():
            try:
                values = session.partial_run(handle, fetched, {name: feeds[name] for name in fed})
            except tf.errors.InvalidArgumentError as error:
                if "can't be computed from the feeds" not in error.message:
                    raise
                found["refused"] += 1
                continue
            found["values"] += [[n, value_of(v)] for n, v in zip(fetched, values, strict=True)]
    except tf.errors.OpError as error:
        described = _described(error)
        found["error"] = [described[0], described[1] if _DEAD_IN_PIECE in described[1] else "", []]
    except (ValueError, TypeError, KeyError) as error:
        found["error"] = [type(error).__name__, "", []]
    return found


def _described(error: Any) -> list[Any]:
    """Return the class, the plain first line, and the named nodes."""
    text = error.message
    if text.startswith("Graph execution error:"):
        # Behind it are the place of each failing node, its name, and what happened.
        text = re.split(r"^Node: .*\n", text, maxsplit=1, flags=re.MULTILINE)[-1]
        text = text.removeprefix("Graph execution error:").strip()
    nodes = sorted({a or b for a, b in _NODE.findall(text)})
    roots = re.search(r"\(0\)[^:]*: (.*)", text)
    if "root error(s) found" in text and roots:
        text = roots[1]
    return [type(error).__name__, text.partition("\n")[0][:300], nodes]


def _counts(step_stats: Any) -> dict[str, int]:
    """Count how often each original node was executed, on any device."""
    counts: Counter[str] = Counter()
    for device in step_stats.dev_stats:
        counts.update(stats.node_name for stats in device.node_stats)
    return {
        name: count for name, count in sorted(counts.items()) if "/" not in name and name[0] != "_"
    }


def differences(
    case: Case, wanted: Answer, got: Answer, with_counts: bool, exact: bool = True
) -> list[str]:
    """Return the differences between two answers, one per line."""
    if len(wanted) != len(got):
        return [f"{len(wanted)} steps against {len(got)}: {_short(wanted)} | {_short(got)}"]
    lines = []
    for number, (one, other) in enumerate(zip(wanted, got, strict=True)):
        if "import" in one or "import" in other:
            if one.get("import") != other.get("import"):
                lines.append(f"import: {_short(one)} | {_short(other)}")
            continue
        if one.get("error") or other.get("error"):
            lines += _error_differences(number, one.get("error"), other.get("error"))
            continue
        for key in ("dead", "refused"):
            if one.get(key) != other.get(key):
                lines.append(f"step {number}: {key} {one.get(key)} | {other.get(key)}")
        lines += _value_differences(number, one["values"], other["values"], exact)
        if with_counts and "counts" in one and "counts" in other:
            lines += _count_differences(case, number, one["counts"], other["counts"])
    return lines


def _error_differences(number: int, one: Any, other: Any) -> list[str]:
    if one is None or other is None or one[0] != other[0]:
        return [f"step {number}: error {one} | {other}"]
    if one[2] and other[2] and not set(one[2]) & set(other[2]):
        return [f"step {number}: failing node {one[2]} | {other[2]}"]
    return []


def _value_differences(number: int, one: list[Any], other: list[Any], exact: bool) -> list[str]:
    if [name for name, _ in one] != [name for name, _ in other]:
        return [f"step {number}: fetched {_short(one)} | {_short(other)}"]
    return [
        f"step {number}: {name} is {a} | {b}"
        for (name, a), (_, b) in zip(one, other, strict=True)
        if not _equal(a, b, exact)
    ]


def _equal(a: Any, b: Any, exact: bool) -> bool:
    if a[:2] != b[:2]:
        return False
    if a[0] != "float32":
        return bool(a[2] == b[2])
    if exact:
        return np.array_equal(np.float32(a[2]), np.float32(b[2]), equal_nan=True)
    return np.allclose(a[2], b[2], rtol=1e-5, atol=1e-5, equal_nan=True)


def _count_differences(
    case: Case, number: int, one: dict[str, int], other: dict[str, int]
) -> list[str]:
    ops = {node.name: node.op for node in case.nodes}
    spread = any(node.device for node in case.nodes)
    lines = []
    for name in sorted({*one, *other}):
        # TensorFlow copies small constants to each device that uses them.
        if spread and ops.get(name) == "Const":
            continue
        if one.get(name, 0) != other.get(name, 0):
            lines.append(
                f"step {number}: {name} ({ops.get(name)}) ran {one.get(name, 0)} times | "
                f"{other.get(name, 0)}"
            )
    return lines


def _short(thing: Any) -> str:
    return str(thing)[:300]


def quiet_tensorflow() -> Any:
    """Return TensorFlow with the API of version 1, without its log."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    return tf
