"""Says which registered ops with a kernel no random comparison with TensorFlow reaches.

    python -m tests.random_calls.coverage

An op is reached by random calls (a maker in calls_<family>.py) or by random programs (it stands in
a stored one). Of those left over the list says what holds them: rows of samples, whole cases, or
the first test that names them. Some are named nowhere: public functions of `tf.data` and others
make them, and the stored pipelines and programs run those.
"""

from __future__ import annotations

import importlib
from collections import defaultdict
from pathlib import Path

import tfnb as tf
from tests.cases.replay import read_case, read_graph_def
from tests.ops import samples
from tests.random_calls.makers import makers
from tests.random_programs.stored import read
from tfnb.core import op_registry

_TESTS = Path(__file__).resolve().parents[1]


def in_programs() -> set[str]:
    """Ops of the stored random programs."""
    found: set[str] = set()
    for rows in read().values():
        for program, _ in rows:
            found |= {node.op for node in tf.GraphDef.FromString(program["graph"]).node}
    return found


def in_cases() -> set[str]:
    """Ops of the project's own cases, whose graphs run as in TensorFlow."""
    found: set[str] = set()
    for path in sorted((_TESTS / "cases" / "own").glob("*/case.json")):
        case = read_case(path.parent)
        if case.get("expect_import_error"):
            continue
        graph_def = read_graph_def(path.parent, case["graph"])
        found |= {node.op for node in graph_def.node}
        found |= {node.op for function in graph_def.library.function for node in function.node_def}
    return found


def named_in_tests() -> dict[str, str]:
    """The first test file that names each op, by its name or as its function is called."""
    texts = {
        path.relative_to(_TESTS): path.read_text()
        for path in sorted(_TESTS.glob("**/*.py"))
        if "random_calls" not in path.parts
    }
    found = {}
    for name in op_registry.all_ops():
        words = (f'"{name}"', f"raw_ops.{name}(", f"{op_registry.python_name(name)}(")
        for path, text in texts.items():
            if any(word in text for word in words):
                found[name] = str(path)
                break
    return found


def holders() -> dict[str, str]:
    """What compares each op that has a kernel with TensorFlow, or the first test that names it."""
    importlib.import_module("tfnb.ops.all_ops")
    programs, cases, named = in_programs(), in_cases(), named_in_tests()
    sampled = {row.op for family in samples.families() for row in samples.family(family)}
    made = set(makers())
    found = {}
    for name, definition in sorted(op_registry.all_ops().items()):
        if name.startswith("_") or not definition.has_kernel("CPU"):
            continue
        if name in made:
            found[name] = "random calls"
        elif name in programs:
            found[name] = "random programs"
        elif name in sampled:
            found[name] = "samples"
        elif name in cases:
            found[name] = "cases"
        else:
            found[name] = named.get(name, "")
    return found


def main() -> None:
    """Prints how many ops what holds, and those that only tests of their own do."""
    by_holder: dict[str, list[str]] = defaultdict(list)
    for name, holder in holders().items():
        by_holder[holder].append(name)
    random = ("random calls", "random programs")
    print(f"{sum(map(len, by_holder.values()))} ops with a kernel")
    for holder in (*random, "samples", "cases"):
        print(f"{len(by_holder[holder]):5} by {holder}")
    print("\nby samples only:", " ".join(by_holder["samples"]))
    print("\nin whole cases only:", " ".join(by_holder["cases"]))
    print("\nin tests of their own:")
    for holder in sorted(by_holder):
        if holder and holder not in (*random, "samples", "cases"):
            print(f"  {holder}: {' '.join(by_holder[holder])}")
    print("\nnamed by no test, made by public functions:", " ".join(by_holder[""]))


if __name__ == "__main__":
    main()
