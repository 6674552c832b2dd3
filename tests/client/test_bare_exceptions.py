"""Errors are TensorFlow's classes with a sentence; no internal exception of Python comes out."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from google.protobuf import text_format

import tfnb as tf
from tfnb.proto import config_pb2

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HALF = "\ud800"
ENCODE_IT = "encode the text yourself"


@pytest.fixture(autouse=True)
def session() -> Iterator[Any]:
    """A session on a fresh graph, which is the default graph."""
    with tf.Graph().as_default(), tf.Session() as found:
        yield found


def test_fetches_nested_too_deep_are_refused(session: Any) -> None:
    """Fetches nested too deep are refused by run, callables and partial runs."""
    fetches: Any = tf.constant(1.0)
    for _ in range(5_000):
        fetches = [fetches]
    for ask in (session.run, session.make_callable, session.partial_run_setup):
        with pytest.raises(ValueError, match=r"nested deeper than .* Fetch a flat list"):
            ask(fetches)
    own: list[Any] = []
    own.append(own)
    with pytest.raises(ValueError, match="hold themselves"):
        session.run(own)
    with pytest.raises(ValueError, match="hold themselves"):
        session.run({"a": own})


@pytest.mark.parametrize("count", [2**31, 2**40])
def test_a_node_has_no_more_outputs_than_memory(count: int) -> None:
    """A number of outputs beyond memory is refused with TensorFlow's message."""
    x = tf.placeholder(tf.float32)
    with pytest.raises(ValueError, match=f"Number of outputs is too big: {count}"):
        tf.split(x, count)
    with pytest.raises(ValueError, match=f"Number of outputs is too big: {count}"):
        tf.unstack(x, num=count)


def test_groups_nested_too_deep_are_no_pattern(session: Any) -> None:
    """A pattern nested too deep is refused when the graph is built, or when it is fed."""
    deep = "(" * 5_000 + "a" + ")" * 5_000
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError), match="nested deeper than"):
        session.run(tf.strings.regex_replace("a", deep, "b"))
    pattern = tf.placeholder(tf.string, [])
    with pytest.raises(tf.errors.InvalidArgumentError, match="nested deeper than"):
        session.run(tf.strings.regex_full_match(["a"], pattern), {pattern: deep})


@pytest.mark.parametrize(
    "value", [HALF, [HALF], np.array([HALF]), np.array([HALF], object), np.array(HALF, object)]
)
def test_half_of_a_character_is_neither_fed_nor_a_constant(session: Any, value: Any) -> None:
    """A lone surrogate is refused with TensorFlow's class and the remedy."""
    x = tf.placeholder(tf.string)
    with pytest.raises(UnicodeEncodeError, match=ENCODE_IT):
        session.run(tf.identity(x), {x: value})
    with pytest.raises(UnicodeEncodeError, match=ENCODE_IT):
        tf.constant(value)


def test_attributes_tell_bytes_that_are_no_text() -> None:
    """Attributes with invalid UTF-8 are refused, instead of protobuf's error."""
    one = tf.ones([1, 1, 1, 1])
    arguments = {"input": one, "filter": one, "strides": [1, 1, 1, 1]}
    with pytest.raises(ValueError, match=r"passed string '\\xff' not in"):
        tf.raw_ops.Conv2D(**arguments, padding=b"\xff")
    with pytest.raises(UnicodeEncodeError, match=ENCODE_IT):
        tf.raw_ops.Conv2D(**arguments, padding=HALF)
    with pytest.raises(UnicodeEncodeError, match=ENCODE_IT):
        tf.strings.as_string(1.0, fill=HALF)
    with pytest.raises(ValueError, match=r"'\\xff' is not a valid node name"):
        tf.constant(1.0, name=b"\xff")
    with pytest.raises(TypeError, match=r"The name of an operation is a str, not \['a'\]"):
        tf.constant(1.0, name=["a"])


def _shapes_for_types(node: Any) -> str:
    node.op = "Assert"
    node.input.extend(["c", "c"])
    node.attr["T"].list.shape.add()
    return r"had value with type 'list\(shape\)' when 'list\(type\)' expected"


def _numbers_for_types(node: Any) -> str:
    node.op = "Assert"
    node.input.extend(["c", "c"])
    node.attr["T"].list.i.append(3)
    return r"had value with type 'list\(int\)' when 'list\(type\)' expected"


def _too_few_types(node: Any) -> str:
    node.op = "_VarHandlesOp"
    node.attr["N"].i = 3
    for name in ("containers", "shared_names"):
        node.attr[name].list.s.append(b"x")
    node.attr["dtypes"].list.type.append(1)
    node.attr["shapes"].list.shape.add()
    return r"Mismatched number of dtypes \(n=3, num dtypes=1\)"


@pytest.mark.parametrize("fill", [_shapes_for_types, _numbers_for_types, _too_few_types])
def test_nodes_of_files_say_which_list_is_wrong(fill: Callable[[Any], str]) -> None:
    """The error names the kind or length of the list, as TensorFlow does."""
    graph_def = tf.GraphDef()
    graph_def.versions.producer = 1000
    told = fill(graph_def.node.add(name="n"))
    condition = graph_def.node.add(name="c", op="Placeholder")
    condition.attr["dtype"].type = tf.bool.as_datatype_enum
    with pytest.raises(ValueError, match=told):
        tf.import_graph_def(graph_def)


@pytest.mark.parametrize(
    ("kind", "told"), [(b"WEIRD", "partition info type: WEIRD"), (b"\xff", r"info type: \\xff")]
)
def test_unknown_row_partitions_are_named(session: Any, kind: bytes, told: str) -> None:
    """RaggedTensorToTensor names unknown row partitions."""
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError), match=told):
        session.run(
            tf.raw_ops.RaggedTensorToTensor(
                shape=[2, 2],
                values=[1, 2],
                default_value=0,
                row_partition_tensors=[tf.constant([1], tf.int64)],
                row_partition_types=[kind],
            )
        )


def _bytes(value: bytes) -> Callable[[Any], None]:
    def fill(collection: Any) -> None:
        collection.Clear()
        collection.bytes_list.value.append(value)

    return fill


def _nodes(name: str) -> Callable[[Any], None]:
    def fill(collection: Any) -> None:
        collection.Clear()
        collection.node_list.value.append(name)

    return fill


@pytest.mark.parametrize(
    ("key", "fill"),
    [
        ("variables", _bytes(b"\xff\xff\xff")),
        ("variables", _bytes(b"\x0a\x03zzz")),
        ("variables", _nodes("v:9")),
        ("mine", _nodes("nothing:0")),
        ("while_context", _bytes(b"\x0a\x01a")),
        ("cond_context", _bytes(b"\x0a\x01a\x12\x01b")),
        ("queue_runners", _bytes(b"\x0a\x01q")),
        ("savers", _bytes(b"\xff")),
    ],
)
def test_a_damaged_collection_is_named(key: str, fill: Callable[[Any], None]) -> None:
    """The error has the line that leaves the collection out; with it the graph is imported."""
    tf.Variable(1.0, name="v")
    meta_graph = tf.train.export_meta_graph()
    fill(meta_graph.collection_def[key])
    with tf.Graph().as_default(), pytest.raises(ValueError, match=f"Collection '{key}'") as caught:
        tf.train.import_meta_graph(meta_graph)
    # TensorFlow raises this for unknown names.
    assert isinstance(caught.value, KeyError)
    assert "\n" not in str(caught.value)
    exec(str(caught.value).rpartition(": ")[2], {"meta_graph_def": meta_graph})
    with tf.Graph().as_default() as graph:
        tf.train.import_meta_graph(meta_graph)
    assert graph.get_operation_by_name("v").type.startswith("Var")


# TensorFlow's answers (ICU) to names of Python's codecs.
@pytest.mark.parametrize(
    ("name", "is_known"),
    [
        *[(name, True) for name in ("utf8", "UTF-16BE", "latin1", "cp1252", "Shift_JIS", "hz")],
        *[(name, True) for name in ("ibm-037", "koi8_r", "tis-620", "macintosh", "utf-7")],
        *[(name, False) for name in ("rot13", "zlib", "base64", "hex", "idna", "punycode", "uu")],
        *[(name, False) for name in ("unicode_escape", "raw_unicode_escape", "bz2", "quopri")],
        *[(name, False) for name in ("utf-8-sig", "U8", "cp65001", "mbcs", "", "a\0b", "1252")],
    ],
)
def test_encodings_are_those_of_icu(session: Any, name: str, is_known: bool) -> None:
    """Codecs that only Python has are refused as encodings of text."""
    made = tf.strings.unicode_transcode(b"ab", name, "UTF-8")
    if is_known:
        assert isinstance(session.run(made), bytes)
        return
    with pytest.raises(tf.errors.InvalidArgumentError, match="Could not create converter"):
        session.run(made)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Could not create converter"):
        session.run(tf.strings.unicode_decode(b"ab", name))


class Exhausted:
    """A value that raises MemoryError when it is fed."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise MemoryError("no more")


def test_a_feed_without_memory_is_an_error_of_tensorflow(session: Any) -> None:
    """MemoryError in a feed becomes TensorFlow's error in run, callables and partial runs."""
    x = tf.placeholder(tf.float32, [], name="x")
    y = x + 1.0
    options = config_pb2.CallableOptions(feed=["x:0"], fetch=[y.name])
    handle = session.partial_run_setup([y], [x])
    for ask in (
        lambda: session.run(y, {x: Exhausted()}),
        lambda: session.make_callable(y, [x])(Exhausted()),
        lambda: session._make_callable_from_options(options)(Exhausted()),
        lambda: session.partial_run(handle, y, {x: Exhausted()}),
    ):
        with pytest.raises(tf.errors.ResourceExhaustedError, match="no more"):
            ask()
    assert session.run(y, {x: 1.0}) == 2.0


_LITTLE_MEMORY = """
import resource
import numpy as np
import tfnb as tf

COUNT = 300_000_000
x = tf.placeholder(tf.float32, name="x")
splat = tf.constant(1.0, shape=[COUNT])
view = np.broadcast_to(np.float32(1), (COUNT // 1000, 1000))
with tf.Session() as sess:
    sess.run(tf.constant(1.0) + 1.0)
    _, limit = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, limit))
    for fetch, feed in (
        (splat, None),
        (tf.reduce_sum(splat), None),
        (tf.transpose(x), view),
        (x, view),
        (tf.shape(x), np.broadcast_to(np.float64(1), (COUNT,))),
    ):
        try:
            sess.run(fetch, None if feed is None else {x: feed})
        except tf.errors.ResourceExhaustedError as error:
            print("OOM" in error.message)
    print(sess.run(x, {x: 1.0}))
"""


@pytest.mark.slow
def test_memory_that_runs_out_between_kernels_is_told() -> None:
    """MemoryError for constants, folded values, views and feeds becomes an error of the step."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(_LITTLE_MEMORY)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.stdout.split() == ["True"] * 5 + ["1.0"], done.stderr[-2000:]


def _imported(text: str) -> None:
    """Import a graph of one constant ``a`` and the nodes of a text."""
    constant = (
        "node {{ name: '{}' op: 'Const' attr {{ key: 'dtype' value {{ type: {} }} }} "
        "attr {{ key: 'value' value {{ tensor {{ dtype: {} tensor_shape {{ {} }} {} }} }} }} {} }}"
    )
    whole = constant.format("a", "DT_FLOAT", "DT_FLOAT", "", "float_val: 1", "")
    message = text_format.Parse(whole + text, tf.GraphDef())
    tf.import_graph_def(message, name="")


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ("f: 1", ValueError),
        ("s: 'loc:@a'", ValueError),
        ("list { i: 3 }", ValueError),
        ("list { type: DT_FLOAT }", ValueError),
        ("list { s: 'loc:@\\377' }", ValueError),
        ("list { s: 'loc:@a' }", None),
    ],
)
def test_groups_of_nodes_of_other_types_are_refused(
    value: str, error: type[Exception] | None
) -> None:
    """A group is a list of strings, whatever a file says."""
    text = (
        "node { name: 'b' op: 'Identity' input: 'a' attr { key: 'T' value { type: DT_FLOAT } } "
        f"attr {{ key: '_class' value {{ {value} }} }} }}"
    )
    with tf.Graph().as_default():
        if error is None:
            _imported(text)
        else:
            with pytest.raises(error, match=r"_class|colocated with unknown node"):
                _imported(text)


@pytest.mark.parametrize("value", ["list { i: 1 }", "i: 3", "tensor { dtype: DT_FLOAT }"])
def test_a_label_of_a_kernel_that_is_no_text_is_none(value: str) -> None:
    """TensorFlow ignores it, too."""
    text = (
        "node { name: 'b' op: 'Identity' input: 'a' attr { key: 'T' value { type: DT_FLOAT } } "
        f"attr {{ key: '_kernel' value {{ {value} }} }} }}"
    )
    with tf.Graph().as_default(), tf.Session() as session:
        _imported(text)
        assert session.run("b:0") == 1.0


def test_a_shape_function_that_gets_values_of_another_kind_refuses_the_node() -> None:
    """A number of splits along a vector, and a shape of floats."""
    with tf.Graph().as_default():
        text = (
            "node { name: 'axis' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } } "
            "attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 2 } } "
            "int_val: 0 int_val: 1 } } } } node { name: 'b' op: 'Split' input: 'axis' input: 'a' "
            "attr { key: 'T' value { type: DT_FLOAT } } attr { key: 'num_split' value { i: 1 } } }"
        )
        with pytest.raises(ValueError, match=r"{{node b}} = Split"):
            _imported(text)
    with tf.Graph().as_default(), pytest.raises(ValueError, match="StatefulUniformInt"):
        tf.raw_ops.StatefulUniformInt(
            resource=tf.raw_ops.VarHandleOp(dtype=tf.int64, shape=[3]),
            algorithm=np.int64(1), shape=[1.5], minval=0, maxval=3,
        )  # fmt: skip


def test_a_variable_whose_name_is_no_text_is_told_without_a_value(session: Any) -> None:
    """The explanation of an error raises no other one."""
    handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name=b"\xff")
    with pytest.raises(tf.errors.FailedPreconditionError):
        session.run(tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32))


def test_orders_and_messages_of_other_forms_are_refused_or_ignored(session: Any) -> None:
    """As by TensorFlow: no letter for an input, no message of metadata."""
    with pytest.raises(tf.errors.InvalidArgumentError, match="input_order must have one letter"):
        session.run(
            tf.raw_ops.RaggedCross(
                ragged_values=[["a"]], ragged_row_splits=[np.int64([0, 1])], sparse_indices=[],
                sparse_values=[], sparse_shape=[], dense_inputs=[], input_order="x",
                hashed_output=False, num_buckets=0, hash_key=1, out_values_type=tf.string,
                out_row_splits_type=tf.int64,
            )
        )  # fmt: skip
    summary = session.run(
        tf.raw_ops.TensorSummaryV2(tag="a", tensor=[1.0], serialized_summary_metadata=b"\xff\x00")
    )
    assert tf.Summary.FromString(summary).value[0].tag == "a"


@pytest.mark.parametrize("number", [999, -1, 0])
@pytest.mark.parametrize("side", ["input_arg", "output_arg"])
def test_functions_of_unknown_types_are_refused(side: str, number: int) -> None:
    """An enum of a file may have any number."""
    message = text_format.Parse(
        "library { function { signature { name: 'F' input_arg { name: 'x' type: DT_FLOAT } "
        "output_arg { name: 'y' type: DT_FLOAT } } ret { key: 'y' value: 'x' } } }",
        tf.GraphDef(),
    )
    getattr(message.library.function[0].signature, side)[0].type = number
    with tf.Graph().as_default(), pytest.raises(ValueError, match=r"unknown dtype enum|No type"):
        tf.import_graph_def(message, name="")


def test_a_merge_that_is_ready_too_early_is_refused() -> None:
    """The end of a loop that depends on nothing, merged with a node that comes later."""
    float_ = "attr { key: 'T' value { type: DT_FLOAT } }"
    text = (
        f"node {{ name: 'm' op: 'Merge' input: 'n' input: 'late' {float_} "
        "attr { key: 'N' value { i: 2 } } } "
        f"node {{ name: 'n' op: 'NextIteration' input: 'a' {float_} }} "
        f"node {{ name: 'late' op: 'Identity' input: 'a' {float_} }}"
    )
    with tf.Graph().as_default() as graph:
        with pytest.raises(ValueError, match="only that may close a loop"):
            _imported(text)
        assert graph.version == 0


@pytest.mark.parametrize("validate_shape", [True, False])
def test_a_variable_without_a_value_is_not_assigned(session: Any, validate_shape: bool) -> None:
    """In the first step and in later ones, which may run as an emitted function."""
    a, b = (tf.raw_ops.VariableV2(shape=[], dtype=tf.float32) for _ in range(2))
    set_b = tf.raw_ops.Assign(ref=b, value=3.0)
    assign = tf.raw_ops.Assign(ref=a, value=b, validate_shape=validate_shape)
    for _ in range(3):
        with pytest.raises(tf.errors.InternalError, match="Right hand side of AssignOp is not"):
            session.run(assign)
    session.run(set_b)
    assert session.run(assign) == 3.0
