"""The user's functions of ``map`` and related methods, as functions of the graph."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.core.attr_value import NameAttrList
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.functions.defun_graph import name_of
from tfnb.framework.functions.function import DefinedFunction
from tfnb.library.data.structure import (
    from_components,
    normalized,
    shapes_of,
    spec_of,
    to_components,
    types_of,
)
from tfnb.ops.array.identity_ops import identity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.framework.graph import Graph
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Nested

_numbers = itertools.count()


class StructuredFunction:
    """A Python function of elements that has become a function of the graph.

    Args:
      function: takes the members of a tuple as arguments, any other element as one argument.
      transformation: the dataset method that calls it, for its name.
      *specs: of its arguments.

    Attributes:
      output_spec: the spec of its result.
      captured_inputs: the tensors of the outer graph that it uses.
    """

    def __init__(
        self,
        function: Callable[..., Nested],
        transformation: str,
        *specs: Any,
        make_result: Callable[[Any], Any] | None = None,
    ) -> None:
        flat_types = [dtype for spec in specs for dtype in types_of(spec)]
        flat_shapes = [shape for spec in specs for shape in shapes_of(spec)]
        sizes = [len(types_of(spec)) for spec in specs]
        outer = get_default_graph()
        spec_found: Any = None

        def body(*tensors: Tensor) -> list[Nested]:
            get_default_graph().seed = outer.seed
            for tensor, shape in zip(tensors, flat_shapes):
                tensor.set_shape(shape)
            args, start = [], 0
            for spec, size in zip(specs, sizes):
                args.append(from_components(spec, tensors[start : start + size]))
                start += size
            if len(args) == 1 and type(args[0]) is tuple:
                args = [*args[0]]
            found = function(*args)
            if make_result is not None:
                found = make_result(found)
            if isinstance(found, list):
                # A list of an op's outputs is several tensors, not one.
                found = tuple(found)
            result = normalized(() if found is None else found)
            nonlocal spec_found
            spec_found = spec_of(result)
            results = to_components(spec_found, result)
            _order_effects(get_default_graph())
            return [identity(tensor) for tensor in results]

        label = re.sub(
            r"[^A-Za-z0-9_]", "", f"{transformation}_{name_of(function)}".replace(".", "_")
        )
        self._function = DefinedFunction(
            body,
            [f"args_{index}" for index in range(len(flat_types))],
            flat_types,
            f"__inference_{label}_{next(_numbers)}",
            capture_resource_var_by_value=False,
        )
        self.captured_inputs: Sequence[Tensor] = self._function.captured_inputs
        self.output_spec = spec_found
        self._function.add_to_graph(outer)

    @property
    def name(self) -> str:
        """The name of the function in the graph."""
        return self._function.name

    @property
    def attr(self) -> NameAttrList:
        """The value of the attribute by which a dataset op names it."""
        return NameAttrList(self._function.name, {"_tf_data_function": True})

    @property
    def output_types(self) -> list[Nested]:
        """The types of its results."""
        return types_of(self.output_spec)

    @property
    def output_shapes(self) -> list[Nested]:
        """The shapes of its results."""
        return shapes_of(self.output_spec)


def _order_effects(graph: Graph) -> None:
    """Make operations on one resource run in the order in which they were made.

    Operations inside conds and loops are ordered through the operations that these wait for.
    """
    last: dict[Tensor, Operation] = {}
    for op in graph.get_operations():
        if op._get_control_flow_context() is not None or not op._is_stateful:
            continue
        handles = [tensor for tensor in op.inputs if tensor.dtype is dtypes.resource]
        waits = dict.fromkeys(last[handle] for handle in handles if handle in last)
        op._add_control_inputs([before for before in waits if before not in op.control_inputs])
        last.update(dict.fromkeys(handles, op))
