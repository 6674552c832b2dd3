"""The objects that a saver saves: their tensors in a checkpoint, and how to restore them.

A :class:`SaveableObject` has one :class:`SaveSpec` per tensor in the checkpoint, and ``restore``,
which makes the op that assigns restored tensors. Variables of both kinds, and parts of variables,
become these objects here. Any other object with state (a lookup table) adds one to the collection
``SAVEABLE_OBJECTS``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core.device_spec import DeviceSpec
from tfnb.framework.collections import GraphKeys
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import device, get_collection, name_scope
from tfnb.framework.tensor import Tensor
from tfnb.library.variables.partitioned_variable import PartitionedVariable
from tfnb.library.variables.resource_variable import ResourceVariable
from tfnb.library.variables.variables import Variable, global_variables
from tfnb.ops.array.identity_ops import identity_op
from tfnb.ops.array.shape_ops import reshape
from tfnb.ops.state import resource_variable_ops as resource_ops
from tfnb.ops.state import state_ops

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from tfnb.core.dtypes import DType
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor_types import Nested, TensorLike, TensorResult, VariableLike

_REF_VARIABLE_OPS = frozenset(("Variable", "VariableV2", "AutoReloadVariable"))
_VARIABLE_OPS = _REF_VARIABLE_OPS | {"VarHandleOp", "ReadVariableOp"}


class SaveSpec:
    """One tensor of a checkpoint.

    Args:
      tensor: the tensor to save, or a function that makes it.
      slice_spec: its part of a larger tensor, as ``"4 10 0,2:0,10"``; "" for a whole one.
      name: its name in the checkpoint.
      dtype: its type; needed if ``tensor`` is a function.
      device: its device; needed if ``tensor`` is a function.
    """

    def __init__(
        self,
        tensor: TensorLike,
        slice_spec: str,
        name: str,
        dtype: DType | None = None,
        device: str | None = None,
    ) -> None:
        self._tensor = tensor
        self.slice_spec = slice_spec
        self.name = name
        if callable(tensor) and (dtype is None or device is None):
            raise AssertionError(
                "When passing a callable `tensor` to a SaveSpec, an explicit dtype and device must "
                "be provided."
            )
        self.dtype = tensor.dtype if dtype is None else dtype
        self.device = tensor.device if device is None else device

    @property
    def tensor(self) -> TensorResult:
        """The tensor to save."""
        return self._tensor() if callable(self._tensor) else self._tensor


class SaveableObject:
    """An object that is saved and restored as one.

    Attributes:
      op: the tensor or operation behind it.
      specs: its tensors in a checkpoint.
      name: its name.
    """

    def __init__(self, op: Any, specs: list[SaveSpec], name: str) -> None:
        self.op = op
        self.specs = specs
        self.name = name

    @property
    def device(self) -> str:
        """The device of its first tensor."""
        return self.specs[0].device

    def restore(
        self, restored_tensors: list[TensorLike], restored_shapes: list[TensorLike] | None
    ) -> TensorResult:
        """Make the op that assigns restored tensors.

        Args:
          restored_tensors: one tensor per spec.
          restored_shapes: the shapes to reshape them to first, or None.
        """
        raise NotImplementedError("Calling an abstract method.")


class ReferenceVariableSaveable(SaveableObject):
    """A variable behind a reference, or a part of one."""

    def __init__(self, variable: VariableLike, slice_spec: str, name: str) -> None:
        spec = SaveSpec(variable, slice_spec, name, dtype=variable.dtype)
        super().__init__(variable, [spec], name)

    def restore(
        self, restored_tensors: list[TensorLike], restored_shapes: list[TensorLike] | None
    ) -> TensorResult:
        """Return an Assign; with ``restored_shapes``, for any shape of the variable."""
        value = restored_tensors[0]
        if restored_shapes is not None:
            value = reshape(value, restored_shapes[0])
        known = self.op.get_shape().is_fully_defined()
        return state_ops.assign(self.op, value, validate_shape=restored_shapes is None and known)


class ResourceVariableSaveable(SaveableObject):
    """A variable behind a resource handle, or a part of one.

    Args:
      variable: the variable, or a tensor that reads it.
      slice_spec: its part of a larger tensor.
      name: its name in the checkpoint.
    """

    def __init__(self, variable: VariableLike, slice_spec: str, name: str) -> None:
        self._device = variable.device
        self._shape = variable.shape
        if isinstance(variable, ResourceVariable):
            self.handle_op = variable.handle
            tensor: TensorLike = _read_on_cpu(variable)
        else:
            self.handle_op = variable.op.inputs[0]
            tensor = variable
        spec = SaveSpec(tensor, slice_spec, name, dtype=variable.dtype, device=variable.device)
        super().__init__(variable, [spec], name)

    def restore(
        self, restored_tensors: list[TensorLike], restored_shapes: list[TensorLike] | None
    ) -> TensorResult:
        """Return an AssignVariableOp behind a copy to the variable's device.

        Raises:
          ValueError: the static shapes contradict each other.
        """
        value = restored_tensors[0]
        if restored_shapes is not None:
            value = reshape(value, restored_shapes[0])
        with device(self._device):
            value = identity_op(value)
            self._shape.assert_is_compatible_with(value.shape)
            return resource_ops.assign_variable_op(self.handle_op, value)


def _read_on_cpu(variable: ResourceVariable) -> Callable[[], Any]:
    def read() -> TensorResult:
        with device(variable.device):
            with name_scope("Read"):
                # TensorFlow reads without a copy this way; in tfnb, no read copies.
                resource_ops.disable_copy_on_read(variable.handle)
                value = variable._read_variable_op()
            value = identity_op(value)
        with device("/device:CPU:0"):
            return identity_op(value)

    return read


def set_cpu0(device_string: str) -> str:
    """Return the first CPU of the task that a device belongs to."""
    spec = DeviceSpec.from_string(device_string)
    return spec.replace(device_type="CPU", device_index=0).to_string()


# ------------------------------------------------------------------------------- names and objects


def all_saveable_objects(scope: str | None = None) -> list[Any]:
    """Return the global variables and the saveable objects of the default graph."""
    return global_variables(scope) + get_collection(GraphKeys.SAVEABLE_OBJECTS, scope)


def op_list_to_dict(op_list: Any, convert_variable_to_tensor: bool = True) -> dict[str, Any]:
    """Return the objects of a list by their names in a checkpoint.

    Args:
      op_list: variables, parts of variables, partitioned variables, saveable objects.
      convert_variable_to_tensor: whether a variable becomes the tensor that is saved.

    Returns:
      Name -> variable, tensor, list of parts, or saveable object.

    Raises:
      TypeError: the argument is no list, or an item has another type.
      ValueError: two items have the same name.
    """
    if not isinstance(op_list, (list, tuple, set)):
        raise TypeError(f"Variables to save should be passed in a dict or a list. Got {op_list}")
    found: dict[str, Any] = {}
    saveable = [getattr(one, "saveable", None) or one for one in _flat(op_list)]
    for var in sorted(saveable, key=lambda one: str(one.name)):
        if isinstance(var, (SaveableObject, PartitionedVariable)):
            name, value = var.name, var
        elif isinstance(var, Variable) and var._save_slice_info is not None:
            _add_slice(found, var)
            continue
        else:
            name, value = _name_and_value(var, convert_variable_to_tensor)
        if name in found:
            raise ValueError(f"At least two variables have the same name: {name}")
        found[name] = value
    return found


def _flat(op_list: Any) -> Iterator[Any]:
    for one in op_list:
        if isinstance(one, (list, tuple)):
            yield from _flat(one)
        else:
            yield one


def _add_slice(found: dict[str, Any], var: VariableLike) -> None:
    name = var._save_slice_info.full_name
    known = found.setdefault(name, [])
    if not isinstance(known, list):
        raise ValueError(f"Mixing slices and non-slices with the same name: {name}")
    known.append(var)


def _name_and_value(var: VariableLike, convert_variable_to_tensor: bool) -> tuple[str, Nested]:
    if isinstance(var, ResourceVariable):
        return var._shared_name, var._graph_element if convert_variable_to_tensor else var
    tensor = convert_to_tensor(var, as_ref=True)
    if not _comes_from_variable(tensor):
        raise TypeError(f"Variable to save is not a Variable: {var}")
    name = tensor.op.inputs[0].op.name if tensor.op.type == "ReadVariableOp" else tensor.op.name
    return name, tensor if convert_variable_to_tensor else var


def _comes_from_variable(tensor: TensorLike) -> bool:
    return isinstance(tensor, Tensor) and tensor.op.type in _VARIABLE_OPS


def saveable_objects_for_op(op: TensorLike, name: str | None) -> Iterator[SaveableObject]:
    """Yield the saveable objects for one name: several for a variable in parts.

    Raises:
      TypeError: the name is no string, or ``op`` cannot be saved.
      ValueError: the parts do not belong to one variable.
    """
    if not isinstance(name, str):
        raise TypeError(
            "names_to_saveables must be a dict mapping string names to trackable operations. "
            f"Name is not a string: {name}"
        )
    if isinstance(op, SaveableObject):
        yield op
    elif isinstance(getattr(op, "saveable", None), SaveableObject):
        yield op.saveable
    elif isinstance(op, (list, tuple, PartitionedVariable)):
        yield from _saveables_of_slices(list(op), name)
    elif isinstance(op, ResourceVariable):
        yield ResourceVariableSaveable(op._graph_element, "", name)
    else:
        tensor = convert_to_tensor(op, as_ref=True)
        if not _comes_from_variable(tensor):
            raise TypeError(
                "names_to_saveables must be a dict mapping string names to Tensors/Variables. Not "
                f"a variable: {tensor}"
            )
        if tensor.op.type in _REF_VARIABLE_OPS:
            yield ReferenceVariableSaveable(tensor, "", name)
        else:
            yield ResourceVariableSaveable(tensor, "", name)


def _saveables_of_slices(parts: list[TensorLike], name: str) -> Iterator[SaveableObject]:
    whole: str | None = None
    for part in parts:
        if not isinstance(part, Variable):
            raise ValueError(f"Slices must all be Variables: {part}")
        info = part._save_slice_info
        if info is None:
            raise ValueError(f"Slices must all be slices: {part}")
        if whole is None:
            whole = info.full_name
        elif whole != info.full_name:
            raise ValueError(
                f"Slices must all be from the same tensor: {whole} != {info.full_name}"
            )
        if isinstance(part, ResourceVariable):
            yield ResourceVariableSaveable(part, info.spec, name)
        else:
            yield ReferenceVariableSaveable(part, info.spec, name)


def validate_and_slice_inputs(names_to_saveables: Any) -> list[SaveableObject]:
    """Return the saveable objects of a dict or list, sorted by name.

    Raises:
      TypeError: an item cannot be saved.
      ValueError: an item has two names.
    """
    named: Mapping[Any, Any] = (
        names_to_saveables
        if isinstance(names_to_saveables, dict)
        else op_list_to_dict(names_to_saveables)
    )
    found: list[SaveableObject] = []
    seen: set[Any] = set()
    for name, op in sorted(named.items(), key=lambda item: str(item[0])):
        for saveable in saveable_objects_for_op(op, name):
            key = id(saveable.op)
            if key in seen:
                raise ValueError(
                    f"The same saveable will be restored with two names: {saveable.name}"
                )
            seen.add(key)
            found.append(saveable)
    return found


def operations_of(saveables: Iterable[SaveableObject]) -> list[Operation | Nested]:
    """Return the operations of saveable objects, with which to enter their graph's name scope."""
    return [saveable.op for saveable in saveables]
