"""Write the table of names in docs/compatibility.md: how many of TensorFlow 1's names exist.

    python scripts/generate_names_table.py           # after a public name or an op was added
    python scripts/generate_names_table.py --check   # fails if the table is out of date

TensorFlow's names come from ``tests/golden/public_names.txt``, which
``scripts/oracle/public_names.py`` writes.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import tfnb as tf  # noqa: E402
from tests.client.public.tensorflow_names import tensorflow_names  # noqa: E402

PAGE = ROOT / "docs" / "compatibility.md"
BEGIN = "<!-- names: written by scripts/generate_names_table.py -->"
END = "<!-- end of names -->"
_MAX_SHOWN = 12


def is_there(namespace: str, name: str) -> bool:
    """Return whether tfnb has a name."""
    found: object = tf
    try:
        for part in [*namespace.split(".")[1:], name]:
            found = getattr(found, part)
    except AttributeError:
        return False
    return True


def stored_names() -> dict[str, list[str]]:
    """Return namespace -> TensorFlow's names in it that are no namespaces."""
    found: dict[str, list[str]] = {}
    for full in sorted(tensorflow_names()):
        namespace, _, name = full.rpartition(".")
        found.setdefault(namespace, []).append(name)
    return {
        namespace: [name for name in names if f"{namespace}.{name}" not in found]
        for namespace, names in found.items()
    }


def table() -> str:
    """Return the table.

    A line for each namespace with existing names, the others in one sentence.
    """
    lines = [
        "| namespace | exist | of | missing |",
        "|---|---|---|---|",
    ]
    absent = []
    total = there = 0
    for namespace, names in sorted(stored_names().items()):
        if not names:
            continue
        lacking = [name for name in names if not is_there(namespace, name)]
        have = len(names) - len(lacking)
        if not have:
            absent.append(f"`{namespace}` ({len(names)})")
            continue
        total += len(names)
        there += have
        shown = ", ".join(f"`{name}`" for name in lacking[:_MAX_SHOWN])
        if len(lacking) > _MAX_SHOWN:
            shown += f" and {len(lacking) - _MAX_SHOWN} more"
        lines.append(f"| `{namespace}` | {have} | {len(names)} | {shown} |")
    lines.append(f"| all of these | {there} | {total} | |")
    return "\n".join(
        [
            *lines,
            "",
            f"Missing namespaces: {', '.join(absent)}; the error names the alternative.",
            "`tf.layers` and `tf.nn.rnn_cell`, which that release left to another package, exist; "
            "[ops.md](ops.md) lists the ops of `tf.raw_ops`.",
        ]
    )


def main() -> int:
    """Write the table, or compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only compare; 1 if out of date")
    check = parser.parse_args().check
    text = PAGE.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    new = f"{before}{BEGIN}\n\n{table()}\n\n{END}{after}"
    if new == text:
        return 0
    if check:
        sys.stdout.write("docs/compatibility.md is not up to date; run `make tables`\n")
        return 1
    PAGE.write_text(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
