"""Whether nodes keep their op's promises, and whether cycles are loops.

Corresponds to TensorFlow's node_def_util.cc and graph/validate.cc.  Texts name the node, the
attribute and the op's signature.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tfnb.core import errors
from tfnb.core.attr_value import NameAttrList, TensorAttr, kind_of
from tfnb.core.dtypes import DType
from tfnb.core.tensor_shape import TensorShape

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tfnb.core.op_def import ArgDef, AttrDef, OpDef
    from tfnb.graph.graph import Graph

_NODE_NAME = re.compile(r"[A-Za-z0-9._][A-Za-z0-9_.\-/]*(?:>[A-Za-z0-9.][A-Za-z0-9_.\-/]*)*")

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
    """Whether a node may have this name in a GraphDef.

    >>> is_valid_node_name("a/_b-1.2"), is_valid_node_name("a b"), is_valid_node_name("")
    (True, False, False)
    """
    return _NODE_NAME.fullmatch(name) is not None


def complete_attrs(
    op_def: OpDef, attrs: Mapping[str, Any], node_name: str, accepted: set[Any] | None = None
) -> Mapping[str, Any]:
    """The attributes with defaults for those left out, once each was found to be allowed.

    Attributes that the op does not know are kept: they are older, newer or somebody's notes.
    ``accepted`` remembers values found good, so that they are looked up the next time.

    Raises:
      InvalidArgumentError: one is missing, or has a value the op does not allow.
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
                # Looked up, as comparing with twenty dtypes costs more than the node itself.
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
    """Refuses an op in a graph whose producer should have known better.

    Raises:
      UnimplementedError: the op was gone in the version that produced the graph.
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
    """Compares the inputs a node lists with those its op takes.

    Raises:
      InvalidArgumentError: there are more or fewer.
    """
    if len(expected) != found:
        types = ", ".join(type_word(dtype) for dtype in expected)
        raise errors.invalid_argument(
            f"NodeDef expected inputs '{types}' do not match {found} inputs specified; "
            f"{summarize_op_def(op_def)}; NodeDef: {{{{node {node_name}}}}}"
        )


def check_control_flow_cycles(graph: Graph) -> None:
    """Refuses a cycle that is not closed by a NextIteration into a Merge.

    Raises:
      InvalidArgumentError: such a cycle exists; names how many nodes hang on it.
    """
    waiting = [0] * graph.num_node_ids
    for edge in graph.edges:
        if not is_back_edge_pair(edge.src.op, edge.dst.op):
            waiting[edge.dst.id] += 1
    ready = [node for node in graph.all_nodes() if not waiting[node.id]]
    seen = 0
    while ready:
        node = ready.pop()
        seen += 1
        for edge in node.out_edges:
            if is_back_edge_pair(node.op, edge.dst.op):
                continue
            waiting[edge.dst.id] -= 1
            if not waiting[edge.dst.id]:
                ready.append(edge.dst)
    left = graph.num_nodes - seen
    if left:
        raise errors.invalid_argument(
            f"Graph is invalid, contains a cycle with {left} nodes, including: "
            + ", ".join(node.name for node in graph.all_nodes() if waiting[node.id])
        )


def is_back_edge_pair(src_op: str, dst_op: str) -> bool:
    """Whether an edge between nodes of these ops may close a cycle."""
    return src_op in ("NextIteration", "RefNextIteration") and dst_op in ("Merge", "RefMerge")


# -- the words of a signature ----------------------------------------------------------------------

_TYPE_WORDS = {"float32": "float", "float64": "double", "float16": "half"}


def type_word(dtype: DType) -> str:
    """TensorFlow's runtime name of a dtype: ``float`` for float32, ``float_ref`` for a reference.

    >>> from tfnb.core import dtypes
    >>> type_word(dtypes.float32), type_word(dtypes.float32_ref), type_word(dtypes.int32)
    ('float', 'float_ref', 'int32')
    """
    base = dtype.base_dtype.name
    return _TYPE_WORDS.get(base, base) + ("_ref" if dtype.is_ref_dtype else "")


def summarize_op_def(op_def: OpDef) -> str:
    """An op's signature in one line, as TensorFlow's messages print it."""
    parts = [
        f"Op<name={op_def.name}",
        f"signature={_summarize_args(op_def.inputs)} -> {_summarize_args(op_def.outputs)}",
    ]
    parts += [f"attr={_summarize_attr(attr)}" for attr in op_def.attrs]
    if op_def.is_stateful:
        parts.append("is_stateful=true")
    return "; ".join(parts) + ">"


def _summarize_args(args: Sequence[ArgDef]) -> str:
    return ", ".join(f"{arg.name}:{_summarize_type(arg)}" for arg in args)


def _summarize_type(arg: ArgDef) -> str:
    if arg.type_list_attr:
        text = arg.type_list_attr
    else:
        one = type_word(arg.type) if arg.type is not None else arg.type_attr
        text = f"{arg.number_attr}*{one}" if arg.number_attr else one
    return f"Ref({text})" if arg.is_ref else text


def _summarize_attr(attr: AttrDef) -> str:
    text = f"{attr.name}:{attr.type}"
    if attr.has_default:
        text += f",default={summarize_attr_value(attr.default)}"
    if attr.minimum is not None:
        text += f",min={attr.minimum}"
    if attr.allowed:
        text += f",allowed={summarize_attr_value(list(attr.allowed))}"
    return text


def summarize_attr_value(value: Any) -> str:
    """An attribute's value as TensorFlow's messages print it."""
    if isinstance(value, DType):
        return f"DT_{type_word(value).upper()}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return '"' + value.decode("utf-8", "backslashreplace") + '"'
    if isinstance(value, list | tuple):
        return "[" + ", ".join(summarize_attr_value(one) for one in value) + "]"
    if isinstance(value, TensorShape):
        return str(value).replace("(", "[").replace(")", "]").replace("None", "?")
    if isinstance(value, NameAttrList):
        return f"{value.name}[]"
    return str(value)


# -- what can be wrong with an attribute -----------------------------------------------------------


def _missing_attrs(
    op_def: OpDef, attrs: Mapping[str, Any], node_name: str
) -> errors.InvalidArgumentError:
    names = [a.name for a in op_def.attrs if a.name not in attrs and not a.has_default]
    plural = "s" if len(names) > 1 else ""
    listed = ", ".join(f"'{name}'" for name in names)
    return errors.invalid_argument(
        f"NodeDef missing attr{plural} {listed} from {summarize_op_def(op_def)}"
        f"; NodeDef: {{{{node {node_name}}}}}"
    )


def _wrong_kind(
    op_def: OpDef, attr: AttrDef, value: Any, node_name: str
) -> errors.InvalidArgumentError:
    return errors.invalid_argument(
        f"AttrValue had value with type '{kind_of(value)}' when '{attr.type}' expected\n\t "
        f"for attr '{attr.name}'\n\t; NodeDef: {{{{node {node_name}}}}}; "
        f"{summarize_op_def(op_def)}"
    )


def _check_allowed(op_def: OpDef, attr: AttrDef, value: Any, node_name: str) -> None:
    if attr.minimum is not None:
        is_list = isinstance(value, list)
        found = len(value) if is_list else value
        if found < attr.minimum:
            what = "Length" if is_list else "Value"
            raise errors.invalid_argument(
                f"{what} for attr '{attr.name}' of {found} must be at least minimum {attr.minimum}"
                f"; NodeDef: {{{{node {node_name}}}}}; {summarize_op_def(op_def)}"
            )
    if attr.allowed:
        for one in value if isinstance(value, list) else (value,):
            if one not in attr.allowed:
                found_word = type_word(one) if isinstance(one, DType) else summarize_attr_value(one)
                allowed = ", ".join(
                    type_word(a) if isinstance(a, DType) else summarize_attr_value(a)
                    for a in attr.allowed
                )
                raise errors.invalid_argument(
                    f"Value for attr '{attr.name}' of {found_word} is not in the list of allowed "
                    f"values: {allowed}\n\t; NodeDef: {{{{node {node_name}}}}}; "
                    f"{summarize_op_def(op_def)}"
                )
