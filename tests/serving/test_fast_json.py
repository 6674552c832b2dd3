"""JSON is read and written alike with and without orjson."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tests.traced_memory import traced_memory
from tfnb.client.model_function import ModelFunction
from tfnb.client.model_tensor import ModelTensor
from tfnb.core import errors
from tfnb.core.tensor_shape import TensorShape
from tfnb.serving import fast_json
from tfnb.serving.json_tensors import PredictCall, parsed_body, predict_answer, predict_call

if TYPE_CHECKING:
    from collections.abc import Iterator

pytest.importorskip("orjson")


@pytest.fixture
def without_orjson(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let orjson be missing."""
    monkeypatch.setitem(sys.modules, "orjson", None)
    fast_json._orjson.cache_clear()
    yield
    fast_json._orjson.cache_clear()


def call_of(*dtypes: Any, is_row: bool = False) -> PredictCall:
    """Return the call of a function whose inputs and outputs have these types."""
    sides = [
        {
            f"{name}{i}": ModelTensor(f"{name}{i}", f"{name}{i}:0", dtype, TensorShape(None))
            for i, dtype in enumerate(dtypes)
        }
        for name in "xy"
    ]
    return PredictCall(ModelFunction("f", "", *sides, lambda _: list), {}, is_row)


RANDOM = np.random.default_rng(1)
# Numbers of six digits, which seven digits write otherwise.
SIX_DIGITS = np.float32([9.83868e-07, -0.000999376, -9692280000000.0, -9.38504e-10] * 20)
FLOATS = RANDOM.integers(0, 2**32, 3000, dtype=np.uint32).view(np.float32)
ANSWERS = {
    "float32": [FLOATS[np.isfinite(FLOATS)]],
    "float32 of six digits": [SIX_DIGITS],
    "float32 with NaN": [FLOATS[:2000]],
    "infinity": [np.float32([[1.5, np.inf]])],
    "float64": [np.array([0.1, -0.0, 1e300, 5e-324])],
    "not finite": [np.array([np.nan, -np.inf])],
    "float16": [np.float16([[0.1], [2.5]])],
    "bfloat16": [np.array([0.1, 3.0], tf.bfloat16.as_numpy_dtype)],
    "int64": [np.array([-(2**63), 2**63 - 1])],
    "longlong": [np.array([1, -2], np.longlong)],
    "uint64": [np.array([0, 2**64 - 1], np.uint64)],
    "int8": [np.array([[[-128]], [[127]]], np.int8)],
    "bool": [np.array([[True], [False]])],
    "text": [np.array([b"a", b"\xff"], object)],
    "empty": [np.zeros((0, 3), np.float32)],
    "rows without values": [np.zeros((2, 0), np.float32)],
    "columns of a matrix": [np.arange(12.0, dtype=np.float32).reshape(3, 4).T],
    "every second row": [np.arange(12.0).reshape(6, 2)[::2]],
    "two outputs": [np.float32([[0.1, 2], [3, 4e-20]]), np.array([7, 8])],
    "two outputs of longlong": [np.array([1, -2], np.longlong)] * 2,
    "numbers and text": [np.float32([0.1, 2]), np.array([b"a", b"b"], object)],
}


@pytest.mark.parametrize("is_row", [False, True])
@pytest.mark.parametrize("values", ANSWERS.values(), ids=ANSWERS)
def test_answers_have_the_same_values(
    values: list[Any], is_row: bool, request: pytest.FixtureRequest
) -> None:
    """To the last digit, and where JSON has no such number."""
    types = [tf.string if one.dtype == object else tf.as_dtype(one.dtype) for one in values]
    call = call_of(*types, is_row=is_row)
    outputs = {f"y{i}": one for i, one in enumerate(values)}
    with_orjson = predict_answer(call, outputs)
    request.getfixturevalue("without_orjson")
    plain = predict_answer(call, outputs)
    assert repr(json.loads(with_orjson)) == repr(json.loads(plain))


def test_a_scalar_is_an_answer_of_columns() -> None:
    """It has no rows."""
    answer = predict_answer(call_of(tf.float32), {"y0": np.float32(0.1)})
    assert json.loads(answer) == {"outputs": 0.1}


def test_large_answers_are_written_by_orjson() -> None:
    """It writes no spaces."""
    assert predict_answer(call_of(tf.int32), {"y0": np.int32([1, 2])}) == b'{"outputs":[1,2]}'


REQUESTS = [
    b'{"inputs": [0.1, 2, 1e22, -0, 1E-5, 123456789.123456789]}',
    b'{"inputs": [NaN, Infinity, -Infinity, 1e400]}',
    b'{"inputs": [123456789012345678901234567890, -9223372036854775809, 18446744073709551616]}',
    b'{"inputs": [1' + b"0" * 400 + b"]}",
    b'{"inputs": [[[]]]}',
    b'{"inputs": [1], "inputs": [2]}',
    '{"inputs": [1.5], "signature_name": "é"}'.encode("utf-16"),
    b'{"inputs": [true]}',
    b'{"inputs": ["1"]}',
    b'{"inputs": [1, "1"]}',
    b'{"inputs": [[1], [2, 3]]}',
    b'{"inputs": null}',
    b'{"inputs": [1,]}',
    b'{"inputs": [01]}',
    b"null",
    b"[1]",
    b"",
    b"{",
    b"\xff\xfe",
    b"[" * 5000,
]


@pytest.mark.parametrize("dtype", [tf.float32, tf.int32, tf.uint64, tf.string])
@pytest.mark.parametrize("body", REQUESTS, ids=[str(one[:40]) for one in REQUESTS])
def test_requests_have_the_same_values_or_errors(
    body: bytes, dtype: Any, request: pytest.FixtureRequest
) -> None:
    """What orjson does not read is read again, so that the error is the same."""
    function = call_of(dtype).function

    def outcome() -> str:
        try:
            array = predict_call(body, lambda _: function).values["x0"]
        except tf.errors.InvalidArgumentError as error:
            # Errors quote what was read, where integers beyond 64 bits are floats.
            return "refused" if b"1234567890123456789" in body else error.message
        return f"{array.dtype} {array.tolist()}"

    with_orjson = outcome()
    request.getfixturevalue("without_orjson")
    assert with_orjson == outcome()


def test_integers_beyond_64_bits_are_floats() -> None:
    """For an input that takes floats."""
    call = predict_call(
        b'{"inputs": [1' + b"0" * 30 + b"]}", lambda _: call_of(tf.float64).function
    )
    assert call.values["x0"].tolist() == [1e30]


def test_json_is_read_without_orjson(without_orjson: None) -> None:
    """It only makes it faster."""
    assert parsed_body(b'{"inputs": [1]}') == {"inputs": [1]}


def test_a_text_among_numbers_takes_no_memory_for_each() -> None:
    """NumPy's array of both would have the longest text's size for each number."""
    rows: list[Any] = [[1.0]] * 20_000 + [["a" * 20_000]]
    body = json.dumps({"inputs": rows}).encode()
    call = call_of(tf.float32)
    with (
        traced_memory() as memory,
        pytest.raises(errors.InvalidArgumentError, match="not of expected type"),
    ):
        predict_call(body, lambda name: call.function)
    assert memory.peak < 2**25
