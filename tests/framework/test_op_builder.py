"""Calling an op: parameters, dtypes from inputs, conversions, attributes, errors, results."""

from __future__ import annotations

import pytest

import tfnb as tf
from tfnb.core import op_registry


def op(name: str) -> op_registry.OpDefinition:
    """The op of that name, which is its own builder."""
    return op_registry.get(name)


# -- results ---------------------------------------------------------------------------------------


def test_an_op_without_outputs_gives_the_operation() -> None:
    """The operation is returned."""
    assert isinstance(op("NoOp")(), tf.Operation)


def test_one_output_is_a_tensor_and_a_list_a_list() -> None:
    """Unpack gives the requested number of tensors; an empty list gives the operation."""
    x = tf.constant([[1.0], [2.0]])
    assert isinstance(op("Neg")(x), tf.Tensor)
    assert [t.shape.as_list() for t in op("Unpack")(x, 2)] == [[1], [1]]
    empty = tf.constant([], tf.float32)
    assert isinstance(op("Unpack")(empty, 0), tf.Operation)


def test_several_outputs_have_names() -> None:
    """The tuple's fields are the op's outputs; lists stay lists in it."""
    found = op("BroadcastGradientArgs")([2, 1], [1, 3])
    assert found.r0 is found[0]
    assert found._fields == ("r0", "r1")
    assert type(found).__name__ == "BroadcastGradientArgs"


def test_the_node_is_named_like_the_op_or_as_asked() -> None:
    """An empty name is not used."""
    x = tf.constant(1.0)
    assert op("Neg")(x).op.name == "Neg"
    assert op("Neg")(x, name="").op.name == "Neg_1"
    assert op("Neg")(x, name="minus").op.name == "minus"


# -- parameters ------------------------------------------------------------------------------------


def test_inputs_and_attributes_are_positional_or_named() -> None:
    """The order is: inputs, attributes without default, attributes with default."""
    x = tf.constant([[1.0]])
    assert op("MatMul")(x, x, True).op.get_attr("transpose_a") is True
    assert op("MatMul")(b=x, a=x, transpose_b=True).op.get_attr("transpose_b") is True
    assert op("Cast")(x, tf.int32).dtype == tf.int32


def test_none_stands_for_the_default() -> None:
    """None is accepted for every argument, as in TensorFlow."""
    x = tf.constant([[1.0]])
    assert op("MatMul")(x, x, transpose_a=None).op.get_attr("transpose_a") is False


@pytest.mark.parametrize(
    ("args", "kwargs", "text"),
    [
        (("x",), {}, "No argument for input b found in MatMul"),
        (("x", "x", 1, 2, 3, 4, 5, 6), {}, "MatMul takes at most 7 arguments"),
        (("x", "x"), {"transpose_c": True}, "MatMul got unexpected keyword arguments: transpose_c"),
        (("x", "x"), {"a": "x"}, "MatMul got multiple values for argument 'a'"),
        (
            ("x", "x"),
            {"T": tf.float32},
            "Should not specify value for inferred attr 'T' for MatMul",
        ),
        (("x", "x"), {"transpose_a": 3}, "Expected bool for argument 'transpose_a' not 3"),
    ],
)
def test_wrong_parameters_are_named(
    args: tuple[object, ...], kwargs: dict[str, object], text: str
) -> None:
    """Missing, extra, unknown, repeated and inferred parameters, and wrong types, are covered."""
    x = tf.constant([[1.0]])
    given = [x if one == "x" else one for one in args]
    named = {key: x if value == "x" else value for key, value in kwargs.items()}
    with pytest.raises(TypeError, match=text):
        op("MatMul")(*given, **named)


def test_an_attribute_without_default_must_be_given() -> None:
    """Cast requires its destination type."""
    with pytest.raises(TypeError, match="No argument found for attr DstT for Cast"):
        op("Cast")(tf.constant(1.0))


# -- dtypes and conversions ------------------------------------------------------------------------


def test_a_value_takes_the_dtype_of_the_tensor_before_it(graph: tf.Graph) -> None:
    """The constant is named after the input, in the scope of the op."""
    y = op("AddV2")(tf.constant(1.5, name="x"), 2, name="sum")
    assert y.dtype == tf.float32
    assert [o.name for o in graph.get_operations()] == ["x", "sum/y", "sum"]


def test_elements_of_a_list_take_the_dtype_of_its_first_tensor() -> None:
    """The elements have numbered names."""
    y = op("Pack")([1, tf.constant(2.5), 3], axis=0)
    assert y.dtype == tf.float32
    assert [t.op.name for t in y.op.inputs] == ["Pack/values_0", "Const", "Pack/values_2"]


def test_a_default_dtype_is_used_where_the_value_has_no_allowed_one() -> None:
    """An empty list is float32, which is not an index type, so the default int32 is used."""
    assert op("BroadcastGradientArgs")([], []).r0.dtype == tf.int32
    assert op("BroadcastGradientArgs")(tf.constant([2], tf.int64), [1]).r0.dtype == tf.int64


@pytest.mark.parametrize(
    ("name", "args", "kwargs", "error", "text"),
    [
        (
            "MatMul",
            ("f", "i"),
            {},
            TypeError,
            "Input 'b' of 'MatMul' Op has type int32 that does not match type "
            "float32 of argument 'a'.",
        ),
        (
            "AddV2",
            (1, "f"),
            {},
            TypeError,
            "Input 'y' of 'AddV2' Op has type float32 that does not match type "
            "int32 of argument 'x'.",
        ),
        (
            "MatMul",
            ("s", "s"),
            {},
            TypeError,
            "Value passed to parameter 'a' has DataType string not in list of "
            "allowed values: bfloat16",
        ),
        (
            "Pack",
            (["f", "i"],),
            {"axis": 0},
            TypeError,
            "Tensors in list passed to 'values' of 'Pack' Op have types [float32, "
            "int32] that don't all",
        ),
        (
            "Pack",
            ([],),
            {"axis": 0},
            ValueError,
            "List argument 'values' to 'Pack' Op with length 0 shorter than minimum length 1.",
        ),
        (
            "Pack",
            ("f",),
            {},
            TypeError,
            "Expected list for 'values' argument to 'Pack' Op, not Tensor(",
        ),
        ("Pack", (["f"],), {"axis": "x"}, TypeError, "Expected int for argument 'axis' not 'x'."),
        ("Cast", ("f", "foo"), {}, TypeError, "Expected DataType for argument 'DstT' not 'foo'."),
        (
            "AddV2",
            ([1, 2], [1.5, 2]),
            {},
            TypeError,
            "Expected int32 passed to parameter 'y' of op 'AddV2', got [1.5, 2] of "
            "type 'list' instead.",
        ),
        (
            "Fill",
            ([2], None),
            {},
            ValueError,
            "Tried to convert 'value' to a tensor and failed. Error: None values not supported.",
        ),
        (
            "IdentityN",
            ([],),
            {},
            ValueError,
            "Attr 'T' of 'IdentityN' Op passed list of length 0 less than minimum 1.",
        ),
        (
            "Unpack",
            ("f", -1),
            {},
            ValueError,
            "Attr 'num' of 'Unpack' Op passed -1 less than minimum 0.",
        ),
        (
            "Shape",
            ("f",),
            {"out_type": tf.float32},
            TypeError,
            "Value passed to parameter 'out_type' has DataType float32 not in list "
            "of allowed values:",
        ),
        (
            "Squeeze",
            ("f",),
            {"axis": 3, "squeeze_dims": 3},
            TypeError,
            "Squeeze got unexpected keyword arguments: axis.",
        ),
        (
            "Squeeze",
            ("f",),
            {"squeeze_dims": 3},
            TypeError,
            "Expected list for attr squeeze_dims, obtained int instead.",
        ),
        (
            "Placeholder",
            (tf.float32,),
            {"shape": "x"},
            TypeError,
            "Error converting 'x' (arg name = shape) to a TensorShape:",
        ),
    ],
)
def test_values_that_do_not_fit_are_explained(
    name: str,
    args: tuple[object, ...],
    kwargs: dict[str, object],
    error: type[Exception],
    text: str,
) -> None:
    """The message is TensorFlow's: which input of which op, its type and the expected type."""
    known = {"f": tf.constant([[1.0]]), "i": tf.constant([[1]]), "s": tf.constant("s")}

    def value(one: object) -> object:
        if isinstance(one, list):
            return [value(element) for element in one]
        return known.get(one, one) if isinstance(one, str) else one

    with pytest.raises(error) as caught:
        op(name)(*[value(one) for one in args], **kwargs)
    assert text in str(caught.value)


def test_strings_are_compared_with_the_allowed_ones() -> None:
    """The message lists the known words."""
    image = tf.zeros([1, 2, 2, 1])
    with pytest.raises(ValueError, match='passed string \'X\' not in: "NHWC", "NCHW"'):
        op("DepthToSpace")(image, 2, data_format="X")


def test_shapes_that_do_not_fit_name_the_node_and_the_shapes(graph: tf.Graph) -> None:
    """The node is not added."""
    a = tf.placeholder(tf.float32, [2, 3], name="a")
    with pytest.raises(
        ValueError, match="Dimensions must be equal, but are 3 and 2 for "
    ) as caught:
        op("MatMul")(a, a, name="m")
    assert "'{{node m}} = MatMul[" in str(caught.value)
    assert str(caught.value).endswith("(a, a)' with input shapes: [2,3], [2,3].")
    assert [o.name for o in graph.get_operations()] == ["a"]


def test_a_shape_error_shows_the_constants_it_looked_at() -> None:
    """The error of an impossible reshape shows the requested shape."""
    a = tf.placeholder(tf.float32, [2, 3])
    with pytest.raises(ValueError, match=r"input\[1\]"):
        op("Reshape")(a, [7])


def test_an_op_that_was_removed_cannot_be_built() -> None:
    """The message says since when, and what to use."""
    with pytest.raises(
        NotImplementedError, match="PlaceholderV2 is not available in GraphDef version"
    ):
        op("PlaceholderV2")(tf.float32, [1])


def test_equal_calls_share_what_was_worked_out() -> None:
    """A second node with the same dtypes still has its own attributes."""
    x = tf.constant([[1.0]])
    first, second = op("MatMul")(x, x), op("MatMul")(x, x)
    first.op._set_attr("transpose_a", True)
    assert second.op.get_attr("transpose_a") is False
