"""Elementwise nodes of a GPU as one CUDA kernel, whose source is traced from their own kernels.

A kernel is a function over an array module (``xp.maximum(x, zero)``).  Called with
:class:`TracedModule` for the module and :class:`TracedArray` for arrays, it computes nothing, but
its operations are recorded: one statement for each elementwise function, with the types that NumPy
determines.  A kernel that reads values, moves elements or makes arrays cannot be traced: it raises
:class:`NotElementwise` and runs by itself.  Therefore no op needs a second definition::

    Relu, Mul by 2, AddV2     const float v1 = tfnb::maximum_f(in0, float(0.0f));
                              const float v2 = tfnb::multiply(v1, float(2.0f));
                              const float v3 = tfnb::add(v2, in1);
                              out = v3;

Shapes are those of the actual arrays, so that a kernel's own checks apply; CuPy's
``ElementwiseKernel`` broadcasts.  Numbers are the only part of a graph that enters the source.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.common_runtime.lowering.support.cuda_functions import (
    C_TYPES,
    c_function,
    literal,
    preamble,
)
from tfnb.core import errors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.core.op_kernel import OpKernel

type_of_form = tuple[np.dtype[Any], tuple[int, ...]]

OPTIONS = ("--fmad=false",)
"""Rounds a product and a sum separately, as two kernels would."""
# Cache limit per cluster: sources, one per combination of types and shapes.
_MOST_FORMS = 64
# The compilation of a longer source takes longer than it saves.
_MOST_STATEMENTS = 400


class NotElementwise(Exception):
    """Raised if a kernel does something that elementwise source cannot express."""


class _Statements:
    """Statements of a kernel's source under construction."""

    def __init__(self) -> None:
        self.statements: list[str] = []
        self.functions: set[str] = set()
        self.dtypes: set[str] = set()

    def add(self, function: str, args: Sequence[str], dtype: np.dtype[Any], cast: str = "") -> str:
        """Write a statement; return its variable."""
        if len(self.statements) >= _MOST_STATEMENTS:
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


class TracedArray:
    """A traced array: its type and shape are known, its elements are not."""

    __array_ufunc__ = None  # NumPy leaves operators to this class
    __slots__ = ("_source", "dtype", "shape", "text")

    def __init__(
        self, source: _Statements, text: str, dtype: np.dtype[Any], shape: tuple[int, ...]
    ) -> None:
        source.type(dtype)
        self._source = source
        self.text = text
        self.dtype = dtype
        self.shape = shape

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: int(np.prod(self.shape, dtype=np.int64)))
    itemsize = property(lambda self: self.dtype.itemsize)

    def astype(self, dtype: Any, copy: bool = True) -> TracedArray:
        """Return the same numbers in another type."""
        target = np.dtype(dtype)
        return TracedArray(self._source, self._cast(target), target, self.shape)

    def _cast(self, target: np.dtype[Any]) -> str:
        """Return the variable as another type."""
        source, dtype = self._source, self.dtype
        if dtype == target:
            return self.text
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
        return source.add(name, [self.text], target, f"<{source.type(target)}>")

    def clip(self, lowest: Any, highest: Any, out: Any = None) -> TracedArray:
        """Return the numbers, limited to the range from ``lowest`` to ``highest``."""
        found = call(self._source, "maximum", (self, self.dtype.type(lowest)))
        return _into(out, call(self._source, "minimum", (found, self.dtype.type(highest))))

    def reshape(self, *shape: Any) -> TracedArray:
        """Return the array if its shape stays the same; else it is not elementwise."""
        wanted = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
        if wanted == self.shape or (wanted == (-1,) and self.ndim == 1):
            return self
        raise NotElementwise("reshape")

    def __getattr__(self, name: str) -> Any:
        raise NotElementwise(name)

    def __setitem__(self, place: Any, value: Any) -> None:
        if place is ...:
            place = np.True_
        found = TracedModule(self._source).where(place, value, self)
        _into(self, found)

    def __bool__(self) -> bool:
        raise NotElementwise("the value is looked at")

    __int__ = __float__ = __index__ = __len__ = __iter__ = __bool__
    __hash__ = None  # type: ignore[assignment]


def _operator(name: str, *, is_swapped: bool = False) -> Callable[..., TracedArray]:
    def operate(self: TracedArray, *others: Any) -> TracedArray:
        args = (*others, self) if is_swapped else (self, *others)
        return call(self._source, name, args)

    return operate


for _python, _name in {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "true_divide",
    "floordiv": "floor_divide", "mod": "remainder", "pow": "power", "and": "bitwise_and",
    "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "left_shift", "rshift": "right_shift",
}.items():  # fmt: skip
    setattr(TracedArray, f"__{_python}__", _operator(_name))
    setattr(TracedArray, f"__r{_python}__", _operator(_name, is_swapped=True))
for _python, _name in {
    "neg": "negative", "abs": "absolute", "invert": "invert", "lt": "less",
    "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal",
}.items():  # fmt: skip
    setattr(TracedArray, f"__{_python}__", _operator(_name))


class TracedModule:
    """The array module passed to a kernel in place of CuPy."""

    def __init__(self, source: _Statements) -> None:
        self._source = source

    def where(self, condition: Any, x: Any, y: Any) -> TracedArray:
        """Return elements of ``x`` where the condition holds, else of ``y``."""
        if not _is_typed(condition) or condition.dtype.kind != "b":
            raise NotElementwise("where")
        dtype = np.result_type(*[one.dtype if _is_typed(one) else one for one in (x, y)])
        shape = np.broadcast_shapes(*[np.shape(one) for one in (condition, x, y)])
        args = [_text_of(self._source, one, dtype) for one in (x, y)]
        args.insert(0, _text_of(self._source, condition, np.dtype(bool)))
        return TracedArray(self._source, self._source.add("where", args, dtype), dtype, shape)

    def clip(self, x: TracedArray, lowest: Any, highest: Any, out: Any = None) -> TracedArray:
        """Return :meth:`TracedArray.clip`."""
        return x.clip(lowest, highest, out)

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name, None)
        if isinstance(found, np.ufunc):
            return partial(self._call, found.__name__)
        if isinstance(found, float | type):
            return found
        raise NotElementwise(name)

    def _call(self, name: str, *args: Any, out: Any = None) -> Any:
        return _into(out, call(self._source, name, args))


def _is_typed(value: Any) -> bool:
    return isinstance(value, TracedArray | np.generic)


def _into(out: Any, found: TracedArray) -> TracedArray:
    """Return the result, in ``out`` if the kernel gave one."""
    if out is None:
        return found
    if not isinstance(out, TracedArray) or (out.dtype, out.shape) != (found.dtype, found.shape):
        raise NotElementwise("out")
    out.text = found.text
    return out


def _text_of(source: _Statements, value: Any, dtype: np.dtype[Any]) -> str:
    """Return an argument converted to a type, in C."""
    if isinstance(value, TracedArray):
        return value._cast(dtype)
    if isinstance(value, bool | int | float | np.generic):
        source.type(dtype)
        return literal(dtype.type(value))
    raise NotElementwise(type(value).__name__)


def call(source: _Statements, name: str, args: Sequence[Any]) -> TracedArray:
    """Trace a call of one of NumPy's elementwise functions.

    Raises:
      NotElementwise: there is no such function in C for these arguments.
      ValueError: the shapes do not broadcast.
    """
    ufunc = getattr(np, name)
    types = [
        one.dtype if _is_typed(one) else type(one) if type(one) in (int, float) else None
        for one in args
    ]
    if None in types or ufunc.nout != 1 or len(types) != ufunc.nargs - 1:
        raise NotElementwise(name)
    try:
        *inputs, result = ufunc.resolve_dtypes((*types, None))
    except TypeError:
        raise NotElementwise(name) from None
    if len(set(inputs)) != 1 or inputs[0].name not in C_TYPES:
        raise NotElementwise(name)
    function = c_function(ufunc.__name__, inputs[0])
    if function is None:
        raise NotElementwise(f"{name} of {inputs[0].name}")
    shape = np.broadcast_shapes(*[np.shape(one) for one in args])
    texts = [_text_of(source, one, inputs[0]) for one in args]
    return TracedArray(source, source.add(function, texts, result), result, shape)


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


type_of_member = tuple["OpKernel", "Sequence[Any]"]


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
    module = TracedModule(source)
    values = [TracedArray(source, f"in{i}", *form) for i, form in enumerate(inputs)]
    made: list[Any] = []
    for kernel, args in members:
        compute = kernel.compute
        if not is_own_kernel(kernel):
            raise NotElementwise(kernel.definition.name)
        given = [
            arg
            if isinstance(arg, np.generic)
            else made[arg[0]]
            if type(arg) is tuple
            else values[arg]
            for arg in args
        ]
        try:
            with np.errstate(all="ignore"):
                found = compute.func(module, *[_copied(one) for one in given], **compute.keywords)  # type: ignore[attr-defined]
        except NotElementwise:
            raise
        except Exception as error:
            # The kernel itself rejects such inputs, and raises the error when it runs by itself.
            raise NotElementwise(str(error)) from error
        made.append(found)
        if not isinstance(found, TracedArray | np.generic):
            raise NotElementwise(kernel.definition.name)
    if not isinstance(made[-1], TracedArray):
        raise NotElementwise("a constant")
    return FusedSource(source, inputs, made[-1])


def _copied(value: Any) -> Any:
    """Return a value that the kernel may overwrite."""
    if isinstance(value, np.generic):
        return value
    return TracedArray(value._source, value.text, value.dtype, value.shape)


def is_own_kernel(kernel: OpKernel) -> bool:
    """Return whether a kernel is a function over an array module that tracing can call."""
    compute = kernel.compute
    return (
        kernel.kind == "pure"
        and not kernel.is_stateful
        and isinstance(compute, partial)
        and len(compute.args) == 1
        and compute.args[0] is kernel.device.xp
    )


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
            _forget_some(self.refusals)
            self.refusals[forms] = f"{type(error).__name__}: {error}"
            return None
        _forget_some(self._sources)
        self._sources[forms] = source
        return found

    def _compute(self, source: FusedSource, args: Sequence[Any]) -> Any:
        out = self._xp.empty(source.shape, source.dtype)
        source.kernel(self._xp)(*args, out)
        return out


def _forget_some(kept: dict[Any, Any]) -> None:
    """Make room in a cache, in case shapes change in every step."""
    if len(kept) >= _MOST_FORMS:
        del kept[next(iter(kept))]
