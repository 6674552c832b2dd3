"""Expressions and TensorFlow 2.21's results, one per line: ``expression  =>  result``.

The files in ``tests/golden/core`` are recorded by ``python -m tests.oracle.tensorflow_values``,
where TensorFlow is installed. The same names exist in TensorFlow and in tfnb, so that one text
serves both.
"""

from __future__ import annotations

import copy
import datetime
import decimal
import fractions
import importlib
import math
import pickle
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from google.protobuf import text_format
from google.protobuf.message import Message

GOLDEN = Path(__file__).parents[1] / "golden" / "core"
FILES = ("dtypes", "tensor_shape", "device_spec", "make_tensor_proto", "make_ndarray", "errors")
_ARROW = "  =>  "


def recorded(name: str) -> dict[str, str]:
    """The lines of one file, in order."""
    lines = (GOLDEN / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.partition(_ARROW) for line in lines]
    return {expression: result for expression, _, result in pairs}


def record(name: str, results: dict[str, str]) -> None:
    """Write the lines of one file."""
    text = "".join(f"{expression}{_ARROW}{result}\n" for expression, result in results.items())
    (GOLDEN / f"{name}.txt").write_text(text, encoding="utf-8")


def namespace(package: str, tensor_pb2: Any) -> dict[str, Any]:
    """The names that expressions may use, from ``tfnb.core`` or from TensorFlow's framework."""
    modules = (np, ml_dtypes, copy, pickle, math, decimal, fractions, datetime)
    names: dict[str, Any] = {module.__name__: module for module in modules}
    names |= {
        "np": np,
        "TensorProto": lambda text: text_format.Parse(text, tensor_pb2.TensorProto()),
        "merged": _merged,
    }
    for module in ("errors", "dtypes", "device_spec", "tensor_shape", "tensor_util"):
        loaded = importlib.import_module(f"{package}.{module}")
        names[module] = loaded
        if module != "errors":
            names |= {name: value for name, value in vars(loaded).items() if name[0] != "_"}
    names["DeviceSpec"] = getattr(names["device_spec"], "DeviceSpecV1", None) or names["DeviceSpec"]
    return names


def _merged(spec: Any, other: Any) -> str:
    spec.merge_from(other)
    return spec.to_string()


def result_of(expression: str, names: dict[str, Any]) -> str:
    """Return the result or error of an expression as one line of text."""
    try:
        return shown(eval(expression, names))
    except Exception as error:
        return f"{type(error).__name__}: {error}".replace("\n", " ")


def shown(value: Any) -> str:
    """Return a value as text; messages and arrays in a form that is the same in both libraries."""
    if isinstance(value, Message):
        return text_format.MessageToString(value, as_one_line=True)
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {value.tolist()!r}"
    return repr(value)


def disagreements(
    name: str,
    names: dict[str, Any],
    *,
    different: dict[str, str] | None = None,
    message_words: int | None = None,
) -> list[str]:
    """Return every expression of a file whose result is not the recorded one.

    Args:
        name: The file.
        names: The names that expressions may use.
        different: The wanted results of deliberate differences.
        message_words: How many words of an error's message must agree; None for all.
    """
    wanted = recorded(name) | (different or {})
    found = []
    for expression, theirs in wanted.items():
        ours = result_of(expression, names)
        if ours != theirs and _start(ours, message_words) != _start(theirs, message_words):
            found.append(f"{expression}\n  wanted {theirs}\n  found  {ours}")
    return found


def _start(result: str, words: int | None) -> str:
    """Return an error's type and first words; any other result unchanged."""
    parts = result.split()
    is_error = bool(parts) and parts[0].endswith("Error:")
    return " ".join(parts[: words + 1]) if is_error and words is not None else result


def tfnb_names() -> dict[str, Any]:
    """Return tfnb's objects for the names in expressions."""
    from tfnb.proto import tensor_pb2

    return namespace("tfnb.core", tensor_pb2)
