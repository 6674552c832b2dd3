"""OpDef messages from plain OpDefs."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf import text_format

from tfnb.core.op_def import parse_op_def
from tfnb.core.op_def_proto import op_def_from_proto, op_def_to_proto

# Signature, attributes and flags as in REGISTER_OP, and TensorFlow 2.21's message for the op.
RECORDED: dict[str, tuple[str, list[str], dict[str, Any], str]] = {
    "ConcatV2": (
        "values: N * T, axis: Tidx -> output: T",
        ["N: int >= 2", "T: type", "Tidx: {int32, int64} = DT_INT32"],
        {},
        'name: "ConcatV2" input_arg { name: "values" type_attr: "T" number_attr: "N" } '
        'input_arg { name: "axis" type_attr: "Tidx" } output_arg { name: "output" type_attr: "T" }'
        ' attr { name: "N" type: "int" has_minimum: true minimum: 2 } '
        'attr { name: "T" type: "type" } attr { name: "Tidx" type: "type" '
        "default_value { type: DT_INT32 } "
        "allowed_values { list { type: DT_INT32 type: DT_INT64 } } }",
    ),
    "Assign": (
        "ref: Ref(T), value: T -> output_ref: Ref(T)",
        ["T: type", "validate_shape: bool = true", "use_locking: bool = true"],
        {"allows_uninitialized_input": True},
        'name: "Assign" input_arg { name: "ref" type_attr: "T" is_ref: true } '
        'input_arg { name: "value" type_attr: "T" } '
        'output_arg { name: "output_ref" type_attr: "T" is_ref: true } '
        'attr { name: "T" type: "type" } '
        'attr { name: "validate_shape" type: "bool" default_value { b: true } } '
        'attr { name: "use_locking" type: "bool" default_value { b: true } } '
        "allows_uninitialized_input: true",
    ),
    "Placeholder": (
        "-> output: dtype",
        ["dtype: type", "shape: shape = { unknown_rank: true }"],
        {},
        'name: "Placeholder" output_arg { name: "output" type_attr: "dtype" } '
        'attr { name: "dtype" type: "type" } attr { name: "shape" type: "shape" '
        "default_value { shape { unknown_rank: true } } }",
    ),
    "If": (
        "cond: Tcond, input: Tin -> output: Tout",
        ["Tcond: type", "Tin: list(type) >= 0", "Tout: list(type) >= 0"],
        {"stateful": True},
        'name: "If" input_arg { name: "cond" type_attr: "Tcond" } '
        'input_arg { name: "input" type_list_attr: "Tin" } '
        'output_arg { name: "output" type_list_attr: "Tout" } '
        'attr { name: "Tcond" type: "type" } '
        'attr { name: "Tin" type: "list(type)" has_minimum: true } '
        'attr { name: "Tout" type: "list(type)" has_minimum: true } is_stateful: true',
    ),
    "Pool": (
        "input: float -> output: string",
        ["strides: list(int) = [1, 1]", "padding: {'SAME','VALID'}", "s: string = 'x'"],
        {"deprecated": (14, "Use Better"), "commutative": True, "aggregate": True},
        'name: "Pool" input_arg { name: "input" type: DT_FLOAT } '
        'output_arg { name: "output" type: DT_STRING } '
        'attr { name: "strides" type: "list(int)" default_value { list { i: 1 i: 1 } } } '
        'attr { name: "padding" type: "string" '
        'allowed_values { list { s: "SAME" s: "VALID" } } } '
        'attr { name: "s" type: "string" default_value { s: "x" } } '
        'deprecation { version: 14 explanation: "Use Better" } '
        "is_aggregate: true is_commutative: true",
    ),
}


@pytest.mark.parametrize("name", RECORDED)
def test_the_message_says_what_was_registered(name: str) -> None:
    """Arguments, constraints, defaults and flags all reach the message."""
    signature, specs, flags, text = RECORDED[name]
    proto = op_def_to_proto(parse_op_def(name, signature, specs, **flags))

    assert text_format.MessageToString(proto, as_one_line=True) == text


@pytest.mark.parametrize("name", RECORDED)
def test_an_op_def_comes_back(name: str) -> None:
    """Reading the message gives an equal OpDef."""
    signature, specs, flags, _ = RECORDED[name]
    op_def = parse_op_def(name, signature, specs, **flags)

    assert op_def_from_proto(op_def_to_proto(op_def)) == op_def
