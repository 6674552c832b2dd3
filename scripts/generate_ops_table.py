"""Write docs/ops.md: the properties of every op, and which of TensorFlow's ops are missing.

    python scripts/generate_ops_table.py           # after an op or its samples changed
    python scripts/generate_ops_table.py --check   # fails if the file is out of date

The ops come from the registry, the comparisons with TensorFlow from the rows in tests/ops and the
graphs in tests/cases, and TensorFlow's ops from tests/golden/op_defs.txt.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.cases.replay import read_case, read_graph_def  # noqa: E402
from tests.ops.samples import families, family  # noqa: E402
from tfnb.core import op_registry  # noqa: E402

if TYPE_CHECKING:
    from tfnb.core.op_registry import OpDefinition

TARGET = ROOT / "docs" / "ops.md"
OP_DEFS = ROOT / "tests" / "golden" / "op_defs.txt"

# Sets of dtypes that many ops take, largest first, and a word for each.
FLOATS = ("half", "bfloat16", "float", "double")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
WORDS = (
    ("numbers", {*FLOATS, *INTEGERS, "complex64", "complex128"}),
    ("real numbers", {*FLOATS, *INTEGERS}),
    ("integers", set(INTEGERS)),
    ("floats", set(FLOATS)),
    ("complex", {"complex64", "complex128"}),
)

HEAD = """\
# Ops

Written by `scripts/generate_ops_table.py`.

* **dtypes**: the allowed types of each type attribute; *any* for all types. Ops without type
  attributes have fixed types.
* **gradient**: *yes*; *stops* if the op is declared to have none; empty if `tf.gradients` through
  the op is an error.
* **runs on**: the device types with a kernel; empty for ops that graphs may contain but not run.
* **compared**: *samples* if rows of `tests/ops` compare values, shapes, errors and gradients with
  TensorFlow's answers; *graphs* if it occurs in whole graphs that are compared (`tests/cases`);
  empty if other tests cover it.
* **effects**: effects that need permission in a graph from a file ([safety.md](safety.md)).
"""


def dtype_words(names: list[str]) -> str:
    """Return a set of dtypes in few words."""
    left, words = set(names), []
    for word, members in WORDS:
        if members <= left:
            words.append(word)
            left -= members
    return ", ".join(words + [name for name in names if name in left])


def dtypes_of(definition: OpDefinition) -> str:
    """Return the type attributes of an op with their allowed types."""
    spelled = {"float16": "half", "float32": "float", "float64": "double"}
    parts = []
    for attr in definition.op_def.attrs:
        if attr.type not in ("type", "list(type)"):
            continue
        allowed = [spelled.get(one.name, one.name) for one in attr.allowed or ()]
        parts.append(f"{attr.name}: {dtype_words(allowed) if allowed else 'any'}")
    return "; ".join(parts)


def gradient_of(definition: OpDefinition) -> str:
    """Return whether gradients flow through an op."""
    if definition.gradient_function is not None:
        return "yes"
    return "" if definition.is_differentiable else "stops"


def ops_of_graphs() -> set[str]:
    """Return the ops in the graphs of tests/cases, including ops of their functions."""
    found: set[str] = set()
    for path in (ROOT / "tests" / "cases" / "own").glob("**/case.json"):
        graph_def = read_graph_def(path.parent, read_case(path.parent)["graph"])
        found.update(node.op for node in graph_def.node)
        for function in graph_def.library.function:
            found.update(node.op for node in function.node_def)
    return found


def table() -> str:
    """Return the text of docs/ops.md."""
    ours = {
        name: definition
        for name, definition in op_registry.all_ops().items()
        if (definition.function is None or definition.function.__module__.startswith("tfnb."))
        and not name.startswith("Test")
    }
    sampled = {row.op for name in families() for row in family(name)}
    in_graphs = ops_of_graphs()
    theirs = [line.split("(", 1)[0] for line in OP_DEFS.read_text().splitlines()]
    missing = sorted(set(theirs) - ours.keys())
    num_gradients = sum(gradient_of(one) == "yes" for one in ours.values())
    lines = [
        HEAD,
        f"## Ops of tfnb: {len(ours)}, {num_gradients} with gradients\n",
        "| op | dtypes | gradient | runs on | compared | effects |",
        "|---|---|---|---|---|---|",
    ]
    for name in sorted(ours, key=lambda one: (one.startswith("_"), one)):
        definition = ours[name]
        compared = "samples" if name in sampled else "graphs" if name in in_graphs else ""
        effects = ", ".join(dict.fromkeys(effect.kind for effect in definition.effects))
        devices = " ".join(sorted(definition.device_types()))
        cells = (name, dtypes_of(definition), gradient_of(definition), devices, compared, effects)
        lines.append(f"| {' | '.join(cells)} |".replace("|  |", "| |").replace("|  |", "| |"))
    lines += [
        f"\n## Ops of TensorFlow that are missing: {len(missing)}\n",
        "A graph with one of them cannot be imported; the error lists all missing ops.\n",
        *missing_lines(missing),
    ]
    return "\n".join(lines) + "\n"


def missing_lines(names: list[str]) -> list[str]:
    """Return the names by their first letter."""
    by_letter: dict[str, list[str]] = {}
    for name in names:
        by_letter.setdefault(name[0].upper(), []).append(name)
    return [f"* {', '.join(f'`{name}`' for name in group)}" for group in by_letter.values()]


def main() -> int:
    """Write the file, or compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only compare; 1 if out of date")
    check = parser.parse_args().check
    text = table()
    if check:
        if TARGET.read_text() == text:
            return 0
        print(f"{TARGET.relative_to(ROOT)} is not up to date; run `make tables`")
        return 1
    TARGET.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
