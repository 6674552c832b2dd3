"""How the stored random calls are written: a call as lists, numbers and arrays."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tests.ops.golden import Golden
from tests.ops.samples import Resource, Sample, Uninitialized

PATH = Path(__file__).resolve().parents[1] / "golden/random_calls.bin"
EDGES = PATH.with_name("edge_calls.bin")


@cache
def stored_calls(path: Path) -> Golden:
    """Return the calls of a file, with their answers; all tests of a process share them."""
    return Golden(path)


def encode(row: Sample) -> dict[str, Any]:
    """The call as GoldenWriter takes it."""

    def one(entry: Any) -> Any:
        if isinstance(entry, list):
            return {"many": [one(item) for item in entry]}
        if isinstance(entry, Resource):
            value = None if entry.value is None else np.asarray(entry.value)
            return {"resource": value, "dtype": entry.dtype}
        if isinstance(entry, Uninitialized):
            return {"uninitialized": list(entry.shape), "dtype": entry.dtype}
        return np.asarray(entry)

    options = {"values": row.values, "undefined": list(row.undefined), "gradient": row.gradient,
               "shapes": row.shapes, "rtol": row.rtol, "atol": row.atol}  # fmt: skip
    return {"op": row.op, "inputs": [one(e) for e in row.inputs],
            "attrs": {k: one(v) if isinstance(v, np.ndarray) else v for k, v in row.attrs.items()},
            "options": options}  # fmt: skip


def decode(call: dict[str, Any]) -> Sample:
    """The call again."""

    def one(entry: Any) -> Any:
        if not isinstance(entry, dict):
            return entry
        if "many" in entry:
            return [one(item) for item in entry["many"]]
        if "resource" in entry:
            return Resource(entry["resource"], entry["dtype"])
        return Uninitialized(entry["dtype"], tuple(entry["uninitialized"]))

    options = dict(call["options"])
    options["undefined"] = tuple(options["undefined"])
    return Sample(call["op"], tuple(one(e) for e in call["inputs"]), call["attrs"], **options)
