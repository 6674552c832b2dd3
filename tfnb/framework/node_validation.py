"""Checks of a node against its op; the messages are TensorFlow's (node_def_util.cc)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core.process.later import later

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from tfnb.core import node_text
    from tfnb.core.dtypes import DType
    from tfnb.core.op_def import AttrDef, OpDef
    from tfnb.framework.tensor import Tensor
else:
    node_text = later("tfnb.core.node_text", in_step=True)

# Above the length of any real list: a small graph must not allocate huge lists.
MAX_LIST_LENGTH = 1_000_000


_REPAIR = (
    " If variables of this graph were frozen to constants, "
    "tf.graph_util.repair_graph_def(graph_def) replaces the ops that want references, and says "
    "which."
)


def fits(wanted: DType, given: DType) -> bool:
    """Return whether an input of dtype ``wanted`` accepts a tensor of dtype ``given``.

    >>> from tfnb.core import dtypes
    >>> fits(dtypes.float32, dtypes.float32_ref), fits(dtypes.float32_ref, dtypes.float32)
    (True, False)
    """
    return given is wanted or given.base_dtype is wanted


def check_input_types(node_name: str, inputs: Sequence[Tensor], wanted: Sequence[DType]) -> None:
    """Compare the dtypes of inputs with those that the op accepts.

    Raises:
      ValueError: a dtype does not fit.
    """
    for index, (tensor, dtype) in enumerate(zip(inputs, wanted)):
        if not fits(dtype, tensor.dtype):
            hint = _REPAIR if dtype.is_ref_dtype and not tensor.dtype.is_ref_dtype else ""
            raise ValueError(
                f"Input {index} of node {node_name} was passed "
                f"{node_text.type_word(tensor.dtype)} from {tensor.name} "
                f"incompatible with expected {node_text.type_word(dtype)}.{hint}"
            )


def check_number_of_inputs(
    op_def: OpDef, node_name: str, wanted: Sequence[DType], found: int
) -> None:
    """Compare the number of inputs with the number that the op takes.

    Raises:
      ValueError: the numbers differ.
    """
    if len(wanted) != found:
        words = ", ".join(map(node_text.type_word, wanted))
        raise ValueError(
            f"NodeDef expected inputs '{words}' do not match {found} inputs specified; "
            f"{node_text.op_def_text(op_def)}; NodeDef: {{{{node {node_name}}}}}"
        )


def check_list_lengths(op_def: OpDef, node_name: str, attrs: dict[str, Any]) -> None:
    """Refuse too long lists before they are made.

    Raises:
      ValueError: a list length is outside of 0 to ``MAX_LIST_LENGTH``.
    """
    for arg in (*op_def.inputs, *op_def.outputs):
        if arg.number_attr and not 0 <= attrs[arg.number_attr] <= MAX_LIST_LENGTH:
            raise ValueError(
                f"Attr '{arg.number_attr}' of node '{node_name}' is {attrs[arg.number_attr]}: "
                f"'{arg.name}' cannot be a list of that length; {node_text.op_def_text(op_def)}"
            )


def check_required(op_def: OpDef, node_name: str, attrs: Container[str]) -> None:
    """Check that the attributes without a default are present.

    Raises:
      ValueError: some are missing.
    """
    missing = [a.name for a in op_def.attrs if not a.has_default and a.name not in attrs]
    if missing:
        words = ", ".join(f"'{name}'" for name in missing)
        plural = "s" if len(missing) > 1 else ""
        raise ValueError(
            f"NodeDef missing attr{plural} {words} from {node_text.op_def_text(op_def)}; "
            f"NodeDef: {{{{node {node_name}}}}}"
        )


def check_allowed(op_def: OpDef, node_name: str, attr_def: AttrDef, value: Any) -> None:
    """Check an attribute's value against the minimum and the allowed values of the op.

    Raises:
      ValueError: it is too small, too short, or not an allowed value.
    """
    is_list = type(value) is list
    if attr_def.minimum is not None and (len(value) if is_list else value) < attr_def.minimum:
        found = (
            f"Length for attr '{attr_def.name}' of {len(value)}"
            if is_list
            else (f"Value for attr '{attr_def.name}' of {value}")
        )
        text = f"{found} must be at least minimum {attr_def.minimum}"
    elif attr_def.allowed:
        wrong = [one for one in (value if is_list else (value,)) if one not in attr_def.allowed]
        if not wrong:
            return
        word = node_text.attr_text if isinstance(wrong[0], bytes) else node_text.type_word
        text = (
            f"Value for attr '{attr_def.name}' of {word(wrong[0])} is not in the list of allowed "
            f"values: {', '.join(map(word, attr_def.allowed))}"
        )
    else:
        return
    raise ValueError(
        f"{text}\n\t; NodeDef: {{{{node {node_name}}}}}; {node_text.op_def_text(op_def)}"
    )
