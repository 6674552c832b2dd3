"""Checks that nodes match the definitions of their ops.

Corresponds to TensorFlow's node_def_util.cc and graph/validate.cc. Messages name the node, the
attribute and the op's signature.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import errors
from tfnb.core.attr_value import NameAttrList, TensorAttr, kind_of
from tfnb.core.dtypes import DType
from tfnb.core.process.later import later, pattern_later
from tfnb.core.tensor_shape import TensorShape
from tfnb.core.text_bytes import is_plain_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tfnb.core import node_text
    from tfnb.core.op_def import AttrDef, OpDef
else:
    node_text = later("tfnb.core.node_text", in_step=True)

_NODE_NAME = pattern_later(r"[A-Za-z0-9._][A-Za-z0-9_.\-/]*(?:>[A-Za-z0-9.][A-Za-z0-9_.\-/]*)*")

_KINDS: dict[str, type | tuple[type, ...]] = {
    "int": int,
    "float": (float, int),
    "bool": bool,
    "string": bytes,
    "type": DType,
    "shape": TensorShape,
    "tensor": TensorAttr,
    "func": NameAttrList,
}


def is_valid_node_name(name: str) -> bool:
    """Return whether a node may have this name in a GraphDef.

    >>> is_valid_node_name("a/_b-1.2"), is_valid_node_name("a b"), is_valid_node_name("")
    (True, False, False)
    """
    return is_plain_name(name) or _NODE_NAME.fullmatch(name) is not None


def complete_attrs(
    op_def: OpDef, attrs: Mapping[str, Any], node_name: str, accepted: set[Any] | None = None
) -> Mapping[str, Any]:
    """Check the attributes of a node, and return them with defaults for missing ones.

    Attributes that the op does not define are kept: they are from other versions, or annotations.
    ``accepted`` stores accepted values, so that they are only looked up the next time.

    Raises:
      InvalidArgumentError: an attribute is missing, or has a value the op does not allow.
    """
    missing: dict[str, Any] | None = None
    for attr in op_def.attrs:
        name = attr.name
        if name in attrs:
            value = attrs[name]
            kind = _KINDS.get(attr.type)
            if kind is not None and not isinstance(value, kind) and value is not None:
                raise _wrong_kind(op_def, attr, value, node_name)
            if attr.allowed:
                # A lookup, because comparing with twenty dtypes costs more than making the node
                # itself.
                key = (op_def.name, name, tuple(value) if type(value) is list else value)
                if accepted is None or key not in accepted:
                    _check_allowed(op_def, attr, value, node_name)
                    if accepted is not None:
                        accepted.add(key)
            elif attr.minimum is not None:
                _check_allowed(op_def, attr, value, node_name)
        elif attr.has_default:
            if missing is None:
                missing = {}
            missing[name] = attr.default
        else:
            raise _missing_attrs(op_def, attrs, node_name)
    return attrs if missing is None else {**attrs, **missing}


def check_deprecation(op_def: OpDef, producer: int) -> None:
    """Refuse an op that was removed before the version that produced the graph.

    Raises:
      UnimplementedError: that version did not have the op any more.
    """
    if op_def.deprecated is not None and producer >= op_def.deprecated[0]:
        version, explanation = op_def.deprecated
        raise errors.unimplemented(
            f"Op {op_def.name} is not available in GraphDef version {producer}. "
            f"It has been removed in version {version}. {explanation}."
        )


def check_number_of_inputs(
    op_def: OpDef, expected: Sequence[DType], found: int, node_name: str
) -> None:
    """Compare the number of inputs that a node lists with the number that its op takes.

    Raises:
      InvalidArgumentError: there are more or fewer.
    """
    if len(expected) != found:
        types = ", ".join(node_text.type_word(dtype) for dtype in expected)
        raise errors.invalid_argument(
            f"NodeDef expected inputs '{types}' do not match {found} inputs specified; "
            f"{node_text.op_def_text(op_def)}; NodeDef: {{{{node {node_name}}}}}"
        ).naming(node_name)


def is_back_edge_pair(src_op: str, dst_op: str) -> bool:
    """Return whether an edge between nodes of these ops may close a cycle."""
    return src_op in ("NextIteration", "RefNextIteration") and dst_op in ("Merge", "RefMerge")


# -- what can be wrong with an attribute -----------------------------------------------------------


def _missing_attrs(
    op_def: OpDef, attrs: Mapping[str, Any], node_name: str
) -> errors.InvalidArgumentError:
    names = [a.name for a in op_def.attrs if a.name not in attrs and not a.has_default]
    plural = "s" if len(names) > 1 else ""
    listed = ", ".join(f"'{name}'" for name in names)
    return errors.invalid_argument(
        f"NodeDef missing attr{plural} {listed} from {node_text.op_def_text(op_def)}"
        f"; NodeDef: {{{{node {node_name}}}}}"
    ).naming(node_name)


def _wrong_kind(
    op_def: OpDef, attr: AttrDef, value: Any, node_name: str
) -> errors.InvalidArgumentError:
    return errors.invalid_argument(
        f"AttrValue had value with type '{kind_of(value)}' when '{attr.type}' expected\n\t "
        f"for attr '{attr.name}'\n\t; NodeDef: {{{{node {node_name}}}}}; "
        f"{node_text.op_def_text(op_def)}"
    ).naming(node_name)


def _check_allowed(op_def: OpDef, attr: AttrDef, value: Any, node_name: str) -> None:
    if attr.minimum is not None:
        is_list = isinstance(value, list)
        found = len(value) if is_list else value
        if found < attr.minimum:
            what = "Length" if is_list else "Value"
            raise errors.invalid_argument(
                f"{what} for attr '{attr.name}' of {found} must be at least minimum {attr.minimum}"
                f"; NodeDef: {{{{node {node_name}}}}}; {node_text.op_def_text(op_def)}"
            ).naming(node_name)
    if attr.allowed:
        for one in value if isinstance(value, list) else (value,):
            if one not in attr.allowed:
                found_word = (
                    node_text.type_word(one) if isinstance(one, DType) else node_text.attr_text(one)
                )
                allowed = ", ".join(
                    node_text.type_word(a) if isinstance(a, DType) else node_text.attr_text(a)
                    for a in attr.allowed
                )
                raise errors.invalid_argument(
                    f"Value for attr '{attr.name}' of {found_word} is not in the list of allowed "
                    f"values: {allowed}\n\t; NodeDef: {{{{node {node_name}}}}}; "
                    f"{node_text.op_def_text(op_def)}"
                ).naming(node_name)
