"""Write the table of docs/onnx.md: the ops that are converted to ONNX, by family, counted.

python scripts/generate_onnx_table.py           # after a converter was added
python scripts/generate_onnx_table.py --check   # fails if the page is out of date
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tfnb.onnx_export.families.all_families import FAMILIES  # noqa: E402
from tfnb.onnx_export.program_writer import LEFT_OUT  # noqa: E402
from tfnb.onnx_export.writing.converters import (  # noqa: E402
    COMPLEX_CONVERTERS,
    CONVERTERS,
)

TARGET = ROOT / "docs" / "onnx.md"
BEGIN = "<!-- written by scripts/generate_onnx_table.py -->\n"
# Ops that the recognised program replaces; they need no converter.
STRUCTURE = (
    *("Case", "Const", "Enter", "Exit", "For", "If", "LoopCond", "Merge", "NextIteration"),
    *("PartitionedCall", "Placeholder", "ReadVariableOp", "RefSwitch", "StatefulPartitionedCall"),
    *(
        "StatelessCase",
        "StatelessIf",
        "StatelessWhile",
        "Switch",
        "SymbolicGradient",
        "VarHandleOp",
        "Variable",
    ),
    *("VariableV2", "While"),
)


def table() -> str:
    """Return the table, with the number of ops before it."""
    number = len({*CONVERTERS, *COMPLEX_CONVERTERS}) + len(STRUCTURE)
    lines = [
        f"{number} ops are converted; {len(LEFT_OUT)} more are left out, because they only check, "
        "print or order.",
        "",
        "| family | ops |",
        "|---|---|",
        f"| structure: {len(STRUCTURE)} | {', '.join(STRUCTURE)} |",
    ]
    for module in FAMILIES:
        ops = sorted(
            op for op, converter in CONVERTERS.items() if converter.__module__ == module.__name__
        )
        title = (module.__doc__ or "").partition("\n")[0].rstrip(".")
        lines.append(f"| {title}: {len(ops)} | {', '.join(ops)} |")
    ops = sorted(COMPLEX_CONVERTERS)
    lines.append(f"| of complex numbers: {len(ops)} | {', '.join(ops)} |")
    lines.append(f"| left out: {len(LEFT_OUT)} | {', '.join(sorted(LEFT_OUT))} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write the page, or compare it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    old = TARGET.read_text()
    new = old.partition(BEGIN)[0] + BEGIN + table()
    if options.check:
        if new != old:
            print("docs/onnx.md is out of date: make tables", file=sys.stderr)
        return int(new != old)
    TARGET.write_text(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
