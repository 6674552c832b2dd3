"""Elementwise nodes of a GPU as one CUDA kernel, whose source is traced from their own kernels.

See ``traced.py``; these are the statements in CUDA::

    Relu, Mul by 2, AddV2     const float v1 = tfnb::maximum_f(in0, float(0.0f));
                              const float v2 = tfnb::multiply(v1, float(2.0f));
                              const float v3 = tfnb::add(v2, in1);
                              out = v3;

CuPy's ``ElementwiseKernel`` broadcasts.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.common_runtime.lowering.support.cuda_functions import (
    C_TYPES,
    c_function,
    literal,
    preamble,
)
from tfnb.common_runtime.lowering.support.traced import (
    MOST_STATEMENTS,
    NotElementwise,
    TracedArray,
    forget_some,
    is_own_kernel,
    trace,
    type_of_form,
    type_of_member,
)
from tfnb.core import errors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.core.op_kernel import OpKernel

OPTIONS = ("--fmad=false",)
"""Rounds a product and a sum separately, as two kernels would."""


class _Statements:
    """Statements of a kernel's source under construction."""

    def __init__(self) -> None:
        self.statements: list[str] = []
        self.functions: set[str] = set()
        self.dtypes: set[str] = set()

    def add(
        self,
        function: str,
        args: Sequence[str],
        dtype: np.dtype[Any],
        of: np.dtype[Any] | None = None,
        cast: str = "",
    ) -> str:
        """Write a statement; return its variable."""
        if len(self.statements) >= MOST_STATEMENTS:
            raise NotElementwise("too long")
        self.functions.add(function)
        name = f"v{len(self.statements) + 1}"
        self.statements.append(
            f"const {self.type(dtype)} {name} = tfnb::{function}{cast}({', '.join(args)});"
        )
        return name

    def type(self, dtype: np.dtype[Any]) -> str:
        """Return a type in C."""
        name = dtype.name
        if name not in C_TYPES:
            raise NotElementwise(f"of {name}")
        self.dtypes.add(name)
        return C_TYPES[name]

    def function(self, name: str, dtype: np.dtype[Any]) -> str | None:
        """Return the name of NumPy's function in C; None if there is none."""
        return c_function(name, dtype)

    def literal(self, value: np.generic) -> str:
        """Return a number in C."""
        return literal(value)

    def cast(self, text: str, dtype: np.dtype[Any], target: np.dtype[Any]) -> str:
        """Write a conversion to another type; return its variable."""
        name = "cast"
        is_float = c_function("sqrt", dtype) is not None
        if target.kind == "b":
            name = "cast_bool"
        elif target.kind in "iu" and is_float:
            if target.name not in ("int32", "int64"):
                raise NotElementwise(f"{dtype.name} as {target.name}")
            name = f"cast_{target.name}_f"
        elif is_float and target.itemsize != 2:
            name = "cast_f"
        elif target.name in ("float16", "bfloat16") and dtype != np.float64:
            name = "cast_half"
        return self.add(name, [text], target, dtype, f"<{self.type(target)}>")

    def reshaped(self, text: str, shape: tuple[int, ...], wanted: tuple[int, ...]) -> str:
        """Refuse: arrays keep their shapes."""
        raise NotElementwise("reshape")


class FusedSource:
    """One kernel, ready to be compiled.

    Attributes:
      in_params: the parameters that are read, as CuPy's ElementwiseKernel takes them.
      out_params: the parameter that is written.
      operation: the statements.
      preamble: the functions that they call.
      dtype: the dtype of the result.
      shape: the shape of the result.
    """

    __slots__ = ("dtype", "in_params", "operation", "out_params", "preamble", "shape")

    def __init__(
        self, source: _Statements, inputs: Sequence[type_of_form], found: TracedArray
    ) -> None:
        self.dtype, self.shape = found.dtype, found.shape
        self.in_params = ", ".join(f"{dtype.name} in{i}" for i, (dtype, _) in enumerate(inputs))
        self.out_params = f"{found.dtype.name} out"
        self.operation = "\n".join([*source.statements, f"out = {found.text};"])
        self.preamble = preamble(source.functions, source.dtypes)

    def kernel(self, cupy: Any) -> Any:
        """Return CuPy's kernel; all clusters with the same source share one."""
        return _kernel(cupy, self.in_params, self.out_params, self.operation, self.preamble)


@lru_cache(maxsize=1024)
def _kernel(cupy: Any, in_params: str, out_params: str, operation: str, functions: str) -> Any:
    return cupy.ElementwiseKernel(
        in_params, out_params, operation, "tfnb_fused", preamble=functions, options=OPTIONS
    )


def write_source(members: Sequence[type_of_member], inputs: Sequence[type_of_form]) -> FusedSource:
    """Return the source of some nodes.

    Args:
      members: kernels with their arguments: ``int`` for the number of an input, ``(int,)`` for that
        of an earlier member, a NumPy scalar for a constant.  The last member computes the result.
      inputs: dtype and shape of each input.

    Raises:
      NotElementwise: the nodes, or their inputs, are not supported.
    """
    source = _Statements()
    values = [TracedArray(source, f"in{i}", *form) for i, form in enumerate(inputs)]
    made = trace(members, source, values)
    if not isinstance(made[-1], TracedArray):
        raise NotElementwise("a constant")
    return FusedSource(source, inputs, made[-1])


def num_functions(kernel: OpKernel, dtypes: Sequence[np.dtype[Any]]) -> int:
    """Return the number of elementwise functions in a node; 0 if it is not elementwise.

    The node is traced with arrays of one shape, and with vectors after the first.
    """
    if not is_own_kernel(kernel) or not dtypes or kernel.num_outputs != 1:
        return 0
    known = kernel.state.get("num_functions")
    if known is None:
        known = 0
        for shape in ((2, 3), (3,)):
            forms = [(dtypes[0], (2, 3)), *((one, shape) for one in dtypes[1:])]
            try:
                found = write_source([(kernel, range(len(dtypes)))], forms)
            except NotElementwise:
                continue
            if found.shape == (2, 3):
                known = found.operation.count("tfnb::")
                break
        kernel.state["num_functions"] = known
    return int(known)


class FusedCluster:
    """A cluster as the emitted function calls it: returns the result, or None to run its nodes.

    Attributes:
      refusals: why it runs node by node, by the key of the inputs.
    """

    __slots__ = ("_launch", "_members", "_sources", "_xp", "refusals")

    def __init__(self, members: Sequence[type_of_member]) -> None:
        """Initialize the cluster.

        Args:
          members: its members as for :func:`write_source`, all on one GPU.
        """
        last = members[-1][0]
        device: Any = last.device
        self._members = members
        self._xp = device.xp
        self._launch = device.wrap_kernel(self._compute, last.node_name, last.definition.name)
        self._sources: dict[tuple[type_of_form, ...], FusedSource] = {}
        self.refusals: dict[tuple[type_of_form, ...], str] = {}

    def __call__(self, *args: Any) -> Any:
        """Return the result, or None."""
        array_type = self._xp.ndarray
        for arg in args:
            if not isinstance(arg, array_type):
                return None
        forms = tuple([(arg.dtype, arg.shape) for arg in args])
        source = self._sources.get(forms)
        if source is not None:
            return self._launch(source, args)
        if forms in self.refusals:
            return None
        try:
            source = write_source(self._members, forms)
            found = self._launch(source, args)
        except errors.ResourceExhaustedError:
            return None  # the nodes need less memory, or raise the error
        except Exception as error:
            forget_some(self.refusals)
            self.refusals[forms] = f"{type(error).__name__}: {error}"
            return None
        forget_some(self._sources)
        self._sources[forms] = source
        return found

    def _compute(self, source: FusedSource, args: Sequence[Any]) -> Any:
        out = self._xp.empty(source.shape, source.dtype)
        source.kernel(self._xp)(*args, out)
        return out
