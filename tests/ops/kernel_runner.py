"""Runs one op of a sample without a graph or session: attrs, shape function, kernel.

A failure here is a failure of the op itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.ops import samples
from tfnb.core import dtypes, op_registry
from tfnb.core.attr_value import NameAttrList
from tfnb.core.cancellation import CancellationManager
from tfnb.core.op_kernel import OpKernelContext, StepContext, create_kernel
from tfnb.core.resource_mgr import RefCell, ResourceMgr, Var
from tfnb.core.shape_inference import InferenceContext, run_shape_function
from tfnb.core.tensor_shape import TensorShape

if TYPE_CHECKING:
    from tfnb.core.op_def import OpDef


@dataclass
class TestDevice:
    """A CPU with its own resources."""

    __test__ = False
    name: str = "/job:localhost/replica:0/task:0/device:CPU:0"
    device_type: str = "CPU"
    xp: Any = np
    resource_manager: ResourceMgr = field(default_factory=ResourceMgr)


@dataclass
class TestRunState:
    """What kernels of a step share."""

    __test__ = False
    rendezvous: Any = None
    cancellation_manager: CancellationManager = field(default_factory=CancellationManager)
    step_container: ResourceMgr = field(default_factory=ResourceMgr)


class SampleRun:
    """A prepared sample: flat inputs, their dtypes, the node's attrs."""

    def __init__(self, sample: samples.Sample) -> None:
        self.sample = sample
        self.definition = op_registry.get(sample.op)
        self.op_def: OpDef = self.definition.op_def
        self.device = TestDevice()
        self.cells: list[RefCell] = []
        self.attrs: dict[str, Any] = {}
        for attr in self.op_def.attrs:
            if attr.name in sample.attrs:
                self.attrs[attr.name] = _attr(attr.type, sample.attrs[attr.name])
        self.inputs: list[Any] = []
        self.input_shapes: list[TensorShape] = []
        self.handle_data: dict[int, Any] = {}
        self._infer()
        for attr in self.op_def.attrs:
            if attr.name not in self.attrs and attr.has_default:
                self.attrs[attr.name] = attr.default
        self.input_types = self.op_def.input_types(self.attrs)
        for entry in sample.inputs:
            for item in entry if isinstance(entry, list) else [entry]:
                self._add_input(item)

    def _infer(self) -> None:
        swept = self.sample.types
        for arg, entry in zip(self.op_def.inputs, self.sample.inputs, strict=True):
            items = entry if isinstance(entry, list) else [entry]
            if arg.number_attr:
                self.attrs.setdefault(arg.number_attr, len(items))
            if arg.type_list_attr:
                self.attrs.setdefault(arg.type_list_attr, [_dtype(item, swept) for item in items])
            if arg.type_attr and items:
                self.attrs.setdefault(arg.type_attr, _dtype(items[0], swept))

    def _add_input(self, item: Any) -> None:
        dtype = self.input_types[len(self.inputs)]
        if isinstance(item, samples.Resource):
            name = f"variable_{len(self.cells)}"
            value_dtype = dtypes.as_dtype(item.dtype if item.value is None else item.value.dtype)
            shape = TensorShape(None if item.value is None else item.value.shape)
            handle = self.device.resource_manager.make_handle(
                name, "Variable", dtype=value_dtype, shape=shape
            )
            cell = Var(name, value_dtype)
            if item.value is not None:
                cell.assign(np.array(item.value))
                self.device.resource_manager.create("", "Variable", name, cell)
                self.cells.append(cell)
            self.handle_data[len(self.inputs)] = [(value_dtype, shape)]
            self.inputs.append(handle)
            self.input_shapes.append(TensorShape([]))
        elif dtype.is_ref_dtype:
            shape = TensorShape(item.shape)
            cell = RefCell(f"variable_{len(self.cells)}", dtype.base_dtype, shape)
            if not isinstance(item, samples.Uninitialized):
                cell.assign(np.array(item))
                self.cells.append(cell)
            self.inputs.append(cell)
            self.input_shapes.append(TensorShape(item.shape))
        else:
            self.inputs.append(item)
            self.input_shapes.append(TensorShape(item.shape))

    def static_shapes(self, mode: str) -> list[Any]:
        """Return the shape function's result: lists with None, or None for an unknown rank."""
        shapes = list(self.input_shapes)
        if mode == "unknown":
            shapes = [
                TensorShape(None) if isinstance(value, np.ndarray) else shape
                for value, shape in zip(self.inputs, shapes, strict=True)
            ]

        def constant_value(index: int) -> Any:
            value = self.inputs[index]
            return value if mode == "const" and isinstance(value, np.ndarray) else None

        context = InferenceContext(
            self.op_def,
            self.attrs,
            shapes,
            self.input_types,
            node_name="op_under_test",
            constant_value=constant_value,
            input_handle_data=self.handle_data.get,
        )
        found = run_shape_function(self.definition.shape_function, context)
        return [None if s.dim_values is None else list(s.dim_values) for s in found]

    def run(self) -> list[Any]:
        """The kernel's outputs as arrays (RefCells as their values)."""
        kernel = create_kernel(self.definition, "op_under_test", self.attrs, self.device)
        step = StepContext(step_id=1, run_state=TestRunState())
        context = OpKernelContext(step, self.device, kernel)
        with np.errstate(all="ignore"):
            if kernel.kind in ("pure", "node"):
                result = kernel.compute(*self.inputs)
            elif kernel.kind == "context":
                result = kernel.compute(context, *self.inputs)
            else:
                done: list[Any] = []
                kernel.compute(context, done.append, *self.inputs)
                result = done[0]
                if isinstance(result, Exception):
                    raise result
        flat = (
            list(result)
            if isinstance(result, (tuple, list))
            else []
            if result is None
            else [result]
        )
        return [value.value if isinstance(value, RefCell) else value for value in flat]

    @property
    def output_types(self) -> list[Any]:
        """The declared dtypes of the outputs."""
        return [t.base_dtype for t in self.op_def.output_types(self.attrs)]


def _dtype(item: Any, swept: str) -> Any:
    if isinstance(item, (samples.Uninitialized, samples.Resource)):
        return dtypes.as_dtype(item.dtype)
    if swept and item.dtype == np.dtype(samples.NUMPY_TYPES[swept]):
        return dtypes.as_dtype(swept)
    return dtypes.as_dtype("string" if item.dtype == object else item.dtype)


def _attr(kind: str, value: Any) -> Any:
    if kind.startswith("list("):
        return [_attr(kind[5:-1], item) for item in value]
    if kind == "type":
        return dtypes.as_dtype(value)
    if kind == "string":
        return value.encode() if isinstance(value, str) else value
    if kind == "shape":
        return TensorShape(value)
    if kind == "tensor":
        return np.asarray(value)
    if kind == "func":
        return NameAttrList(value, {})
    return value
