"""A tensor of the graph: one output of one operation.

Arithmetic and comparison operators are registered by the ops that compute them, through
:func:`register_operator`, so that this folder needs no op. The first use of one imports these ops:
a graph from a file needs no operator. Equality and hash are identity, as in TensorFlow 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from tfnb.core import errors
from tfnb.core.shape_inference import merge_shapes
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework import functions_above
from tfnb.framework.default_session import SessionLike, session_for_eval

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import numpy as np

    from tfnb.core.dtypes import DType
    from tfnb.framework.graph import Graph
    from tfnb.framework.operation import Operation

EXPORTS = {"tf": ["Tensor"]}

UNKNOWN_SHAPE = TensorShape(None)


class Tensor:
    """A symbolic handle to one of the outputs of an :class:`~tfnb.framework.operation.Operation`.

    Attributes:
      op: the operation that produces it.
      graph: the graph that holds it.
      value_index: which of the operation's outputs it is.
      dtype: the type of its elements; a reference type for a variable's buffer.
    """

    __slots__ = (
        "__dict__",
        "__weakref__",
        "_handle_data",
        "_shape",
        "dtype",
        "graph",
        "known_value",
        "op",
        "value_index",
    )

    OVERLOADABLE_OPERATORS: ClassVar[frozenset[str]] = frozenset(
        {
            "__abs__",
            "__add__",
            "__and__",
            "__div__",
            "__eq__",
            "__floordiv__",
            "__ge__",
            "__getitem__",
            "__gt__",
            "__invert__",
            "__le__",
            "__lt__",
            "__matmul__",
            "__mod__",
            "__mul__",
            "__ne__",
            "__neg__",
            "__or__",
            "__pow__",
            "__radd__",
            "__rand__",
            "__rdiv__",
            "__rfloordiv__",
            "__rmatmul__",
            "__rmod__",
            "__rmul__",
            "__ror__",
            "__rpow__",
            "__rsub__",
            "__rtruediv__",
            "__rxor__",
            "__sub__",
            "__truediv__",
            "__xor__",
        }
    )

    # Makes `ndarray + tensor` call the tensor's operator first.
    __array_priority__ = 100

    op: Operation
    graph: Graph
    value_index: int
    dtype: DType
    _shape: TensorShape
    # (dtype, shape) pairs that a resource or variant refers to.
    _handle_data: list[tuple[DType, TensorShape]] | None
    # The value, once it was found to be known during graph building.
    known_value: np.ndarray | None

    if TYPE_CHECKING:
        # The ops set these with override_operator.
        assign: Any

        def __getitem__(self, key: Any) -> Tensor: ...
        def __neg__(self) -> Tensor: ...
        def __abs__(self) -> Tensor: ...
        def __invert__(self) -> Tensor: ...
        def __add__(self, other: Any) -> Tensor: ...
        def __radd__(self, other: Any) -> Tensor: ...
        def __sub__(self, other: Any) -> Tensor: ...
        def __rsub__(self, other: Any) -> Tensor: ...
        def __mul__(self, other: Any) -> Tensor: ...
        def __rmul__(self, other: Any) -> Tensor: ...
        def __truediv__(self, other: Any) -> Tensor: ...
        def __rtruediv__(self, other: Any) -> Tensor: ...
        def __floordiv__(self, other: Any) -> Tensor: ...
        def __rfloordiv__(self, other: Any) -> Tensor: ...
        def __mod__(self, other: Any) -> Tensor: ...
        def __rmod__(self, other: Any) -> Tensor: ...
        def __pow__(self, other: Any) -> Tensor: ...
        def __rpow__(self, other: Any) -> Tensor: ...
        def __matmul__(self, other: Any) -> Tensor: ...
        def __rmatmul__(self, other: Any) -> Tensor: ...
        def __and__(self, other: Any) -> Tensor: ...
        def __rand__(self, other: Any) -> Tensor: ...
        def __or__(self, other: Any) -> Tensor: ...
        def __ror__(self, other: Any) -> Tensor: ...
        def __xor__(self, other: Any) -> Tensor: ...
        def __rxor__(self, other: Any) -> Tensor: ...
        def __lt__(self, other: Any) -> Tensor: ...
        def __le__(self, other: Any) -> Tensor: ...
        def __gt__(self, other: Any) -> Tensor: ...
        def __ge__(self, other: Any) -> Tensor: ...

    def __init__(self, op: Operation, value_index: int, dtype: DType) -> None:
        self.op = op
        self.graph = op.graph
        self.value_index = value_index
        self.dtype = dtype
        self._shape = UNKNOWN_SHAPE
        self._handle_data = None
        self.known_value = None

    @property
    def name(self) -> str:
        """The name: that of the operation and the index of the output."""
        return f"{self.op.name}:{self.value_index}"

    @property
    def device(self) -> str:
        """The requested device of the operation, or ``""``."""
        return self.op.requested_device

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        return self._shape

    @property
    def ndim(self) -> int | None:
        """The rank, or None where it is not known."""
        return self._shape.rank

    def get_shape(self) -> TensorShape:
        """Return the static shape."""
        return self._shape

    def set_shape(self, shape: Any) -> None:
        """Merge a shape that the caller knows into the static shape.

        Args:
          shape: any value that ``TensorShape`` accepts.

        Raises:
          ValueError: it contradicts the static shape.
        """
        if not isinstance(shape, TensorShape):
            shape = TensorShape(shape)
        self._shape = merge_shapes(self._shape, shape)

    def consumers(self) -> list[Operation]:
        """Return the operations that take this tensor, once for each of their inputs that is it."""
        return self.graph.consumer_index.of(self)

    @property
    def _id(self) -> int:
        return id(self)

    def _as_node_def_input(self) -> str:
        """Return the text that names this tensor in a NodeDef's inputs."""
        return f"{self.op.name}:{self.value_index}" if self.value_index else self.op.name

    def _shape_as_list(self) -> list[int | None] | None:
        dims = self._shape.dim_values
        return None if dims is None else list(dims)

    def _shape_tuple(self) -> tuple[int | None, ...] | None:
        return self._shape.dim_values

    def eval(self, feed_dict: Any = None, session: SessionLike | None = None) -> Any:
        """Run the operations that the tensor needs and return its value.

        Args:
          feed_dict: values to use in place of tensors.
          session: the session; without one the default session.

        Raises:
          ValueError: there is no session, or it runs another graph.
        """
        return session_for_eval(self.graph, session).run(self, feed_dict)

    def ref(self) -> Reference:
        """Return a hashable stand-in for this tensor."""
        return Reference(self)

    experimental_ref = ref

    def __tf_tensor__(self, dtype: DType | None = None, name: str | None = None) -> Tensor:
        """Return itself; ValueError if another dtype is requested."""
        if dtype is not None and not dtype.is_compatible_with(self.dtype):
            prefix = f"{name}: " if name is not None else ""
            raise ValueError(
                f"{prefix}Tensor conversion requested dtype {dtype.name} for Tensor with dtype "
                f"{self.dtype.name}: {self!r}"
            )
        return self

    def __str__(self) -> str:
        shape = f", shape={self._shape}" if self._shape.rank is not None else ""
        device = f", device={self.device}" if self.device else ""
        return f'Tensor("{self.name}"{shape}, dtype={self.dtype.name}{device})'

    def __repr__(self) -> str:
        return f"<tf.Tensor '{self.name}' shape={self._shape} dtype={self.dtype.name}>"

    def __copy__(self) -> Tensor:
        """Return itself: a graph has one object per tensor."""
        return self

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        """Refuse: a tensor is part of its graph, and a copy would not be."""
        raise TypeError(f"cannot pickle '{type(self).__name__}' object")

    def __bool__(self) -> NoReturn:
        """Refuse: the value is not known while the graph is built."""
        self._disallow(
            "Using a symbolic `tf.Tensor` as a Python `bool`",
            "Its value is known only when the graph runs: use `tf.cond`, `tf.where` or "
            "`tf.logical_and`, or `if t is not None` to test for None.",
        )

    __nonzero__ = __bool__

    def __iter__(self) -> Iterator[Tensor]:
        """Refuse: the number of slices is not known while the graph is built."""
        self._disallow(
            "Iterating over a symbolic `tf.Tensor`",
            "Use `tf.unstack` where the size is known, else `tf.map_fn` or `tf.while_loop`.",
        )

    def __len__(self) -> int:
        """Refuse: the shape may not be known while the graph is built."""
        raise TypeError(
            f"len is not well defined for a symbolic Tensor ({self.name}). Please call `x.shape` "
            "rather than `len(x)` for shape information."
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        """Refuse: there is no value for NumPy."""
        raise NotImplementedError(
            f"Cannot convert a symbolic tf.Tensor ({self.name}) to a numpy array. This error may "
            "indicate that you're trying to pass a Tensor to a NumPy call, which is not supported."
        )

    def _disallow(self, task: str, advice: str) -> NoReturn:
        raise errors.OperatorNotAllowedInGraphError(
            f"{task} is not allowed ({self.name}). {advice}"
        )

    @staticmethod
    def _override_operator(operator: str, function: Callable[..., Any]) -> None:
        """Make ``function`` the implementation of an operator of all tensors."""
        override_operator(Tensor, operator, function)


def override_operator(cls: type[Any], operator: str, function: Callable[..., Any]) -> None:
    """Set an operator of a tensor class.

    Raises:
      ValueError: the operator is not one of those that may be set.
    """
    if operator not in Tensor.OVERLOADABLE_OPERATORS:
        raise ValueError(
            f"Overriding {operator} is disallowed. Allowed operators are "
            f"{sorted(Tensor.OVERLOADABLE_OPERATORS)}."
        )
    setattr(cls, operator, function)


def register_operator(cls: type[Any], operator: str, function: Callable[..., Any]) -> None:
    """Register what computes an operator of a tensor class.

    An operator that a program has set meanwhile stays.

    Raises:
      ValueError: the operator is not one of those that may be set.
    """
    before = _registered.get((cls, operator))
    _registered[cls, operator] = function
    if cls.__dict__.get(operator) is before:
        override_operator(cls, operator, function)


# (class, operator) -> what ops have registered; before that, what imports them.
_registered: dict[tuple[type[Any], str], Callable[..., Any]] = {}


def import_at_first_use(cls: type[Any], operators: Iterable[str]) -> None:
    """Make the first use of an operator of a tensor class import the ops that register it."""
    for operator in operators:
        register_operator(cls, operator, _importing(cls, operator))


def _importing(cls: type[Any], operator: str) -> Callable[..., Any]:
    def first_use(*operands: Any) -> Any:
        functions_above.set_tensor_operators.load()
        # The operator of the class may be one of the program that calls this function.
        registered = _registered[cls, operator]
        if registered is first_use:
            raise NotImplementedError(f"No op registers {operator} of {cls.__name__}.")
        return registered(*operands)

    first_use.__name__ = operator
    return first_use


# Those that are registered; the others of Tensor are identity, or missing.
import_at_first_use(Tensor, Tensor.OVERLOADABLE_OPERATORS - {"__eq__", "__ne__"})


class Reference:
    """A hashable object that represents a tensor in sets and dicts."""

    __slots__ = ("_target",)

    def __init__(self, target: Any) -> None:
        self._target = target

    def deref(self) -> Any:
        """Return the tensor."""
        return self._target

    def __eq__(self, other: object) -> bool:
        """Return whether both represent one object."""
        return isinstance(other, Reference) and self._target is other._target

    def __hash__(self) -> int:
        """Return the identity of the object."""
        return id(self._target)

    def __repr__(self) -> str:
        return f"<Reference wrapping {self._target!r}>"
