"""Conversion of an exception inside a kernel to the error that the user sees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes, errors
from tfnb.core.errors import OpError
from tfnb.core.process.signal_handlers import raised_by_handler
from tfnb.core.resource_mgr import RefCell
from tfnb.graph.late_reads import HANDING_ON

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.common_runtime.executor.immutable_executor_state import NodeItem

# Ops whose outputs are declared as values, but may be the cells of variables.
_MAY_GIVE_CELL = HANDING_ON | {"_Recv", "_HostRecv"}
# Values of these types may be any Python objects.
_OPAQUE = (dtypes.resource, dtypes.variant)
# Beginnings of NumPy's ValueErrors for impossible sizes: memory ran out before the allocation.
_BEYOND_ADDRESSES = ("array is too big", "Maximum allowed ")
# Element types that TensorFlow's messages call by their C names.
_TYPE_NAMES = {"float16": "half", "float32": "float", "float64": "double"}


def annotate(
    error: BaseException, node_name: str, op: str, device: str, inputs: Sequence[Any]
) -> BaseException:
    """Convert an error to TensorFlow's class, and add the node that raised it.

    An ``OpError`` keeps its class and text. Any other exception of a kernel becomes one: exhausted
    memory is ResourceExhausted, values that NumPy rejects are InvalidArgument, the rest is
    Internal. An exception that a signal handler raises meanwhile is not changed.
    """
    if not isinstance(error, OpError):
        if not isinstance(error, Exception) or raised_by_handler(error):
            return error
        error = _as_op_error(error, device, inputs)
    if error.node_name is None:
        error.node_name = node_name
        error.add_note(f"while executing node '{node_name}' (op {op}) on {device}")
    return error


def _as_op_error(error: Exception, device: str, inputs: Sequence[Any]) -> OpError:
    forms = ", ".join(_form(value) for value in inputs)
    text = f"{type(error).__name__}: {error} (inputs: {forms or 'none'})"
    found: OpError
    if isinstance(error, MemoryError) or str(error).startswith(_BEYOND_ADDRESSES):
        found = errors.out_of_memory(f"{_out_of_memory(error, device)}: {text}")
    elif isinstance(error, ValueError | TypeError | IndexError | OverflowError):
        found = errors.invalid_argument(text)
    elif isinstance(error, NotImplementedError):
        found = errors.unimplemented(text)
    else:
        found = errors.internal(text)
    found.__cause__ = error
    return found


def _out_of_memory(error: Exception, device: str) -> str:
    """Return TensorFlow's message for exhausted memory, with shape and type if NumPy gave them."""
    shape, dtype = getattr(error, "shape", None), getattr(error, "dtype", None)
    if shape is None or dtype is None:
        return f"OOM when allocating a tensor on {device} by allocator cpu"
    sizes = ",".join(str(size) for size in shape)
    name = _TYPE_NAMES.get(dtype.name, dtype.name)
    return (
        f"OOM when allocating tensor with shape[{sizes}] and type {name} on {device} "
        "by allocator cpu"
    )


def _form(value: Any) -> str:
    shape = getattr(value, "shape", None)
    dtype = getattr(value, "dtype", None)
    if shape is None:
        return type(value).__name__
    return f"{getattr(dtype, 'name', dtype)}{list(shape)}"


def missing_output(node_name: str, found: int, wanted: int) -> OpError:
    """Return the error for a kernel that returned fewer or more outputs than its op has."""
    if found < wanted:
        return errors.internal(f"Missing {found}-th output from {{{{node {node_name}}}}}").naming(
            node_name
        )
    return errors.internal(
        f"The kernel of node '{node_name}' gave {found} outputs, its op has {wanted}."
    )


def check_outputs(partition: int, item: NodeItem, outputs: Sequence[Any]) -> None:
    """Raise an error if outputs of a kernel differ from the declaration of its op.

    Runs in the first step of a partition only: the node determines the types of its outputs, so
    that checking every step would cost much and find little.

    Raises:
      InternalError: an output with consumers is missing, or one is of another dtype.
    """
    # Fast path: nearly all outputs have their declared types.
    for value, declared in zip(outputs, item.output_types):
        if (
            declared.is_ref_dtype or getattr(value, "dtype", None) is not declared.numpy_dtype
        ) and not (value is None and item.may_give_nothing):
            break
    else:
        return
    error = _wrong_output(item, outputs)
    if error is not None:
        device = "" if item.kernel is None else item.kernel.device.name
        raise annotate(error, item.name, item.op, device, ())


def _wrong_output(item: NodeItem, outputs: Sequence[Any]) -> OpError | None:
    if not item.may_give_nothing:
        for output, _, _ in item.data_edges:
            if outputs[output] is None:
                return missing_output(item.name, output, item.num_outputs)
    for position, (value, declared) in enumerate(zip(outputs, item.output_types)):
        if value is None or declared in _OPAQUE:
            continue
        if isinstance(value, RefCell):
            found: Any = value.dtype._as_ref
            wanted: Any = declared._as_ref if item.op in _MAY_GIVE_CELL else declared
        else:
            found = getattr(value, "dtype", type(value))
            wanted = declared if declared.is_ref_dtype else declared.numpy_dtype
        if found != wanted:
            name = getattr(found, "name", found)
            if item.op == "_Arg":  # an argument of a function call
                words = (_TYPE_NAMES.get(one, one) for one in (name, declared.name))
                return errors.invalid_argument(
                    "Type mismatch: actual {} vs. expect {}".format(*words)
                )
            return errors.internal(
                f"Output {position} of type {name} does not match "
                f"declared output type {declared.name} for node {{{{node {item.name}}}}}"
            ).naming(item.name)
    return None
