"""The op registry: every op's signature, shape function, kernels and gradient in one place.

An op is written once, in the file of its family::

    @register_op(
        "Relu",
        "features: T -> activations: T",
        "T: {realnumbertype, qint8}",
        shape=unchanged_shape,
    )
    def relu(xp: Xp, features: Array) -> Array:
        return xp.maximum(features, 0)

    @relu.gradient
    def _(op: Operation, grad: Tensor) -> Gradients:
        return relu_grad(grad, op.outputs[0])

The decorated function is the kernel for every device in ``devices``; the name it is bound to
becomes an :class:`OpDefinition`, which is also callable as the graph builder once the framework
room installed one with :func:`set_builder`.  The registry is filled while modules are imported and
only read afterwards.
"""

from __future__ import annotations

import inspect
import keyword
import math
import re
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes, errors
from tfnb.core.effects import Effect, parse_effects
from tfnb.core.op_def import MISSING, OpDef, parse_op_def
from tfnb.core.op_expression import ConstantKernel, Expression, HeldUse, have_values
from tfnb.core.op_traits import Trait, parse_traits
from tfnb.core.process.later import pattern_later

if TYPE_CHECKING:
    from tfnb.core.kernel_types import Array, Attr

type_of_kernel = Callable[..., Any]

_RESOURCE_INPUT = pattern_later(r":\s*(\w+\s*\*\s*)?resource\b")

_REGISTRY: dict[str, OpDefinition] = {}
_OPS_WITH: dict[Trait, set[str]] = {trait: set() for trait in Trait}
_builder: Callable[..., Any] | None = None
_loaders: list[Callable[[str], None]] = []


class Following:
    """The steps behind a kernel, which ``OpDefinition.biased`` functions do while they make it.

    Args:
      bias: a vector that is added, or None.
      norm: what is subtracted then, a factor, and what is added to the product, or None.
      limits: the smallest and the largest result, and a factor.  Smaller numbers are multiplied by
        the factor; if it is 0, they become the smallest.  NaN stays NaN.
      is_plain: whether there are no compiled routines: NumPy computes the steps.
      is_constant: whether all numbers, and the filter of the node, are constants.

    Attributes:
      kept: what functions made of the constants, if all are constants; else None.
    """

    __slots__ = ("bias", "is_plain", "kept", "limits", "norm")

    def __init__(
        self,
        bias: Array | None,
        norm: tuple[Array, Array, Array] | None,
        limits: tuple[float, float, float],
        *,
        is_plain: bool = False,
        is_constant: bool = False,
    ) -> None:
        self.bias, self.norm, self.limits = bias, norm, limits
        self.is_plain = is_plain
        self.kept: dict[str, Any] | None = {} if is_constant else None

    @property
    def is_nothing(self) -> bool:
        """Whether nothing follows."""
        no_limits = self.limits[:2] == (-math.inf, math.inf)
        return self.bias is None and self.norm is None and no_limits


class OpDefinition:
    """One op: its signature and the functions that implement it.

    Attributes:
      name: TensorFlow's name of the op (``MatMul``).
      function: the shared kernel, or None where the op has no kernel.
      shape_function: ``fn(InferenceContext) -> shape | list of shapes`` or None (all unknown).
      gradient_function: ``fn(operation, *grads)`` or None.
      is_differentiable: False where the op was marked as having no gradient.
      effects: its kernel's effects: files, Python functions, the network.
      traits: its other properties that folders above query.
      expressions: the kernel as lines of Python, each for some types or ranks; the first that fits
        is used.
      tile_expression: how the kernel writes a tile of its result.
      constant_kernel: how the kernel is made for given values of some inputs, or None.
      biased_kernel: how the kernel does what follows it in the same pass, or None.
      channel_norm: what the first result does to each channel, or None.
      held_use: the call to make where a variable holds the op's resource.
      host_memory: names of inputs and outputs that stay in host memory on devices other than CPU.
      float_ops_function: ``fn(operation)``, the number of float operations, or None.
      is_expensive: True or False where the op knows whether running its kernel on another thread
        pays; None: the runtime measures it.
    """

    __slots__ = (
        "__dict__",  # holds __doc__, which a class with a docstring cannot have as a slot
        "__name__",
        "_flags",
        "_kernels",
        "_labelled",
        "_op_def",
        "_priorities",
        "_signature",
        "_special_kernels",
        "_specs",
        "biased_kernel",
        "builder_cache",
        "channel_norm",
        "constant_kernel",
        "constant_value_function",
        "effects",
        "expressions",
        "float_ops_function",
        "function",
        "gradient_function",
        "held_use",
        "host_memory",
        "is_differentiable",
        "is_expensive",
        "is_stateful",
        "name",
        "shape_function",
        "tile_expression",
        "traits",
    )

    def __init__(
        self,
        name: str,
        signature: str,
        specs: tuple[str, ...],
        *,
        shape: Callable[..., Any] | None,
        host_memory: tuple[str, ...],
        flags: dict[str, Any],
        expensive: bool | None = None,
        effects: str = "",
        traits: str = "",
    ) -> None:
        self.name = name
        self.__name__ = self.__qualname__ = name  # until there is a function
        self.__doc__ = None
        self._signature = signature
        self._specs = specs
        self._flags = flags
        self._op_def: OpDef | None = None
        self._kernels: dict[str, type_of_kernel] = {}
        self._labelled: dict[tuple[str, str], type_of_kernel] = {}
        self._priorities: dict[str, int] = {}
        self._special_kernels: list[tuple[tuple[str, ...], dict[str, Attr], type_of_kernel]] = []
        self.function: type_of_kernel | None = None
        self.shape_function = shape
        self.gradient_function: Callable[..., Any] | None = None
        self.float_ops_function: Callable[[Any], float] | None = None
        self.constant_value_function: Callable[..., Any] | None = None
        self.is_differentiable = True
        self.is_stateful: bool = bool(flags.get("stateful"))
        self.host_memory = frozenset(host_memory)
        self.is_expensive = expensive
        self.effects: tuple[Effect, ...] = parse_effects(effects) if effects else ()
        self.traits = parse_traits(traits)
        self.expressions: tuple[Expression, ...] = ()
        self.tile_expression: Expression | None = None
        self.held_use: HeldUse | None = None
        self.constant_kernel: ConstantKernel | None = None
        self.biased_kernel: Callable[..., Any] | None = None
        self.channel_norm: Callable[..., Any] | None = None
        self.builder_cache: Any = None

    @property
    def op_def(self) -> OpDef:
        """The parsed signature; parsed on first use, so that importing 500 ops stays cheap."""
        if self._op_def is None:
            self._op_def = parse_op_def(self.name, self._signature, self._specs, **self._flags)
        return self._op_def

    @op_def.setter
    def op_def(self, op_def: OpDef) -> None:
        self._op_def = op_def

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Add a node to the default graph: inputs in order, then attributes by keyword."""
        if _builder is None:
            raise errors.internal(f"No graph builder is installed; cannot build {self.name}.")
        return _builder(self, args, kwargs)

    @property
    def __signature__(self) -> inspect.Signature:
        """The builder's signature, for ``help`` and completion: inputs, attributes, name."""
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters = [
            inspect.Parameter(
                f"{name}_" if keyword.iskeyword(name) else name,
                kind,
                default=inspect.Parameter.empty if default is MISSING else _plain(default),
            )
            for name, default in self.op_def.parameters().items()
        ]
        return inspect.Signature([*parameters, inspect.Parameter("name", kind, default=None)])

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        """Copy and pickle an op as the function that it stands for: by its name."""
        return get, (self.name,)

    def __repr__(self) -> str:
        return f"<op {self.name}({self._signature})>"

    # -- decorators used below an op ---------------------------------------------------------------

    def kernel(
        self, *device_types: str, priority: int = 0, label: str = "", **attrs: Attr
    ) -> Callable[[type_of_kernel], OpDefinition]:
        """Register another kernel for the given device types.

        Args:
          *device_types: ``CPU``, ``GPU``.
          priority: a node without a requested device goes to the device type whose kernel has the
            highest priority; among equal ones the devices' own priority decides.
          label: the kernel serves only nodes whose ``_kernel`` is this
            (``Graph._kernel_label_map``), and these nodes use no other kernel.
          **attrs: with attributes (``T=dtypes.string``) the kernel serves the nodes that have these
            values, on devices where the op has another kernel.
        """

        def register(function: type_of_kernel) -> OpDefinition:
            if label:
                self._labelled |= {(device_type, label): function for device_type in device_types}
                return self
            if attrs:
                self._special_kernels.append((device_types, attrs, function))
                return self
            for device_type in device_types:
                self._kernels[device_type] = function
                self._priorities[device_type] = priority
            return self

        return register

    def gradient(self, function: Callable[..., Any]) -> OpDefinition:
        """Register ``function(op, *grads)`` as the op's gradient."""
        self.gradient_function = function
        return self

    def shape(self, function: Callable[..., Any]) -> OpDefinition:
        """Register the shape function, where it is too long for ``shape=``."""
        self.shape_function = function
        return self

    def constant_value(self, function: Callable[..., Any]) -> OpDefinition:
        """Register ``function(tensor, partial) -> ndarray | None``: the value at graph building."""
        self.constant_value_function = function
        return self

    def float_ops(self, function: Callable[[Any], float]) -> OpDefinition:
        """Register ``function(operation)``; see :mod:`tfnb.core.float_ops`."""
        self.float_ops_function = function
        return self

    def expression(
        self,
        text: str,
        *,
        types: Iterable[Any] | None = None,
        scalars_only: bool = False,
        attrs: Mapping[str, Attr] | None = None,
        is_elementwise: bool = True,
        is_new: bool = True,
        **names: Any,
    ) -> OpDefinition:
        """Register the kernel as a line of Python; see :mod:`tfnb.core.op_expression`.

        Args:
          text: the expression, inputs in braces.
          types: the values of the attribute ``T`` it serves; None: all that the op's own kernel
            serves.
          scalars_only: whether it is valid for inputs of rank 0 only.
          attrs: only for nodes with these values of attributes.
          is_elementwise: whether it computes a scalar from scalars.
          is_new: whether its result is a number, or an array that nothing else has.
          **names: functions and constants used in braces.
        """
        only = None if types is None else frozenset(types)
        self.expressions += (
            Expression(text, only, scalars_only, names, "", attrs or {}, is_elementwise, is_new),
        )
        return self

    def tile(
        self, text: str, *, vector: str = "", attrs: Mapping[str, str] | None = None, **names: Any
    ) -> OpDefinition:
        """Register how the kernel writes float32 or float64 into a given array.

        Args:
          text: a call, inputs in braces, ``{out}`` for the output, which may be an input's array.
          vector: the input that has one number for each entry of the last dimension.
          attrs: only for nodes with these values of attributes.
          **names: functions and constants used in braces.
        """
        types = frozenset([dtypes.float32, dtypes.float64])
        self.tile_expression = Expression(text, types, False, names, vector, attrs or {})
        return self

    def held(self, kind: str, text: str = "", *, gives: str = "", **names: Any) -> OpDefinition:
        """Register a use of the resource itself; see :class:`~tfnb.core.op_expression.HeldUse`."""
        self.held_use = HeldUse(kind, text, gives, names)
        return self

    def with_constants(
        self, *inputs: str
    ) -> Callable[[Callable[..., type_of_kernel | None]], OpDefinition]:
        """Register how the kernel is made for constants; see :mod:`tfnb.core.op_expression`.

        Args:
          *inputs: names of inputs. The registered function gets their values in this order and the
            attributes by keyword, and returns a function of the other inputs, or None.
        """

        def register(make: Callable[..., type_of_kernel | None]) -> OpDefinition:
            self.constant_kernel = ConstantKernel(inputs, make)
            return self

        return register

    def biased(self, function: Callable[..., Any]) -> OpDefinition:
        """Register ``function(*inputs, following=, **attributes) -> ndarray | None``.

        It does more to the last dimension of the op's result while it makes it: see
        :class:`Following`.  The function returns None where it cannot do so, or not yet, or where
        the op itself raises an error.
        """
        self.biased_kernel = function
        return self

    def normalizes(self, function: Callable[..., Any]) -> OpDefinition:
        """Register ``function(*other_inputs, **attributes) -> three vectors | None``.

        The op's first result is its first input less the first vector, times the second, plus the
        third, each for the last dimension.  None where that does not hold.
        """
        self.channel_norm = function
        return self

    def not_differentiable(self) -> OpDefinition:
        """Mark the op as a place where gradients stop (TensorFlow's NotDifferentiable)."""
        self.is_differentiable = False
        return self

    # -- lookups by the runtime --------------------------------------------------------------------

    @property
    def kernels(self) -> dict[str, type_of_kernel]:
        """Device type -> kernel function."""
        return self._kernels

    def kernel_for(self, device_type: str, attrs: Mapping[str, Attr]) -> type_of_kernel | None:
        """Return the kernel function of a node with these attributes, or None."""
        label = _label_of(attrs)
        if label:
            return self._labelled.get((device_type, label))
        for device_types, wanted, function in self._special_kernels:
            if device_type in device_types and have_values(attrs, wanted):
                return function
        return self.kernels.get(device_type)

    def has_kernel(self, device_type: str, attrs: Mapping[str, Attr] | None = None) -> bool:
        """Return whether the op, or a node with these attributes, has a kernel for the device."""
        label = "" if attrs is None else _label_of(attrs)
        if label:
            return (device_type, label) in self._labelled
        return device_type in self._kernels

    def kernel_priority(self, device_type: str) -> int:
        """Return the op's priority for devices of this type; 0 by default."""
        return self._priorities.get(device_type, 0)

    def device_types(self) -> list[str]:
        """Return the device types that have a kernel, GPU before CPU."""
        return sorted(self._kernels, key=lambda d: (d == "CPU", d))

    def registered_kernels(self) -> str:
        """Return the op's kernels, one per line, as error messages list them."""
        labelled = sorted(self._labelled, key=lambda pair: (pair[0] == "CPU", pair))
        lines = [f"  device='{device}'; label='{label}'\n" for device, label in labelled]
        lines += [f"  device='{device}'\n" for device in self.device_types()]
        return "".join(lines) or "  <no registered kernels>\n"


def _label_of(attrs: Mapping[str, Attr]) -> str:
    label = attrs.get("_kernel")
    if isinstance(label, bytes):
        return label.decode(errors="replace")
    return label if isinstance(label, str) else ""  # any other value is no label


def _plain(default: Attr) -> Attr:
    """Return an attribute's default in the form that a caller would write."""
    if isinstance(default, float):
        return float(f"{default:.7g}")  # float attributes have single precision
    return default.decode() if isinstance(default, bytes) else default


def register_op(
    name: str,
    signature: str,
    *specs: str,
    shape: Callable[..., Any] | None = None,
    stateful: bool = False,
    commutative: bool = False,
    aggregate: bool = False,
    allows_uninitialized_input: bool = False,
    host_memory: Iterable[str] = (),
    devices: Iterable[str] = ("CPU", "GPU"),
    deprecated: tuple[int, str] | None = None,
    expensive: bool | None = None,
    effects: str = "",
    traits: str = "",
) -> Callable[[type_of_kernel | None], OpDefinition]:
    """Declare an op; the decorated function is its kernel (``None``: an op without a kernel).

    Args:
      name: TensorFlow's name of the op.
      signature: ``"a: T, *values: N * T -> out: T"``; see :mod:`tfnb.core.op_def`.  An op that
        takes a resource is stateful.
      *specs: attributes, one string each, in the order of TensorFlow's OpDef.
      shape: the shape function; without one every output has an unknown shape.
      stateful: whether the op's kernel keeps state or has effects.
      commutative: whether inputs may be exchanged.
      aggregate: whether the op is a sum that may be computed in any grouping.
      allows_uninitialized_input: whether a reference input may be uninitialized.
      host_memory: inputs and outputs that live in host memory on any device.
      devices: device types that the function serves.
      deprecated: GraphDef version from which on the op must not be used, and why.
      expensive: True for kernels of unknown cost or that wait for I/O (Python functions, files):
        with a pool of threads they never run in the calling thread. False for kernels that are
        never worth a thread; None: measured.
      effects: the kernel's effects, which nodes from files need the user's permission for:
        "read filename", "write prefix" (an input or attribute that holds the paths), "read" (the
        kernel finds the paths itself and opens them through core/files/file_system.py, or calls
        effects.check), "python", "network"; several with commas between.
      traits: words of :class:`~tfnb.core.op_traits.Trait`, with spaces between.

    Raises:
      ValueError: another op with this name was registered before, or a word is no trait.
    """
    inputs = signature.partition("->")[0]
    takes_resource = "resource" in inputs and _RESOURCE_INPUT.search(inputs) is not None
    flags: dict[str, Any] = {
        "stateful": stateful or takes_resource,
        "commutative": commutative,
        "aggregate": aggregate,
        "allows_uninitialized_input": allows_uninitialized_input,
        "deprecated": deprecated,
    }
    definition = OpDefinition(
        name,
        signature,
        specs,
        shape=shape,
        host_memory=tuple(host_memory),
        flags=flags,
        expensive=expensive,
        effects=effects,
        traits=traits,
    )
    if name in _REGISTRY:
        raise ValueError(f"Op {name!r} is registered twice")
    _REGISTRY[name] = definition
    for trait in definition.traits:
        _OPS_WITH[trait].add(name)

    def decorate(function: type_of_kernel | None) -> OpDefinition:
        definition.function = function
        if function is not None:
            definition.__doc__ = function.__doc__
            for device_type in devices:
                definition._kernels[device_type] = function
        own = getattr(function, "__name__", None) or python_name(name)
        definition.__name__ = definition.__qualname__ = own
        return definition

    return decorate


def deregister_op(name: str) -> None:
    """Remove a temporary op; an unknown name is no error."""
    definition = _REGISTRY.pop(name, None)
    for trait in () if definition is None else definition.traits:
        _OPS_WITH[trait].discard(name)


def find(name: str) -> OpDefinition | None:
    """Return the op with this name, or None."""
    found = _REGISTRY.get(name)
    if found is None and _loaders:
        for load in _loaders:
            load(name)
        found = _REGISTRY.get(name)
    return found


def get(name: str) -> OpDefinition:
    """Return the op with this name.

    Raises:
      NotFoundError: no op of that name is registered (TensorFlow's text, without the host's name).
    """
    found = find(name)
    if found is None:
        raise errors.not_found(
            f"Op type not registered '{name}' in this process. Make sure the op is registered "
            "before the graph is used."
        )
    return found


def ops_with(trait: Trait) -> AbstractSet[str]:
    """Return the names of the registered ops with a trait, a set that grows as ops are registered.

    Every op of a graph is registered. For an op that may not be in a graph yet, use
    :func:`has_trait`, which imports its family.
    """
    return _OPS_WITH[trait]


def has_trait(name: str, trait: Trait) -> bool:
    """Return whether an op of this name exists and has a trait."""
    definition = find(name)
    return definition is not None and trait in definition.traits


def all_ops() -> dict[str, OpDefinition]:
    """Return every registered op by name (a copy)."""
    for load in _loaders:
        load("")
    return dict(_REGISTRY)


def set_builder(builder: Callable[..., Any]) -> None:
    """Install ``builder(definition, args, kwargs)``, which :meth:`OpDefinition.__call__` calls."""
    global _builder
    _builder = builder


def add_loader(loader: Callable[[str], None]) -> None:
    """Install a function that imports the family of an unknown op ("" = all)."""
    _loaders.append(loader)


_WORD_BREAK = pattern_later(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def python_name(op_name: str) -> str:
    """Return the Python name of an op's builder.

    >>> python_name("MatMul"), python_name("AddV2"), python_name("_Send"), python_name("Conv2D")
    ('mat_mul', 'add_v2', '_send', 'conv2d')
    """
    prefix = "_" if op_name.startswith("_") else ""
    words = _WORD_BREAK.sub("_", op_name.lstrip("_")).lower()
    return prefix + re.sub(r"(\d)_d(?=_|$)", r"\1d", words)
