"""Invalid graphs end with TensorFlow's error and do no harm.

The cases are in bad_input/; TensorFlow's answers are in golden/bad_input.json.
"""

from __future__ import annotations

import contextlib
import json
import resource
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tests.client.bad_input.all_cases import CASES
from tests.repeats import few

if TYPE_CHECKING:
    from collections.abc import Iterator

LIMIT_S = 60
GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "bad_input.json").read_text())

# Differences from TensorFlow's answer, and their reasons.
_MUST_FAIL = ("InvalidArgumentError", "ResourceExhaustedError")
DIFFERENT: dict[str, tuple[str, ...]] = {
    # TensorFlow returns uninitialized memory.
    "tensor_of_a_resource": _MUST_FAIL,
    # TensorFlow ends the process.
    "tensor_array_too_large": ("ResourceExhaustedError",),
    "tensor_array_write_out_of_range": ("ResourceExhaustedError",),
    "conv_of_rank_3": ("InvalidArgumentError",),
    "parallel_iterations_negative": ("InvalidArgumentError",),
    "function_that_calls_itself": ("InvalidArgumentError",),
    "functions_that_call_each_other": ("InvalidArgumentError",),
    # TensorFlow looks for the file: a loaded graph may not even learn whether it exists.
    "restore_from_nowhere": ("PermissionDeniedError",),
    # TensorFlow cannot decode the text of its own error.
    "example_that_is_none": ("InvalidArgumentError",),
    # TensorFlow does not end.
    "function_bomb": ("DeadlineExceededError",),
    "feed_without_strides": ("value",),
    # The size is refused here before it overflows, with either class.
    "fill_overflows": _MUST_FAIL,
    "tile_overflows": _MUST_FAIL,
    # TensorFlow runs these by accident; here the mistake is an error.
    "next_iteration_without_enter": ("InvalidArgumentError",),
    "no_parallel_iterations": ("InvalidArgumentError",),
}


@pytest.fixture
def sess() -> Iterator[tf.Session]:
    """A session that has already run a step."""
    with tf.Graph().as_default(), tf.Session() as sess:
        sess.run(tf.constant(7.0, name="good"))
        yield sess


def answer(sess: tf.Session, name: str) -> tuple[str, str]:
    """Return the class and text of a case's error, or "value" and the result."""
    try:
        return "value", repr(CASES[name].do(tf, sess))
    except Exception as error:
        return type(error).__name__, f"{error}"


class WithoutEndError(BaseException):
    """Not an Exception, so that no handler for exceptions stops it."""


@contextlib.contextmanager
def limited() -> Iterator[None]:
    """Fail instead of running forever: an unbounded case takes hours, all others take moments.

    The limit is in processor time, which other processes do not use up. A case that waits without
    end is ended by pytest's own limit.
    """

    def late(*_: Any) -> None:
        raise WithoutEndError(f"more than {LIMIT_S} s of processor time")

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def peak_memory_bytes() -> int:
    """The most memory this process has had so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def test_every_case_was_put_to_tensorflow() -> None:
    """A new case needs an answer stored by scripts/oracle/bad_input.py."""
    assert sorted(CASES) == sorted(GOLDEN)
    assert sorted(set(DIFFERENT) - set(CASES)) == []


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_answered_as_by_tensorflow(sess: tf.Session, name: str) -> None:
    """The class and node are TensorFlow's, time and memory bounded; the session stays usable."""
    operations = sess.graph.get_operations()
    before_bytes = peak_memory_bytes()
    with limited():
        kind, text = answer(sess, name)
    assert peak_memory_bytes() - before_bytes < 200e6
    if "Op type not registered" in text:
        kind = GOLDEN[name][0]  # as good an answer, from a runtime without that op
    assert kind in DIFFERENT.get(name, (GOLDEN[name][0],)), text
    if kind != "value":
        assert CASES[name].node in text
    assert sess.graph.get_operations()[: len(operations)] == operations
    assert sess.run("good:0") == 7.0
    # A node that cannot be placed stays in the graph, and a new signature places the whole graph.
    if "Cannot assign a device" not in text and "No OpKernel" not in text:
        assert sess.run(tf.add(sess.graph.get_tensor_by_name("good:0"), 1.0)) == 8.0


IMPORTS = [
    name
    for name, (kind, _) in GOLDEN.items()
    if kind in ("ValueError", "TypeError") and not name.startswith(("feed_", "fetch_"))
]


@pytest.mark.parametrize("name", IMPORTS)
def test_a_refused_graph_leaves_nothing_behind(sess: tf.Session, name: str) -> None:
    """Import is all or nothing: no node, function or version of a refused graph stays."""
    graph = sess.graph
    before = graph.as_graph_def().SerializeToString(deterministic=True)
    kind, text = answer(sess, name)
    assert kind in ("ValueError", "TypeError"), text
    assert graph.as_graph_def().SerializeToString(deterministic=True) == before


def test_an_error_names_the_line_of_the_import(sess: tf.Session) -> None:
    """The error of an imported node names the line of the import."""
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"bad_input/writing.py:\d+"):
        CASES["gather_out_of_range"].do(tf, sess)


def test_the_pieces_of_a_file_that_is_something_else_are_named() -> None:
    """The error recognizes a SavedModel, a checkpoint and a git-LFS pointer; each is refused."""
    for content in (b"version https://git-lfs.github.com/spec/v1\n", b"\x80\x81\x82" * 9):
        with pytest.raises(Exception, match=r"[Pp]ars") as caught:
            tf.GraphDef.FromString(content)
        assert type(caught.value).__name__ == "DecodeError"


def test_attributes_nested_without_end_are_refused() -> None:
    """The parser limits nesting, here of three thousand functions."""
    message = b""
    for _ in range(3000):
        # AttrValue.func { attr { key: "a" value: <message> } }
        entry = b"\n\x01a" + _field(2, message)
        message = _field(10, _field(2, entry))
    node = _field(1, b"n") + _field(2, b"NoOp") + _field(5, b"\n\x01a" + _field(2, message))
    with pytest.raises(Exception, match=r"[Pp]ars|[Rr]ecursion"):
        tf.GraphDef.FromString(_field(1, node))


def _field(number: int, content: bytes) -> bytes:
    """A field of bytes as it stands in a message."""
    size, length = len(content), b""
    while size > 127:
        length += bytes([size & 127 | 128])
        size >>= 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + content


def chain(length: int, *, backwards: bool = False, waits: bool = False) -> tf.GraphDef:
    """A placeholder and as many Identity nodes, one after the other."""
    message = tf.GraphDef()
    message.node.add(name="n0", op="Placeholder").attr["dtype"].type = tf.float32.as_datatype_enum
    for number in range(1, length):
        node = message.node.add(name=f"n{number}", op="Identity", input=[f"n{number - 1}"])
        if waits and number > 1:
            node.input.append(f"^n{number - 2}")
        node.attr["T"].type = tf.float32.as_datatype_enum
    if backwards:
        turned = tf.GraphDef()
        turned.node.extend(reversed(message.node))
        return turned
    return message


@pytest.mark.slow
@pytest.mark.parametrize("order", ["forwards", "backwards", "waits"])
@pytest.mark.parametrize("length", few((8_000, 40_000), 1))
def test_a_chain_of_very_many_nodes_runs(sess: tf.Session, order: str, length: int) -> None:
    """Import, placement, optimization and execution are not recursive."""
    tf.import_graph_def(
        chain(length, backwards=order == "backwards", waits=order == "waits"), name=""
    )
    assert sess.run(f"n{length - 1}:0", {"n0:0": 3.0}) == 3.0


@pytest.mark.slow
@pytest.mark.parametrize("length", few((8_000, 40_000), 1))
def test_a_chain_of_very_many_constants_runs(sess: tf.Session, length: int) -> None:
    """Constant folding is not recursive either."""
    message = chain(length)
    node = message.node[0]
    node.op = "Const"
    node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(np.float32(3)))
    tf.import_graph_def(message, name="")
    assert sess.run(f"n{length - 1}:0") == 3.0


def test_a_feed_without_strides_costs_what_is_used_of_it(sess: tf.Session) -> None:
    """A broadcast feed of four gigabytes is not copied to four gigabytes."""
    p = tf.placeholder(tf.float32)
    value: Any = np.lib.stride_tricks.as_strided(np.ones(1, np.float32), (32768, 32768), (0, 0))
    before = peak_memory_bytes()
    assert sess.run(p[5, :3], {p: value}).tolist() == [1.0, 1.0, 1.0]
    assert sess.run(tf.identity(p)[0, 0], {p: value}) == 1.0
    assert sess.run(tf.reshape(p[:2], [-1])[7], {p: value}) == 1.0
    assert peak_memory_bytes() - before < 200e6


def test_a_constant_too_large_to_read_is_not_read_for_its_shape(sess: tf.Session) -> None:
    """A consumer has an unknown shape; the run that needs the constant raises the error."""
    message = tf.GraphDef()
    node = message.node.add(name="sizes", op="Const")
    node.attr["dtype"].type = tf.int32.as_datatype_enum
    tensor = node.attr["value"].tensor
    tensor.dtype = tf.int32.as_datatype_enum
    tensor.tensor_shape.dim.add(size=2 * 10**12)
    tensor.int_val.append(1)
    node = message.node.add(name="filled", op="Fill", input=["sizes", "good"])
    node.attr["T"].type = tf.float32.as_datatype_enum
    good = sess.graph.get_tensor_by_name("good:0")
    before = peak_memory_bytes()
    tf.import_graph_def(message, input_map={"good:0": good}, name="")
    assert sess.graph.get_tensor_by_name("filled:0").shape.ndims is None
    assert sess.run(good) == 7.0
    with pytest.raises(tf.errors.InvalidArgumentError, match="asks for 8000000000000 bytes"):
        sess.run("filled:0")
    assert peak_memory_bytes() - before < 200e6
    assert sess.run(good) == 7.0
