"""Runs generated CUDA source with NumPy: statement by statement, each function by its name.

The interpreter reads the text that a GPU's compiler would get, so a wrong type, variable or number
in it gives a wrong result here.
"""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes  # noqa: F401 - NumPy learns bfloat16
import numpy as np

from tfnb.common_runtime.lowering.support.cuda_functions import C_TYPES

_DTYPES = {c_type: np.dtype(name) for name, c_type in C_TYPES.items()}
_STATEMENT = re.compile(r"const ([\w ]+) (v\d+) = tfnb::(\w+?)(?:<([\w ]+)>)?\((.*)\);")
_NUMBER = re.compile(r"\(?([a-z][\w ]*)\)?\((.*)\)")


def interpret(operation: str, inputs: dict[str, Any]) -> Any:
    """Return the value of ``out`` for these values of the parameters."""
    values = dict(inputs)
    *statements, last = operation.split("\n")
    for line in statements:
        found = _STATEMENT.fullmatch(line)
        assert found, line
        c_type, variable, function, target, args = found.groups()
        value = _call(function, target, [_value(one, values) for one in args.split(", ")])
        assert value.dtype == _DTYPES[c_type], line
        values[variable] = value
    result = re.fullmatch(r"out = (\w+);", last)
    assert result, last
    return values[result[1]]


def _call(function: str, target: str | None, args: list[Any]) -> Any:
    if function.startswith("cast"):
        (value,) = args
        dtype = _DTYPES[target]
        return np.asarray(value != 0) if dtype.kind == "b" else np.asarray(value).astype(dtype)
    assert target is None
    name = function if hasattr(np, function) else function.rpartition("_")[0]
    return np.asarray(getattr(np, name)(*args))


def _value(text: str, values: dict[str, Any]) -> Any:
    if text in values:
        return values[text]
    if text in ("true", "false"):
        return np.bool_(text == "true")
    c_type, number = _NUMBER.fullmatch(text).groups()
    dtype = _DTYPES[c_type]
    if dtype.kind in "iu":
        return dtype.type(sum(int(one.rstrip("UL")) for one in number.replace(" - ", " -").split()))
    special = {"0.0/0.0": np.nan, "1.0/0.0": np.inf, "-1.0/0.0": -np.inf}
    number = number.replace("f", "")
    return dtype.type(special[number] if number in special else float(number))
