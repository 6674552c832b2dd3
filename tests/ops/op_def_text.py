"""One line of text per OpDef, in which the golden list and our registry are compared.

The functions read the OpDef message by field name only, so that equal messages of TensorFlow and
tfnb give equal text.
"""

from __future__ import annotations

from typing import Any

_TYPE_NAMES = {
    1: "float", 2: "double", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 7: "string",
    8: "complex64", 9: "int64", 10: "bool", 11: "qint8", 12: "quint8", 13: "qint32",
    14: "bfloat16", 15: "qint16", 16: "quint16", 17: "uint16", 18: "complex128", 19: "half",
    20: "resource", 21: "variant", 22: "uint32", 23: "uint64", 24: "float8_e5m2",
    25: "float8_e4m3fn", 26: "float8_e4m3fnuz", 27: "float8_e4m3b11fnuz", 28: "float8_e5m2fnuz",
    29: "int4", 30: "uint4", 31: "int2", 32: "uint2",
}  # fmt: skip


def type_name(number: int) -> str:
    """The name of a DataType number in REGISTER_OP text; a reference type is `Ref(name)`."""
    if number > 100:
        return f"Ref({_TYPE_NAMES[number - 100]})"
    return _TYPE_NAMES[number]


def arg_text(arg: Any) -> str:
    """`name: type` of one input or output."""
    if arg.type_list_attr:
        kind = arg.type_list_attr
    else:
        kind = arg.type_attr or type_name(arg.type)
        if arg.number_attr:
            kind = f"{arg.number_attr} * {kind}"
        if arg.is_ref:
            kind = f"Ref({kind})"
    return f"{arg.name}: {kind}"


def value_text(value: Any) -> str:
    """An AttrValue message as text."""
    kind = value.WhichOneof("value")
    if kind == "s":
        return repr(value.s)[1:]
    if kind == "type":
        return type_name(value.type)
    if kind == "b":
        return "true" if value.b else "false"
    if kind == "f":
        return f"{value.f:.9g}"
    if kind == "shape":
        if value.shape.unknown_rank:
            return "shape(?)"
        return f"shape{[d.size for d in value.shape.dim]}"
    if kind == "list":
        items = value.list
        parts = [repr(s)[1:] for s in items.s]
        parts += [str(i) for i in items.i]
        parts += [f"{f:.9g}" for f in items.f]
        parts += ["true" if b else "false" for b in items.b]
        parts += [type_name(t) for t in items.type]
        parts += ["shape" + str([d.size for d in s.dim]) for s in items.shape]
        parts += [_tensor_text(tensor) for tensor in items.tensor]
        return "[" + ", ".join(parts) + "]"
    if kind == "func":
        return f"func {value.func.name}"
    if kind == "tensor":
        return _tensor_text(value.tensor)
    return str(getattr(value, kind)) if kind else "unset"


def _tensor_text(tensor: Any) -> str:
    return f"tensor {type_name(tensor.dtype)} {tensor.SerializeToString().hex()}"


def attr_text(attr: Any) -> str:
    """`name: type [in {...}] [>= minimum] [= default]` of one attr."""
    text = f"{attr.name}: {attr.type}"
    if attr.HasField("allowed_values"):
        text += " in {" + value_text(attr.allowed_values)[1:-1] + "}"
    if attr.has_minimum:
        text += f" >= {attr.minimum}"
    if attr.HasField("default_value"):
        text += f" = {value_text(attr.default_value)}"
    return text


def op_def_line(op_def: Any) -> str:
    """The whole OpDef, without its documentation, on one line."""
    inputs = ", ".join(arg_text(a) for a in op_def.input_arg)
    outputs = ", ".join(arg_text(a) for a in op_def.output_arg)
    line = f"{op_def.name}({inputs}) -> ({outputs})"
    if op_def.attr:
        line += " | " + "; ".join(attr_text(a) for a in op_def.attr)
    flags = [
        word
        for word, on in (
            ("commutative", op_def.is_commutative),
            ("aggregate", op_def.is_aggregate),
            ("stateful", op_def.is_stateful),
            ("allows_uninitialized_input", op_def.allows_uninitialized_input),
        )
        if on
    ]
    if flags:
        line += " | " + " ".join(flags)
    if op_def.HasField("deprecation"):
        line += f" | deprecated {op_def.deprecation.version}"
    return line
