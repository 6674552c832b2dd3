"""Signatures and attributes are read as TensorFlow writes them."""

from __future__ import annotations

import pytest

from tfnb.core import dtypes
from tfnb.core.op_def import MISSING, parse_op_def


def test_a_signature_gives_arguments_and_the_attributes_they_infer():
    """Lists, references, fixed types and type lists are told apart."""
    op = parse_op_def(
        "X",
        "a: Ref(T), *values: N * T, n: int32, args: Tin -> out: T, outs: Tout",
        ("T: {realnumbertype, qint8}", "N: int >= 2", "Tin: list(type)", "Tout: list(type) >= 0"),
    )
    assert [(a.name, a.is_ref, a.is_list) for a in op.inputs] == [
        ("a", True, False),
        ("values", False, True),
        ("n", False, False),
        ("args", False, True),
    ]
    assert op.inferred_attrs == {"T", "N", "Tin"}
    attrs = {"T": dtypes.float32, "N": 2, "Tin": [dtypes.string], "Tout": [dtypes.bool]}
    assert op.input_types(attrs) == [
        dtypes.float32_ref,
        dtypes.float32,
        dtypes.float32,
        dtypes.int32,
        dtypes.string,
    ]
    assert op.output_types(attrs) == [dtypes.float32, dtypes.bool]
    assert op.input_ranges(attrs)["args"] == range(4, 5)


@pytest.mark.parametrize(
    ("spec", "kind", "default", "minimum"),
    [
        ("n: int >= -1 = 7", "int", 7, -1),
        ("f: float = 0.5", "float", 0.5, None),
        ("b: bool = false", "bool", False, None),
        ("s: string = 'a b'", "string", b"a b", None),
        ('s: string = ""', "string", b"", None),
        ("t: type = DT_FLOAT", "type", dtypes.float32, None),
        ("l: list(int) = [1, 2]", "list(int)", [1, 2], None),
        ("l: list(shape) >= 0 = []", "list(shape)", [], 0),
        ("f: func", "func", MISSING, None),
    ],
)
def test_an_attribute_has_kind_default_and_minimum(spec, kind, default, minimum):
    """Each kind of attribute reads its own kind of default."""
    (attr,) = parse_op_def("X", "->", (spec,)).attrs
    assert (attr.type, attr.default, attr.minimum) == (kind, default, minimum)


def test_allowed_values_are_types_or_strings():
    """Braces hold words of types, or quoted strings."""
    op = parse_op_def("X", "->", ("T: {half, float}", "p: {'SAME', 'VALID'} = 'SAME'"))
    assert op.attrs[0].allowed == (dtypes.float16, dtypes.float32)
    assert (op.attrs[1].type, op.attrs[1].allowed) == ("string", (b"SAME", b"VALID"))


def test_a_default_shape_may_have_no_rank_or_sizes():
    """Both ways of writing a shape are read."""
    op = parse_op_def(
        "X", "->", ("s: shape = { unknown_rank: true }", "t: shape = {dim {size: 3}}")
    )
    assert op.attrs[0].default.dim_values is None
    assert op.attrs[1].default.dim_values == (3,)


@pytest.mark.parametrize(
    ("signature", "specs", "message"),
    [
        ("a: T", (), "no '->'"),
        ("a: float32x ->", (), "unknown type"),
        ("a b ->", (), "cannot read the argument"),
        ("->", ("what",), "cannot read the attribute"),
        ("->", ("T: {nothing}",), "unknown type"),
    ],
)
def test_text_that_is_no_signature_is_refused_with_the_part_that_is_wrong(
    signature, specs, message
):
    """The op and the offending part are named."""
    with pytest.raises(ValueError, match=message):
        parse_op_def("Odd", signature, specs)
