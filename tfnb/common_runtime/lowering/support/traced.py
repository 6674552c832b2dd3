"""Elementwise nodes as statements of another language, traced from their own kernels.

A kernel is a function over an array module (``xp.maximum(x, zero)``).  Called with
:class:`TracedModule` for the module and :class:`TracedArray` for arrays, it computes nothing, but
its operations are recorded: one statement for each elementwise function, with the types that NumPy
determines.  A kernel that reads values, moves elements or makes arrays cannot be traced: it raises
:class:`NotElementwise` and runs by itself.  Therefore no op needs a second definition.

The language is that of :class:`Statements`: ``fused.py`` writes CUDA, ``machine_code.py`` LLVM's.
Shapes are those of the actual arrays, so that a kernel's own checks apply.  Numbers are the only
part of a graph that enters the source.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.core.op_kernel import OpKernel

type_of_form = tuple[np.dtype[Any], tuple[int, ...]]

# Cache limit per cluster: sources, one per combination of types and shapes.
_MOST_FORMS = 64
MOST_STATEMENTS = 400
"""The compilation of a longer source takes longer than it saves."""


class NotElementwise(Exception):
    """Raised if a kernel does something that elementwise source cannot express."""


class Statements(Protocol):
    """The statements of a source under construction, in one language."""

    def type(self, dtype: np.dtype[Any]) -> str:
        """Return the name of a type; raise :class:`NotElementwise` if there is none."""

    def function(self, name: str, dtype: np.dtype[Any]) -> str | None:
        """Return the name of NumPy's function for arguments of a type; None if there is none."""

    def literal(self, value: np.generic) -> str:
        """Return a number, exact to the last bit."""

    def add(
        self, function: str, args: Sequence[str], dtype: np.dtype[Any], of: np.dtype[Any]
    ) -> str:
        """Write a statement with a result of a type, of arguments of a type; return its name."""

    def cast(self, text: str, dtype: np.dtype[Any], target: np.dtype[Any]) -> str:
        """Write a conversion to another type; return its name."""

    def reshaped(self, text: str, shape: tuple[int, ...], wanted: tuple[int, ...]) -> str:
        """Return the name of a value in another shape; raise if the language cannot reshape it."""


class TracedArray:
    """A traced array: its type and shape are known, its elements are not."""

    __array_ufunc__ = None  # NumPy leaves operators to this class
    __slots__ = ("_source", "dtype", "shape", "text")

    def __init__(
        self, source: Statements, text: str, dtype: np.dtype[Any], shape: tuple[int, ...]
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
        return TracedArray(self._source, self.cast(target), target, self.shape)

    def cast(self, target: np.dtype[Any]) -> str:
        """Return the variable as another type."""
        if self.dtype == target:
            return self.text
        return self._source.cast(self.text, self.dtype, target)

    def clip(self, lowest: Any, highest: Any, out: Any = None) -> TracedArray:
        """Return the numbers, limited to the range from ``lowest`` to ``highest``."""
        found = call(self._source, "maximum", (self, self.dtype.type(lowest)))
        return _into(out, call(self._source, "minimum", (found, self.dtype.type(highest))))

    def reshape(self, *shape: Any) -> TracedArray:
        """Return the array in a shape of the same elements, if the language can express it."""
        wanted = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
        if wanted == self.shape or (wanted == (-1,) and self.ndim == 1):
            return self
        if wanted.count(-1) == 1:
            others = int(np.prod([one for one in wanted if one != -1], dtype=np.int64))
            size = self.size // others if others else 0
            wanted = tuple(size if one == -1 else one for one in wanted)
        text = self._source.reshaped(self.text, self.shape, wanted)
        return TracedArray(self._source, text, self.dtype, wanted)

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

    def __init__(self, source: Statements) -> None:
        self._source = source

    def where(self, condition: Any, x: Any, y: Any) -> TracedArray:
        """Return elements of ``x`` where the condition holds, else of ``y``."""
        if not _is_typed(condition) or condition.dtype.kind != "b":
            raise NotElementwise("where")
        dtype = np.result_type(*[one.dtype if _is_typed(one) else one for one in (x, y)])
        shape = np.broadcast_shapes(*[np.shape(one) for one in (condition, x, y)])
        args = [_text_of(self._source, one, dtype) for one in (x, y)]
        args.insert(0, _text_of(self._source, condition, np.dtype(bool)))
        text = self._source.add("where", args, dtype, dtype)
        return TracedArray(self._source, text, dtype, shape)

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


def _text_of(source: Statements, value: Any, dtype: np.dtype[Any]) -> str:
    """Return an argument converted to a type, in the language."""
    if isinstance(value, TracedArray):
        return value.cast(dtype)
    if isinstance(value, bool | int | float | np.generic):
        source.type(dtype)
        return source.literal(dtype.type(value))
    raise NotElementwise(type(value).__name__)


def call(source: Statements, name: str, args: Sequence[Any]) -> TracedArray:
    """Trace a call of one of NumPy's elementwise functions.

    Raises:
      NotElementwise: there is no such function in the language for these arguments.
      ValueError: the shapes do not broadcast.
    """
    ufunc = getattr(np, name)
    types = [
        one.dtype if _is_typed(one) else type(one) if type(one) in (int, float) else None
        for one in args
    ]
    if any(one is None for one in types) or ufunc.nout != 1 or len(types) != ufunc.nargs - 1:
        raise NotElementwise(name)
    try:
        *inputs, result = ufunc.resolve_dtypes((*types, None))
    except TypeError:
        raise NotElementwise(name) from None
    if len(set(inputs)) != 1:
        raise NotElementwise(name)
    source.type(inputs[0])
    function = source.function(ufunc.__name__, inputs[0])
    if function is None:
        raise NotElementwise(f"{name} of {inputs[0].name}")
    shape = np.broadcast_shapes(*[np.shape(one) for one in args])
    texts = [_text_of(source, one, inputs[0]) for one in args]
    return TracedArray(source, source.add(function, texts, result, inputs[0]), result, shape)


type_of_member = tuple["OpKernel", "Sequence[Any]"]


def trace(
    members: Sequence[type_of_member], source: Statements, values: Sequence[TracedArray]
) -> list[Any]:
    """Write the statements of some nodes; return the result of each.

    Args:
      members: kernels with their arguments: ``int`` for the number of an input, ``(int,)`` for that
        of an earlier member, a NumPy scalar for a constant.
      source: receives the statements.
      values: the inputs.

    Raises:
      NotElementwise: the nodes, or their inputs, are not supported.
    """
    module = TracedModule(source)
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
    return made


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


def forget_some(kept: dict[Any, Any]) -> None:
    """Make room in a cache, in case shapes change in every step."""
    if len(kept) >= _MOST_FORMS:
        del kept[next(iter(kept))]
