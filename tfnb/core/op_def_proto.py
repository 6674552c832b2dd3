"""Conversion between OpDef messages and plain OpDefs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes, errors
from tfnb.core.attr_value import decode_attr, encode_attr
from tfnb.core.op_def import MISSING, ArgDef, AttrDef, OpDef
from tfnb.proto import op_def_pb2

if TYPE_CHECKING:
    from collections.abc import Collection


def op_def_to_proto(op_def: OpDef) -> op_def_pb2.OpDef:
    """Return the message, default values and constraints included.

    >>> from tfnb.core.op_def import parse_op_def
    >>> specs = ["N: int >= 1", "T: type", "axis: int = 0"]
    >>> proto = op_def_to_proto(parse_op_def("Pack", "values: N * T -> output: T", specs))
    >>> proto.input_arg[0].number_attr, proto.attr[0].minimum, proto.attr[2].default_value.i
    ('N', 1, 0)
    """
    proto = op_def_pb2.OpDef(
        name=op_def.name,
        input_arg=[_arg_to_proto(arg) for arg in op_def.inputs],
        output_arg=[_arg_to_proto(arg) for arg in op_def.outputs],
        control_output=op_def.control_outputs,
        attr=[_attr_to_proto(attr) for attr in op_def.attrs],
        is_commutative=op_def.is_commutative,
        is_aggregate=op_def.is_aggregate,
        is_stateful=op_def.is_stateful,
        allows_uninitialized_input=op_def.allows_uninitialized_input,
    )
    if op_def.deprecated is not None:
        proto.deprecation.version, proto.deprecation.explanation = op_def.deprecated
    return proto


def op_def_from_proto(proto: op_def_pb2.OpDef) -> OpDef:
    """Return the plain form of a message, for example of a function's signature.

    Raises:
        InvalidArgumentError: A default value, an allowed value or a type does not exist.
        NotFoundError: An argument's type or length refers to an attribute that is not declared.
    """
    declared = {attr.name for attr in proto.attr}
    for arg in (*proto.input_arg, *proto.output_arg):
        _check_arg(proto.name, arg, declared)
    return OpDef(
        proto.name,
        inputs=tuple([_arg_from_proto(arg) for arg in proto.input_arg]),
        outputs=tuple([_arg_from_proto(arg) for arg in proto.output_arg]),
        attrs=tuple([_attr_from_proto(attr) for attr in proto.attr]),
        is_stateful=proto.is_stateful,
        is_commutative=proto.is_commutative,
        is_aggregate=proto.is_aggregate,
        allows_uninitialized_input=proto.allows_uninitialized_input,
        deprecated=(proto.deprecation.version, proto.deprecation.explanation)
        if proto.HasField("deprecation")
        else None,
        control_outputs=tuple(proto.control_output),
    )


def _check_arg(owner: str, arg: op_def_pb2.OpDef.ArgDef, declared: Collection[str]) -> None:
    for kind, name in (
        ("type attr", arg.type_attr),
        ("type list attr", arg.type_list_attr),
        ("number attr", arg.number_attr),
    ):
        if name and name not in declared:
            raise errors.not_found(
                f"{kind} not found: {name}\n\tIn argument '{arg.name}' of '{owner}'. It declares "
                f"{', '.join(map(repr, sorted(declared))) or 'no attributes'}."
            )
    if not (arg.type or arg.type_attr or arg.type_list_attr):
        raise errors.invalid_argument(f"No type fields in argument '{arg.name}' of '{owner}'")


def _arg_to_proto(arg: ArgDef) -> op_def_pb2.OpDef.ArgDef:
    proto = op_def_pb2.OpDef.ArgDef(
        name=arg.name,
        type_attr=arg.type_attr,
        number_attr=arg.number_attr,
        type_list_attr=arg.type_list_attr,
        is_ref=arg.is_ref,
    )
    if arg.type is not None:
        proto.type = arg.type.as_datatype_enum  # type: ignore[assignment]
    return proto


def _arg_from_proto(proto: op_def_pb2.OpDef.ArgDef) -> ArgDef:
    return ArgDef(
        proto.name,
        type=dtypes.as_dtype(int(proto.type)) if proto.type else None,
        type_attr=proto.type_attr,
        number_attr=proto.number_attr,
        type_list_attr=proto.type_list_attr,
        is_ref=proto.is_ref,
    )


def _attr_to_proto(attr: AttrDef) -> op_def_pb2.OpDef.AttrDef:
    proto = op_def_pb2.OpDef.AttrDef(name=attr.name, type=attr.type)
    if attr.default is not MISSING:
        if attr.default is None:  # a function without a name, which REGISTER_OP writes as {}
            proto.default_value.func.SetInParent()
        else:
            proto.default_value.CopyFrom(encode_attr(attr.default, attr.type))
    if attr.minimum is not None:
        proto.has_minimum = True
        proto.minimum = attr.minimum
    if attr.allowed:
        kind = attr.type.removeprefix("list(").removesuffix(")")
        proto.allowed_values.CopyFrom(encode_attr(attr.allowed, f"list({kind})"))
    return proto


def _attr_from_proto(proto: op_def_pb2.OpDef.AttrDef) -> AttrDef:
    default: Any = MISSING
    if proto.HasField("default_value"):
        default = decode_attr(proto.default_value)
    allowed = decode_attr(proto.allowed_values) if proto.HasField("allowed_values") else ()
    return AttrDef(
        proto.name,
        proto.type,
        default=default,
        allowed=tuple(allowed),
        minimum=proto.minimum if proto.has_minimum else None,
    )
