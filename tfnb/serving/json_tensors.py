"""Requests and answers of the REST interface: JSON to arrays and back."""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.serving.fast_json import json_of_arrays, parsed_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tfnb.client.model_function import ModelFunction
    from tfnb.client.model_tensor import ModelTensor

_BINARY = "_bytes"
_B64 = "b64"
_MAX_TOLD = 60
# Decimal digits with which each float32 can be told from the others. Six find numbers of fewer
# digits, too, which seven can miss: the float32 of 9.83868e-07 is 9.838679e-07 with seven.
_DIGITS_OF_FLOAT32 = (6, 7, 8, 9)
# Up to this number of values a loop is faster than operations on arrays.
_FEW = 32
# Powers of ten up to this one are exact as float64.
_MAX_EXACT_POWER = 22


@dataclass(frozen=True, slots=True)
class PredictCall:
    """A request for a prediction.

    Attributes:
        function: The signature's function.
        values: Key of an input -> its array.
        is_row: Whether the request, and so its answer, is a list of rows.
    """

    function: ModelFunction
    values: dict[str, Any]
    is_row: bool


def parsed_body(body: bytes) -> dict[str, Any]:
    """Return the object of a request's body.

    Raises:
        InvalidArgumentError: It is no JSON object.
    """
    try:
        found = parsed_json(body)
        if found is None:
            found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise errors.invalid_argument(f"JSON Parse error: {str(error)[:200]}") from None
    if not isinstance(found, dict):
        raise errors.invalid_argument(
            f"JSON Value: {_told(found)} is no object. A request is an object, for example "
            '{"instances": [...]}'
        )
    return found


def signature_name_of(body: Mapping[str, Any]) -> str:
    """Return the name of the signature in a request; empty for none.

    Raises:
        InvalidArgumentError: It is no text.
    """
    name = body.get("signature_name", "")
    if not isinstance(name, str):
        raise errors.invalid_argument(
            f"JSON Value: {_told(name)} not formatted correctly. 'signature_name' key must be a "
            "string value."
        )
    return name


def predict_call(body: bytes, find: Callable[[str], ModelFunction]) -> PredictCall:
    """Return the call of a predict request, in row form or in columnar form.

    Args:
        body: The request.
        find: Returns the function of a signature by its name.

    Raises:
        InvalidArgumentError: The request is not valid.
    """
    given = parsed_body(body)
    function = find(signature_name_of(given))
    has_rows, has_columns = "instances" in given, "inputs" in given
    if has_rows == has_columns:
        problem = "Not formatted correctly: 'instances' and 'inputs' exclude each other."
        if not has_rows:
            problem = "Missing 'inputs' or 'instances' key."
        raise errors.invalid_argument(f"{problem} {_example_of(function)}")
    if has_rows:
        return PredictCall(function, _of_rows(given["instances"], function), True)
    return PredictCall(function, _of_columns(given["inputs"], function), False)


def _example_of(function: ModelFunction) -> str:
    keys = ", ".join(f"{key}: {one}" for key, one in function.inputs.items()) or "none"
    named = ", ".join(f'"{key}": [...]' for key in function.inputs)
    form = "[...]" if len(function.inputs) == 1 else f"{{{named}}}"
    return f'For example: {{"inputs": {form}}}, for the inputs {keys}'


def _of_rows(rows: Any, function: ModelFunction) -> dict[str, Any]:
    if not isinstance(rows, list) or not rows:
        raise errors.invalid_argument("'instances' must be a list with at least one row.")
    if not isinstance(rows[0], dict) or _is_b64(rows[0]):
        return {_only_input(function): _array(rows, _only(function))}
    keys = rows[0].keys()
    for number, row in enumerate(rows):
        if not isinstance(row, dict) or row.keys() != keys:
            raise errors.invalid_argument(
                f"Instance {number} does not have the inputs of the first one: {', '.join(keys)}."
            )
    return {key: _array([row[key] for row in rows], _input(function, key)) for key in keys}


def _of_columns(columns: Any, function: ModelFunction) -> dict[str, Any]:
    if isinstance(columns, dict) and not _is_b64(columns):
        return {key: _array(value, _input(function, key)) for key, value in columns.items()}
    return {_only_input(function): _array(columns, _only(function))}


def _only_input(function: ModelFunction) -> str:
    if len(function.inputs) != 1:
        raise errors.invalid_argument(
            f"The model has {len(function.inputs)} inputs: give each by its name. "
            f"{_example_of(function)}"
        )
    return next(iter(function.inputs))


def _only(function: ModelFunction) -> ModelTensor:
    return function.inputs[_only_input(function)]


def _input(function: ModelFunction, key: str) -> ModelTensor:
    found = function.inputs.get(key)
    if found is None:
        raise errors.invalid_argument(
            f"JSON object: does not have named input: {key}. {_example_of(function)}"
        )
    return found


def _array(value: Any, one: ModelTensor) -> Any:
    """Return the array of nested lists.

    Raises:
        InvalidArgumentError: They are ragged, or of another type.
    """
    try:
        if one.dtype == dtypes.string:
            return _array_of_text(value, one)
        array = np.empty(1, object) if _is_mixed(value) else np.asarray(value)
        if array.dtype == object and all(type(item) in (int, float) for item in array.flat):
            array = array.astype(np.float64)  # integers beyond 64 bits
    except (ValueError, TypeError, OverflowError, RecursionError, binascii.Error) as error:
        raise errors.invalid_argument(
            f"The input {one.key!r} takes {one}, but got {_told(value)}: {error}"
        ) from None
    wanted = np.dtype(one.dtype.as_numpy_dtype)
    if array.size == 0:
        return array.astype(wanted)
    kinds = {"b": "b", "i": "iu", "u": "iu"}.get(wanted.kind, "iuf")
    if array.dtype.kind not in kinds or wanted.kind == "c":
        raise errors.invalid_argument(
            f"JSON Value: {_told(value)} is not of expected type: {one.dtype.name}, for the input "
            f"{one.key!r}"
        )
    return _converted(array, wanted, value, one)


def _is_mixed(value: Any) -> bool:
    """Return whether nested lists hold a text, or numbers and booleans.

    NumPy would give each number the size of the longest text, and make booleans numbers.
    """
    level = [value]
    while True:
        kinds = set(map(type, level))
        if str in kinds or (bool in kinds and len(kinds) > 1):
            return True
        if kinds != {list}:  # numbers, or lists that are ragged
            return False
        level = list(chain.from_iterable(level))


def _converted(array: Any, wanted: np.dtype[Any], value: Any, one: ModelTensor) -> Any:
    if wanted.kind in "iu":
        limits = np.iinfo(wanted)
        is_lost = int(array.min()) < limits.min or int(array.max()) > limits.max
    else:
        with np.errstate(over="ignore"):
            found = array.astype(wanted)
        if wanted.kind == "b" or np.isfinite(found).all():
            return found
        is_lost = bool(np.any(np.isinf(found) & ~np.isinf(array.astype(np.float64))))
        if not is_lost:
            return found
    if is_lost:
        raise errors.invalid_argument(
            f"Cannot convert JSON value: {_told(value)} to {one.dtype.name} without loss of "
            f"precision, for the input {one.key!r}"
        )
    return array.astype(wanted)


def _array_of_text(value: Any, one: ModelTensor) -> Any:
    shape: list[int] = []
    level = value
    while isinstance(level, list):
        shape.append(len(level))
        if not level:
            break
        level = level[0]
    flat: list[bytes] = []
    _collect_text(value, shape, 0, flat)
    array = np.empty(len(flat), object)
    array[:] = flat
    return array.reshape(shape)


def _collect_text(value: Any, shape: list[int], depth: int, found: list[bytes]) -> None:
    if depth < len(shape):
        if not isinstance(value, list) or len(value) != shape[depth]:
            raise ValueError("the lists differ in length or depth")
        for item in value:
            _collect_text(item, shape, depth + 1, found)
    elif isinstance(value, str):
        found.append(value.encode())
    elif _is_b64(value):
        found.append(decoded_b64(value))
    else:
        raise ValueError(f"{_told(value)} is no string")


def _is_b64(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {_B64} and isinstance(value[_B64], str)


def decoded_b64(value: Mapping[str, Any]) -> bytes:
    """Return the bytes of ``{"b64": "..."}``.

    Raises:
        ValueError: They are not base64.
    """
    text = value.get(_B64)
    if len(value) != 1 or not isinstance(text, str):
        raise ValueError(f'{_told(value)} is not of the form {{"b64": "..."}}')
    return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)


def predict_answer(call: PredictCall, outputs: Mapping[str, Any]) -> bytes:
    """Return the answer of a predict request.

    Raises:
        InvalidArgumentError: Rows are wanted, and the outputs differ in their numbers of rows.
        UnimplementedError: JSON has no such values.
    """
    if call.is_row:
        _check_rows(outputs)
    name = "predictions" if call.is_row else "outputs"
    written = json_of_arrays(name, outputs, is_row=call.is_row)
    if written is not None:
        return written
    listed = {
        key: listed_values(value, call.function.outputs[key]) for key, value in outputs.items()
    }
    answer: Any = listed
    if len(listed) == 1:
        answer = next(iter(listed.values()))
    elif call.is_row:
        answer = [dict(zip(listed, values)) for values in zip(*listed.values())]
    return json.dumps({name: answer}).encode()


def _check_rows(outputs: Mapping[str, Any]) -> None:
    shapes = {key: np.shape(value) for key, value in outputs.items()}
    if len({shape[:1] for shape in shapes.values()}) != 1 or () in shapes.values():
        told = ", ".join(f"{key} {shape}" for key, shape in shapes.items())
        raise errors.invalid_argument(
            f"The outputs have no rows in common: {told}. Ask for columns: 'inputs' instead of "
            "'instances'."
        )


def listed_values(value: Any, one: ModelTensor) -> Any:
    """Return the values of an output as lists for JSON.

    Text that is not UTF-8 is written as ``{"b64": ...}``, as is every output whose name ends with
    ``_bytes``.
    """
    array = np.asarray(value)
    if one.dtype == dtypes.string:
        return _listed_text(array, one.key.endswith(_BINARY))
    if array.dtype.kind in "biu":
        return array.tolist()
    if array.dtype.kind == "c" or one.dtype in (dtypes.variant, dtypes.resource):
        raise errors.unimplemented(
            f"The output {one.key!r} is {one.dtype.name}, which JSON lacks; leave it out of the "
            "signature, or use gRPC."
        )
    if array.dtype == np.float64:
        return array.tolist()
    return shortest(array)


def shortest(values: Any) -> Any:
    """Return values of float32 as lists of numbers that are written with the fewest digits.

    0.2 as float32 is 0.20000000298 as float64; the answer has 0.2, as TensorFlow Serving's.

    >>> shortest(np.float32([0.2, 1e-30]))
    [0.2, 1e-30]
    """
    array = np.asarray(values, np.float32)
    if array.size <= _FEW:
        found = np.array([float(str(item)) for item in array.flat])
        return found.reshape(array.shape).tolist()
    with np.errstate(all="ignore"):
        wide = array.astype(np.float64)
        exponent = np.floor(np.log10(np.abs(wide)))
    is_open = np.isfinite(exponent)
    # More digits must not be found where fewer could not be tried.
    is_tried = np.abs(_DIGITS_OF_FLOAT32[0] - 1 - exponent) <= _MAX_EXACT_POWER
    found = wide.copy()
    for digits in _DIGITS_OF_FLOAT32:
        if not is_open.any():
            break
        power = np.where(is_open, digits - 1 - exponent, 0.0)
        is_exact = is_open & is_tried & (np.abs(power) <= _MAX_EXACT_POWER)
        factor = 10.0 ** np.where(is_exact, np.abs(power), 0.0)
        rounded = np.where(
            power >= 0, np.rint(wide * factor) / factor, np.rint(wide / factor) * factor
        )
        fits = is_exact & (rounded.astype(np.float32) == array)
        found = np.where(fits, rounded, found)
        is_open &= ~fits
    if is_open.any():  # very small and very large numbers
        found[is_open] = [float(str(item)) for item in array[is_open]]
    return found.tolist()


def _listed_text(array: Any, is_binary: bool) -> Any:
    if isinstance(array, np.ndarray) and array.ndim:
        return [_listed_text(item, is_binary) for item in array]
    data = bytes(array[()] if isinstance(array, np.ndarray) else array)
    if not is_binary:
        try:
            return data.decode()
        except UnicodeDecodeError:
            pass
    return {_B64: base64.b64encode(data).decode()}


def _told(value: Any) -> str:
    """Return the beginning of a value as JSON."""
    try:
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        text = type(value).__name__
    return text if len(text) <= _MAX_TOLD else f"{text[:_MAX_TOLD]}…"
