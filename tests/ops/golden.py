"""Storage of answers: one JSON index and one block of bytes in a compressed file.

Thousands of small arrays would need a header each; here an array is a dtype's name, a shape and an
offset.
"""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from tests import exact_numbers

if TYPE_CHECKING:
    from pathlib import Path


def _dtype(name: str) -> Any:
    return np.dtype(getattr(ml_dtypes, name)) if hasattr(ml_dtypes, name) else np.dtype(name)


def upstream_gradient(value: Any, position: int) -> Any:
    """Return the incoming gradient for an output of this value: fixed, without symmetry."""
    value = np.asarray(value)
    count = np.arange(value.size, dtype=np.float64)
    numbers = exact_numbers.cos(count * 1.7 + position) + 1.5
    if value.dtype.kind == "c":
        numbers = numbers + 1j * exact_numbers.sin(count + 0.3)
    return numbers.reshape(value.shape).astype(value.dtype)


class GoldenWriter:
    """Collects answers and writes them on close."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.index: dict[str, Any] = {}
        self.blocks: list[bytes] = []
        self.size = 0

    def add(self, key: str, answer: dict[str, Any]) -> None:
        """Adds one row's answer: lists, numbers, strings, None and arrays, nested."""
        self.index[key] = self._encode(answer)

    def close(self) -> None:
        """Writes the file."""
        text = json.dumps(self.index, sort_keys=True).encode()
        body = zlib.compress(len(text).to_bytes(8, "little") + text + b"".join(self.blocks), 9)
        self.path.parent.mkdir(exist_ok=True)
        self.path.write_bytes(body)

    def _encode(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {k: self._encode(v) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._encode(v) for v in value]
        if isinstance(value, np.ndarray):
            if value.dtype.kind in "OSU":
                items = [v if isinstance(v, bytes) else str(v).encode() for v in value.reshape(-1)]
                lengths = [len(item) for item in items]
                return {
                    "array": "string",
                    "shape": value.shape,
                    "lengths": lengths,
                    **self._put(b"".join(items)),
                }
            return {"array": value.dtype.name, "shape": value.shape, **self._put(value.tobytes())}
        if isinstance(value, np.generic):
            return value.item()
        return value

    def _put(self, data: bytes) -> dict[str, int]:
        start, self.size = self.size, self.size + len(data)
        self.blocks.append(data)
        return {"offset": start, "bytes": len(data)}


class Golden:
    """The answers of one family, read back."""

    def __init__(self, path: Path) -> None:
        self.index: dict[str, Any] = {}
        self._data = b""
        if path.exists():
            body = zlib.decompress(path.read_bytes())
            end = 8 + int.from_bytes(body[:8], "little")
            self.index = json.loads(body[8:end])
            self._data = body[end:]

    def get(self, key: str) -> dict[str, Any] | None:
        """The answer to the row with this key, or None."""
        found = self.index.get(key)
        return None if found is None else self._decode(found)

    def _decode(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._decode(v) for v in value]
        if not isinstance(value, dict):
            return value
        if "array" not in value:
            return {k: self._decode(v) for k, v in value.items()}
        start = value["offset"]
        data = self._data[start : start + value["bytes"]]
        shape = tuple(value["shape"])
        if value["array"] == "string":
            result = np.empty(len(value["lengths"]), object)
            position = 0
            for i, length in enumerate(value["lengths"]):
                result[i] = data[position : position + length]
                position += length
            return result.reshape(shape)
        return np.frombuffer(data, _dtype(value["array"])).reshape(shape)
