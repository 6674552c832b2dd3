"""The format of stored random programs: JSON with arrays as text, compressed."""

from __future__ import annotations

import base64
import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np

PATH = Path(__file__).resolve().parents[1] / "golden/random_programs.json.xz"


def _packed(value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list):
        return [_packed(item) for item in value]
    array = np.asarray(value)
    if array.dtype.kind in "OSU":
        texts = [
            base64.b85encode(bytes(text)).decode() for text in array.astype(object).reshape(-1)
        ]
        return {"shape": array.shape, "texts": texts}
    data = base64.b85encode(array.tobytes()).decode()
    return {"shape": array.shape, "dtype": array.dtype.str, "data": data}


def _unpacked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unpacked(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "texts" in value:
        array = np.empty(len(value["texts"]), object)
        array[:] = [base64.b85decode(text) for text in value["texts"]]
        return array.reshape(value["shape"])
    data = base64.b85decode(value["data"])
    return np.frombuffer(data, value["dtype"]).reshape(value["shape"])


def write(rows: list[tuple[str, int, dict[str, Any], list[Any]]], families: list[str]) -> None:
    """Store (family, seed, program, TensorFlow's answers); other families are kept."""
    before = json.loads(lzma.decompress(PATH.read_bytes())) if PATH.exists() else []
    found = [row for row in before if row["family"] not in families]
    found += [
        {
            "family": family,
            "seed": seed,
            "graph": base64.b85encode(program["graph"]).decode(),
            "runs": program["runs"],
            "steps": program["steps"],
            "answers": _packed(answers),
        }
        for family, seed, program, answers in rows
    ]
    PATH.write_bytes(lzma.compress(json.dumps(found).encode(), preset=9))


def read() -> dict[str, list[tuple[dict[str, Any], list[Any]]]]:
    """The stored programs and their answers, by family."""
    found: dict[str, list[tuple[dict[str, Any], list[Any]]]] = {}
    for row in json.loads(lzma.decompress(PATH.read_bytes())):
        program = {"graph": base64.b85decode(row["graph"]), "runs": row["runs"]}
        program["steps"] = row.get("steps", 0)
        found.setdefault(row["family"], []).append((program, _unpacked(row["answers"])))
    return found
