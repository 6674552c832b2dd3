"""Prints for every registered op with a kernel which stored data compare it with TensorFlow.

    python -m tests.random_programs.coverage [CASES ...] [--list FILE] [--all] [--rows]

CASES are folders of stored cases (``*/case.json``) beside the project's own; FILE is a text that
names more ops (every word that is an op counts). The ops that occur in these are counted, with
``--all`` every op that has a kernel. ``--rows`` prints a line per op:

* values: *calls* (a maker in calls_<family>.py draws random calls), *programs* (it occurs in a
  stored random program or random graph), *samples* (rows of tests/ops), *scenarios* (programs of
  tests/ops and tests/library whose nodes and values are stored), *cases* (whole graphs), or the
  first test that names it;
* of its stored calls and samples: how many there are, how many have an empty or a scalar input, NaN
  or infinities or the largest integers, and how many must fail; in random programs an op's edges
  are those of the constants it takes and of its results;
* gradient: *values* (numbers of TensorFlow's gradient are stored), *graph* (its nodes are),
  *numeric* (differences of the values), *second* (both for the gradient of the gradient),
  *program* (it occurs in a program of gradient_programs.py: all of these but nodes).
"""

from __future__ import annotations

import argparse
import importlib
import json
import lzma
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import tfnb as tf
from tests.cases.replay import read_case, read_graph_def
from tests.library.gradients import gradient_programs
from tests.ops import samples
from tests.ops.golden import Golden
from tests.ops.stored_calls import EDGES, PATH, decode
from tests.random_calls.makers import makers
from tests.random_programs.stored import read
from tfnb.core import op_registry
from tfnb.framework.functions import function as defun

if TYPE_CHECKING:
    from collections.abc import Iterator

_TESTS = Path(__file__).resolve().parents[1]
_GOLDEN = _TESTS / "golden"
_HOLDERS = ("calls", "programs", "samples", "scenarios", "cases")


# Gradients that TensorFlow declares and cannot compute.
_NO_GRADIENT_THERE = {
    "BatchNormWithGlobalNormalization": "its gradient's op is refused by graphs of today",
    "PreventGradient": "refusing is what it is for",
    "RefEnter": "AttributeError: its gradient finds no loop where raw ops make one",
    "RefExit": "AttributeError: its gradient finds no loop where raw ops make one",
    "SparseSparseMaximum": "TypeError: its function takes one gradient of two",
    "SparseSparseMinimum": "TypeError: its function takes one gradient of two",
    "TruncateDiv": "None for both inputs",
    "While": "TypeError where the raw op was called",
}


@dataclass
class Coverage:
    """The coverage of one op."""

    values: str = ""
    counts: Counter[str] = field(default_factory=Counter)
    gradient: set[str] = field(default_factory=set)


def in_programs() -> tuple[set[str], set[str], dict[str, Counter[str]]]:
    """Return ops of the stored random programs, those of programs with a failing run, and edges.

    Edges of an op are those of the constants that it takes and of its results.
    """
    found: set[str] = set()
    failing: set[str] = set()
    edges: dict[str, Counter[str]] = defaultdict(Counter)
    for rows in read().values():
        for program, answers in rows:
            nodes = {node.name: node for node in tf.GraphDef.FromString(program["graph"]).node}
            ops = {node.op for node in nodes.values()}
            found |= ops
            if any(isinstance(one, str) for one in answers):
                failing |= ops
            given: dict[str, list[Any]] = defaultdict(list)
            for fetches, values in zip(program["runs"], answers, strict=False):
                if not isinstance(values, str):
                    for name, value in zip(fetches, values, strict=True):
                        if value is not None:
                            given[name.split(":")[0]].append(np.asarray(value))
            for node in nodes.values():
                inputs = (nodes.get(name.split(":")[0]) for name in node.input)
                taken = [one for one in inputs if one is not None and one.op == "Const"]
                arrays = [tf.make_ndarray(one.attr["value"].tensor) for one in taken]
                _count_arrays(arrays + given[node.name], edges[node.op])
    for row in json.loads(lzma.decompress((_GOLDEN / "random_graphs.json.xz").read_bytes())):
        found |= {node[1] for node in row["case"]["nodes"]}
    return found, failing, edges


def in_scenarios() -> set[str]:
    """Ops of the programs of tests/ops whose nodes and values are stored."""
    found: set[str] = set()
    for name in ("functional_graphs", "control_flow_graphs", "datasets", "pipelines", "savers"):
        words = re.findall(r"\"(\w+)\"", (_GOLDEN / f"{name}.json").read_text())
        found |= set(words) & set(op_registry.all_ops())
    return found


def in_gradient_programs() -> set[str]:
    """Return ops of the differentiated programs, but for those TensorFlow cannot differentiate."""
    wanted = json.loads((_GOLDEN / "gradient_programs.json").read_text())
    found: set[str] = set()
    for name, function in gradient_programs.PROGRAMS.items():
        if len(wanted[name]) == 1:
            continue
        with tf.Graph().as_default() as graph:
            inputs = [tf.placeholder(tf.float64, [2, 3]) for _ in range(2)]
            function(tf, defun, *inputs)
            graph_def = graph.as_graph_def()
        found |= {node.op for node in graph_def.node}
        found |= {node.op for one in graph_def.library.function for node in one.node_def}
    return found


def in_cases(*folders: Path) -> set[str]:
    """Return ops of cases, whose graphs run as in TensorFlow; library functions are no ops."""
    found: set[str] = set()
    for folder in folders or (_TESTS / "cases" / "own",):
        for path in sorted(folder.glob("**/case.json")):
            case = read_case(path.parent)
            if case.get("expect_import_error"):
                continue
            graph_def = read_graph_def(path.parent, case["graph"])
            found |= {node.op for node in graph_def.node}
            for function in graph_def.library.function:
                found |= {node.op for node in function.node_def}
    return found & set(op_registry.all_ops())


def named_in_tests() -> dict[str, str]:
    """Return the first test file that names each op, or that calls its function."""
    texts = {
        path.relative_to(_TESTS): path.read_text()
        for path in sorted(_TESTS.glob("**/*.py"))
        if "random_calls" not in path.parts and path != Path(__file__).resolve()
    }
    found = {}
    for name in op_registry.all_ops():
        words = (f'"{name}"', f"raw_ops.{name}(", f"{op_registry.python_name(name)}(")
        for path, text in texts.items():
            if any(word in text for word in words):
                found[name] = str(path)
                break
    return found


def stored_calls() -> Iterator[tuple[samples.Sample, dict[str, Any], str]]:
    """Return every call with a stored answer, the answer, and whether it is a sample or random."""
    for family in samples.families():
        golden = Golden(samples.GOLDEN / f"ops_{family}.bin")
        for row in samples.family(family):
            answer = golden.get(row.key())
            if answer is not None:
                yield row, answer, "samples"
    for path in (PATH, EDGES):
        stored = Golden(path)
        for key in stored.index:
            entry = stored.get(key)
            assert entry is not None
            yield decode(entry["call"]), entry["answer"], "calls"


def _flat(row: samples.Sample) -> list[Any]:
    entries = [item for e in row.inputs for item in (e if isinstance(e, list) else [e])]
    values = [e.value if isinstance(e, samples.Resource) else e for e in entries]
    return [np.asarray(v) for v in values if v is not None and hasattr(v, "dtype")
            and not isinstance(v, samples.Uninitialized)]  # fmt: skip


def _count(row: samples.Sample, answer: dict[str, Any], counts: Counter[str]) -> None:
    """Count what one call covers: edges of shapes and of values, errors."""
    if "no_kernel" in answer:
        return
    counts["calls"] += 1
    _count_arrays(_flat(row), counts)
    counts["errors"] += any(word.startswith(("error", "build_error")) for word in answer)


def _count_arrays(arrays: list[Any], counts: Counter[str]) -> None:
    """Return the edges among these arrays."""
    counts["empty"] += any(array.size == 0 for array in arrays)
    counts["scalar"] += any(array.shape == () for array in arrays)
    numbers = [array for array in arrays if array.dtype.kind not in "OSUbiu"]
    counts["nan"] += any(not np.isfinite(array.astype(np.complex128)).all() for array in numbers)
    whole = [array for array in arrays if array.dtype.kind in "iu" and array.size]
    counts["extreme"] += any(
        np.any(array == np.iinfo(array.dtype).max) for array in whole if array.dtype.itemsize > 0
    )


@cache
def _graph_gradients() -> frozenset[str]:
    """Return ops whose gradient nodes are stored."""
    found: set[str] = set()
    for name in ("gradient_rows", "gradient_graphs"):
        stored = json.loads(lzma.decompress((_GOLDEN / f"{name}.json.xz").read_bytes()))
        for nodes in stored.values():
            if "error" not in nodes:
                found |= {
                    node[0] for key, node in nodes.items() if not key.startswith("gradients/")
                }
    return frozenset(found)


def coverage() -> dict[str, Coverage]:
    """Return the coverage of each op that has a kernel."""
    importlib.import_module("tfnb.ops.all_ops")
    numeric = importlib.import_module("tests.ops.test_numeric_gradients")
    (programs, failing, edges), cases, named = in_programs(), in_cases(), named_in_tests()
    found: dict[str, Coverage] = defaultdict(Coverage)
    sampled: set[str] = set()
    for row, answer, kind in stored_calls():
        _count(row, answer, found[row.op].counts)
        if kind == "samples":
            sampled.add(row.op)
        if any(one is not None for one in answer.get("gradients", ())):
            found[row.op].gradient.add("values")
    scenarios, differentiated = in_scenarios(), in_gradient_programs()
    made, graphs, differences = set(makers()), _graph_gradients(), set(numeric.names())
    second = {key.split("-")[0] for key in Golden(_GOLDEN / "second_gradients.bin").index}
    rows = {}
    for name, definition in sorted(op_registry.all_ops().items()):
        if name.startswith("_") or not definition.has_kernel("CPU"):
            continue
        one = rows[name] = found[name]
        holders = (
            ("calls", made), ("programs", programs), ("samples", sampled),
            ("scenarios", scenarios), ("cases", cases),
        )  # fmt: skip
        one.values = next((word for word, ops in holders if name in ops), named.get(name, ""))
        one.counts["errors"] += name in failing
        one.counts.update(edges.get(name, {}))
        if definition.gradient_function is None:
            one.gradient.clear()
            continue
        if name in graphs:
            one.gradient.add("graph")
        if name in differences:
            one.gradient.add("numeric")
        if name in differentiated:
            one.gradient.add("program")
        if name in second:
            one.gradient.add("second")
    return rows


def listed(path: Path) -> set[str]:
    """Return the ops that a text names."""
    return set(re.findall(r"\w+", path.read_text())) & set(op_registry.all_ops())


def _print_counts(rows: dict[str, Coverage]) -> None:
    by_holder: dict[str, list[str]] = defaultdict(list)
    for name, one in rows.items():
        by_holder[one.values if one.values in _HOLDERS else "tests"].append(name)
    print(f"{len(rows)} ops with a kernel; values are compared")
    for holder in (*_HOLDERS, "tests"):
        print(f"{len(by_holder[holder]):5} by {holder}")
    for holder in (*_HOLDERS[2:], "tests"):
        print(f"\n{holder} only:", " ".join(by_holder[holder]))
    for word in ("empty", "scalar", "nan", "extreme", "errors"):
        print(f"{sum(bool(one.counts[word]) for one in rows.values()):5} with {word}")
    able = {n: one for n, one in rows.items() if op_registry.get(n).gradient_function}
    print(f"\n{len(able)} of them have a gradient; compared")
    for word in ("values", "graph", "numeric", "second"):
        also = set() if word == "graph" else {"program"}
        has = [name for name, one in able.items() if one.gradient & {word, *also}]
        print(f"{len(has):5} by {word}; not: {' '.join(sorted(set(able) - set(has)))}")
    for name in sorted(set(able) & set(_NO_GRADIENT_THERE)):
        print(f"TensorFlow cannot differentiate {name}: {_NO_GRADIENT_THERE[name]}")


def main() -> None:
    """Print how many ops each kind of data covers, and ops that only their own tests cover."""
    parser = argparse.ArgumentParser(prog="python -m tests.random_programs.coverage")
    parser.add_argument("cases", type=Path, nargs="*")
    parser.add_argument("--list", type=Path, help="a text that names ops")
    parser.add_argument("--all", action="store_true", help="every op that has a kernel")
    parser.add_argument("--rows", action="store_true", help="a line per op")
    options = parser.parse_args()
    rows = coverage()
    if not options.all:
        wanted = in_cases(_TESTS / "cases" / "own", *options.cases)
        if options.list is not None:
            wanted |= listed(options.list)
        rows = {name: one for name, one in rows.items() if name in wanted}
    if options.rows:
        for name, one in rows.items():
            numbers = " ".join(f"{word}={one.counts[word]}" for word in sorted(one.counts))
            print(f"{name}\t{one.values}\t{numbers}\t{' '.join(sorted(one.gradient))}")
    _print_counts(rows)


if __name__ == "__main__":
    main()
