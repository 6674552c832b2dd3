"""Print the `@register_op(...)` head of ops from the golden list, ready to paste.

    python scripts/oracle/op_signature.py Relu Conv2D ...

Reads only tests/golden/op_defs.txt, so it needs no TensorFlow.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden" / "op_defs.txt"

_NUMBER = (
    "float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, "
    "qint16, quint16, uint16, complex128, half, uint32, uint64"
)
_REAL = "float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64"
_QUANTIZED = "qint8, quint8, qint32, qint16, quint16"


def golden_lines() -> dict[str, str]:
    """Return op name -> its line."""
    lines = GOLDEN.read_text().splitlines()
    return {line.split("(", 1)[0]: line for line in lines}


def attr_spec(text: str) -> str:
    """Return the attr spec in REGISTER_OP text."""
    match = re.fullmatch(r"(\w+): ([\w()]+?)(?: in \{(.*?)\})?(?: >= (-?\d+))?(?: = (.*))?", text)
    if match is None:
        raise ValueError(text)
    name, kind, allowed, minimum, default = match.groups()
    if allowed is not None:
        known = {_NUMBER: "numbertype", _REAL: "realnumbertype", _QUANTIZED: "quantizedtype"}
        if allowed in known:
            kind = known[allowed]
        else:
            for group, word in known.items():
                allowed = allowed.replace(group, word)
            kind = f"{{{allowed}}}" if kind in ("type", "string") else f"list({{{allowed}}})"
    spec = f"{name}: {kind}"
    if minimum is not None:
        spec += f" >= {minimum}"
    if default is not None:
        if (
            re.fullmatch(r"(Ref\()?[a-z]+\d*\)?", default) and allowed is not None
        ) or kind == "type":
            default = "DT_" + default.upper()
        if default == "shape(?)":
            default = "{ unknown_rank: true }"
        spec += f" = {default}"
    return spec


def register_text(line: str) -> str:
    """Return the decorator line(s) for one golden line."""
    head, *rest = line.split(" | ")
    match = re.fullmatch(r"([\w>]+)\((.*)\) -> \((.*)\)", head)
    assert match is not None, line
    name, inputs, outputs = match.groups()
    signature = f"{inputs} -> {outputs}".strip()
    parts = [f'"{name}"', f'"{signature}"']
    for section in rest:
        if ": " in section:
            parts += [f'"{attr_spec(text)}"' for text in section.split("; ")]
        elif section.startswith("deprecated"):
            parts.append(f"deprecated={section.split()[1]}")
        else:
            parts += [f"{word}=True" for word in section.split()]
    text = f"@register_op({', '.join(parts)})"
    if len(text) <= 100:
        return text
    return "@register_op(\n    " + ",\n    ".join(parts) + ",\n)"


def main(names: list[str]) -> None:
    """Print the heads of the named ops."""
    lines = golden_lines()
    for name in names:
        sys.stdout.write(register_text(lines[name]) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
