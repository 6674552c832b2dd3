"""``Defun``: conversion of a Python function to a function of the graph.

The Python function is called once per list of argument types, with placeholders, and builds a graph
of its own (``defun_graph.py``); that graph becomes a FunctionDef. A call is one node whose op is
the function. Tensors of other graphs that the body uses are captured: every call passes them as
further arguments.

    @function.Defun(tf.float32, tf.float32)
    def scaled(x, y):
        return 2.0 * x * y

    z = scaled(a, b)
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.function_library import add_with_needed, function_op_definition
from tfnb.framework.functions.defun_graph import DefunGraph, defun_graph_of, name_of
from tfnb.framework.functions.graph_to_function_def import graph_to_function_def
from tfnb.proto import attr_value_pb2, graph_pb2

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tfnb.core.dtypes import DType
    from tfnb.core.op_registry import OpDefinition
    from tfnb.framework.function_library import LibraryFunction
    from tfnb.framework.graph import Graph
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor

EXPORTS = {
    "python.framework.function": [
        "Defun", "from_library", "get_extra_args", "get_extra_inputs", "get_extra_vars",
    ],
}  # fmt: skip

_MANY = 1_000_000

# Letters for the types of arguments, in the name of a function that accepts several.
_TYPE_LETTERS: dict[DType, str] = {
    dtypes.float16: "f16",
    dtypes.float32: "f32",
    dtypes.float64: "f64",
    dtypes.bfloat16: "b16",
    dtypes.complex64: "c64",
    dtypes.complex128: "c128",
    dtypes.int8: "i8",
    dtypes.int16: "i16",
    dtypes.int32: "i32",
    dtypes.int64: "i64",
    dtypes.uint8: "i8",
    dtypes.uint16: "u16",
    dtypes.uint32: "u32",
    dtypes.uint64: "u64",
    dtypes.qint8: "qi8",
    dtypes.qint16: "qi16",
    dtypes.qint32: "qi32",
    dtypes.quint8: "qu8",
    dtypes.quint16: "qu16",
    dtypes.string: "s",
    dtypes.bool: "b",
}


class Defun:
    """A decorator that makes a function of the graph from a Python function that builds a graph.

    The function takes tensors in order, without defaults or keywords, and returns a tensor,
    several, or None.  Without types, the first call with each list of argument types makes a
    definition.
    """

    def __init__(self, *input_types: Any, **kwargs: Any) -> None:
        """Prepare the decorator.

        Args:
          *input_types: the dtypes of the arguments.
          **kwargs: ``func_name``: the function's name in the graph; by default the Python
            function's name and a hash of the body. ``out_names``: the names of the results.
            ``grad_func``: a function of the graph that takes the arguments and the gradients of the
            results and returns the gradients of the arguments. ``python_grad_func``: a Python
            function that builds these gradients, given the calling operation and the gradients of
            its results. ``shape_func``: the static shapes of the results, given the calling
            operation. ``capture_by_value``: whether captured tensors are copied into the body.
            ``allowlisted_stateful_ops``: stateful operations that may be copied in this way.
            ``capture_resource_var_by_value``: whether the body gets the values of resource
            variables, read in the outer graph, or the variables. ``noinline`` and
            ``experimental_*`` become attributes of the function.
        """
        self._input_types = input_types
        self._func_name = kwargs.pop("func_name", None)
        self._grad_func = kwargs.pop("grad_func", None)
        self._python_grad_func = kwargs.pop("python_grad_func", None)
        self._out_names = kwargs.pop("out_names", None)
        self._extra_kwargs = kwargs

    def __call__(self, func: Callable[..., Any]) -> Any:
        """Return the function of the graph for a Python function.

        Raises:
          ValueError: it cannot be called, has arguments that are not positional, or their number
            differs from the number of types.
        """
        if not callable(func):
            raise ValueError(f"Function {func} must be a callable.")
        names, num_least, num_most = _argument_names(func)
        options = dict(self._extra_kwargs, out_names=self._out_names)
        given = (self._func_name, self._grad_func, self._python_grad_func)
        if self._input_types:
            num = len(self._input_types)
            if not num_least <= num <= num_most:
                raise ValueError(
                    "The number of tf.function input types is not compatible with the allowed "
                    f"arguments of {func}. The tf.function have {num} input types, while the "
                    f"python function allows minimum {num_least} and maximum {num_most} arguments."
                )
            return DefinedFunction(func, names, self._input_types, *given, **options)
        if num_most == 0:
            return DefinedFunction(func, [], [], *given, **options)
        return OverloadedFunction(func, names, *given, **options)


def _argument_names(func: Callable[..., Any]) -> tuple[list[str], int, int]:
    """Return the names of the arguments, and their minimum and maximum number."""
    spec = inspect.getfullargspec(func)
    if spec.varkw or spec.defaults or spec.kwonlyargs:
        raise ValueError(
            "Functions with argument defaults or keywords arguments are not supported. "
            f"{func} has defaults {spec.defaults} and keywords {spec.varkw}."
        )
    names = list(spec.args)
    num_most = _MANY if spec.varargs else len(names)
    num_least = len(names)
    if inspect.ismethod(func):
        num_least -= 1
        names = names[1:]
    return names, num_least, num_most


# --------------------------------------------------------------------------------- one definition


class DefinedFunction:
    """A function of the graph: a Python function with the types of its arguments.

    The body is built when it is first needed.

    Attributes:
      python_grad_func: a Python function that builds the gradient, or None.
      declared_input_types: the types of the arguments, without captured ones.
      is_loaded: whether it came from a file.
    """

    def __init__(
        self,
        func: Callable[..., Any] | None,
        argnames: Sequence[str],
        input_types: Sequence[Any],
        func_name: str | None = None,
        grad_func: DefinedFunction | None = None,
        python_grad_func: Callable[..., Any] | None = None,
        out_names: Sequence[str] | None = None,
        shape_func: Callable[[Operation], Sequence[Any]] | None = None,
        capture_by_value: bool = False,
        allowlisted_stateful_ops: Iterable[Operation] | None = None,
        capture_resource_var_by_value: bool = True,
        **kwargs: Any,
    ) -> None:
        """Store the definition; the arguments are those of :class:`Defun`."""
        self._func = func
        self._func_name = func_name
        self._grad_func = grad_func
        self.python_grad_func = python_grad_func
        self.is_loaded = False
        self._out_names = out_names
        self._shape_func = shape_func
        self._capture_by_value = capture_by_value
        self._allowlisted = set(allowlisted_stateful_ops or ())
        self._capture_resource_var_by_value = capture_resource_var_by_value
        self._extra_kwargs = kwargs
        self.declared_input_types = input_types
        self._arg_names = [
            argnames[index] if index < len(argnames) else f"arg{index}"
            for index in range(len(input_types))
        ]
        # Only the innermost device counts, as in TensorFlow.
        devices = get_default_graph().scopes().device_stack
        self._caller_device = devices[-1] if devices else None
        self._definition: graph_pb2.FunctionDef | None = None
        self._extra_inputs: list[Tensor] = []
        self._sub_functions: dict[str, Any] = {}
        self._stateful_ops: list[tuple[str, str]] = []

    @property
    def name(self) -> str:
        """The name by which nodes call it."""
        return self.definition.signature.name

    @property
    def definition(self) -> graph_pb2.FunctionDef:
        """The FunctionDef message, which the function owns: it must not be changed."""
        if self._definition is None:
            self._define()
        assert self._definition is not None
        return self._definition

    cached_definition = definition

    @property
    def grad_func_name(self) -> str | None:
        """The name of the function that is its gradient."""
        return None if self._grad_func is None else self._grad_func.name

    @property
    def captured_inputs(self) -> list[Tensor]:
        """The tensors that each call passes in addition to its arguments."""
        assert self.definition is not None
        return self._extra_inputs

    @property
    def stateful_ops(self) -> list[tuple[str, str]]:
        """Name and op of each stateful operation of the body."""
        assert self.definition is not None
        return self._stateful_ops

    def set_grad_func(self, grad_func: DefinedFunction) -> None:
        """Set the function that is its gradient; call this at most once."""
        assert self._grad_func is None
        assert isinstance(grad_func, DefinedFunction)
        self._grad_func = grad_func

    def op_definition(self) -> OpDefinition:
        """Return the definition of an op for nodes that call the function."""
        return function_op_definition(self.definition)

    def _define(self) -> None:
        assert self._func is not None
        graph = defun_graph_of(
            self._func,
            self._arg_names,
            self.declared_input_types,
            name=self._func_name,
            capture_by_value=self._capture_by_value,
            device=self._caller_device,
            allowlisted_stateful_ops=self._allowlisted,
            capture_resource_var_by_value=self._capture_resource_var_by_value,
        )
        base_name = self._func_name
        if not base_name:
            base_name = name_of(self._func)
            if self._grad_func is not None:
                base_name += f"_{self._grad_func.name}"
        attrs = _attrs_of_keywords(base_name, self._extra_kwargs)
        definition = graph_to_function_def(
            base_name,
            graph.get_operations(),
            graph.inputs,
            graph.outputs,
            output_names=[str(name) for name in self._out_names or ()],
            description=self._func.__doc__,
            append_hash=self._func_name is None,
        )
        for name, value in attrs.items():
            definition.attr[name].CopyFrom(value)
        self._extra_inputs = graph.extra_inputs
        self._sub_functions = graph._functions
        self._stateful_ops = [(op.name, op.type) for op in graph.operation_list if op._is_stateful]
        self._definition = definition

    def add_to_graph(self, graph: Graph) -> None:
        """Add it, the functions it calls and its gradient to a graph's library.

        Raises:
          ValueError: there are two gradients.
          InvalidArgumentError: the graph has another function with this name.
        """
        add_with_needed(graph, self)

    def add_alone_to_graph(self, graph: Graph) -> None:
        """Add it to a graph's library, without the functions it calls."""
        graph._add_function(self)

    def needed_functions(self) -> Iterable[LibraryFunction]:
        """Return the functions that it calls, and its gradient."""
        gradient = () if self._grad_func is None else (self._grad_func,)
        return (*self._sub_functions.values(), *gradient)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Add a node that calls the function.

        Args:
          *args: the arguments.
          **kwargs: ``name``: the name of the node. ``noinline`` and ``experimental_*``: its
            attributes.

        Returns:
          The result, a tuple of several results, or the operation if there are none.

        Raises:
          ValueError: the number of arguments or their types are wrong.
        """
        graph = get_default_graph()
        self.add_to_graph(graph)
        inputs = [convert_to_tensor(arg) for arg in args] + self._extra_inputs
        op = _call(self.definition, inputs, kwargs)
        # The gradient uses this to find the called function, whatever the graph's library has.
        op.defined_function = self  # type: ignore[attr-defined]
        if self._shape_func is not None:
            shapes = self._shape_func(op)
            if len(shapes) != len(op.outputs):
                raise ValueError(
                    f"shape_func {self._shape_func} produced {len(shapes)} shapes, which does not "
                    f"match {len(op.outputs)} outputs."
                )
            for tensor, shape in zip(op.outputs, shapes, strict=True):
                tensor.set_shape(shape)
        if not op.outputs:
            return op
        return op.outputs[0] if len(op.outputs) == 1 else tuple(op.outputs)

    def __repr__(self) -> str:
        name = self._func_name or getattr(self._func, "__name__", "?")
        return f"<DefinedFunction {name}>"


def _call(
    definition: graph_pb2.FunctionDef, inputs: list[Tensor], keywords: dict[str, Any]
) -> Operation:
    signature = definition.signature
    if len(inputs) != len(signature.input_arg):
        raise ValueError(f"Expected {len(signature.input_arg)} arguments, got {len(inputs)}.")
    options = dict(keywords)
    name = options.pop("name", None)
    return get_default_graph()._create_op_internal(
        signature.name,
        inputs,
        name=signature.name if name is None else name,
        attrs=_attrs_of_keywords(signature.name, options),
    )


def _attrs_of_keywords(
    name: str, keywords: Mapping[str, Any]
) -> dict[str, attr_value_pb2.AttrValue]:
    """Return the attributes that the keyword arguments of a definition or a call set.

    Raises:
      ValueError: a keyword is unknown, or its value cannot be an attribute.
    """
    rest = dict(keywords)
    attrs: dict[str, attr_value_pb2.AttrValue] = {}
    noinline = rest.pop("noinline", None)
    if noinline is not None:
        attrs["_noinline"] = attr_value_pb2.AttrValue(b=bool(noinline))
    attrs["_disable_call_shape_inference"] = attr_value_pb2.AttrValue(b=True)
    compiled = rest.pop("compiled", None)
    separate = rest.pop("separate_compiled_gradients", None)
    if compiled is not None:
        attrs["_XlaCompile"] = attr_value_pb2.AttrValue(b=bool(compiled))
        attrs["_XlaSeparateCompiledGradients"] = attr_value_pb2.AttrValue(b=bool(separate))
        scope = get_default_graph()._attr_scope_map.get("_XlaScope")
        if not isinstance(scope, attr_value_pb2.AttrValue):
            scope = attr_value_pb2.AttrValue(s=scope or f"function_{name}".encode())
        attrs["_XlaScope"] = scope
    for key in list(rest):
        if key.startswith("experimental_"):
            attrs[key] = _plain_attr(key, rest.pop(key))
        elif key in ("_implements", "_reference"):
            value = rest.pop(key)
            if not isinstance(value, str):
                raise ValueError(f"Attribute {key} must be str. Got {type(value)}.")
            attrs[key] = attr_value_pb2.AttrValue(s=value.encode())
    if rest:
        raise ValueError(f"Unknown keyword arguments: {rest.keys()}.")
    return attrs


def _plain_attr(name: str, value: Any) -> attr_value_pb2.AttrValue:
    if isinstance(value, bool):
        return attr_value_pb2.AttrValue(b=value)
    if isinstance(value, int):
        return attr_value_pb2.AttrValue(i=value)
    if isinstance(value, float):
        return attr_value_pb2.AttrValue(f=value)
    if isinstance(value, str):
        return attr_value_pb2.AttrValue(s=value.encode())
    raise ValueError(f"Attribute {name} must be bool, int, float, or str. Got {type(value)}.")


# ---------------------------------------------------------------------------- several definitions


class OverloadedFunction:
    """A function that gets a new definition for each list of argument types it is called with."""

    def __init__(
        self,
        func: Callable[..., Any],
        argnames: Sequence[str],
        func_name: str | None = None,
        grad_func: OverloadedFunction | None = None,
        python_grad_func: Callable[..., Any] | None = None,
        out_names: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> None:
        """Store the definition; the arguments are those of :class:`Defun`."""
        assert grad_func is None or isinstance(grad_func, OverloadedFunction)
        self._func = func
        self._argnames = argnames
        self._func_name = func_name
        self._grad_func = grad_func
        self._python_grad_func = python_grad_func
        self._out_names = out_names
        self._extra_kwargs = kwargs
        self._defined: dict[str, DefinedFunction] = {}

    def instantiate(self, input_types: Sequence[DType]) -> DefinedFunction:
        """Return the definition for these types of arguments.

        Raises:
          ValueError: the function does not accept these types.
        """
        key = _letters_of(input_types)
        defined = self._defined.get(key)
        if defined is not None:
            return defined
        defined = DefinedFunction(
            self._func,
            self._argnames,
            input_types,
            None if self._func_name is None else f"{self._func_name}_{key}",
            None,
            self._python_grad_func,
            out_names=self._out_names,
            **self._extra_kwargs,
        )
        results = [dtypes.as_dtype(arg.type) for arg in defined.definition.signature.output_arg]
        if self._grad_func is not None:
            defined._grad_func = self._grad_func.instantiate([*input_types, *results])
        self._defined[key] = defined
        return defined

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Add a node that calls the definition for these arguments."""
        tensors = [convert_to_tensor(arg) for arg in args]
        return self.instantiate([tensor.dtype for tensor in tensors])(*tensors, **kwargs)


def _letters_of(types: Sequence[DType]) -> str:
    unsupported = [dtype for dtype in types if dtype not in _TYPE_LETTERS]
    if unsupported:
        raise ValueError(
            f"Unsupported dtypes {unsupported} in `types`. Supported dtypes are "
            f"{_TYPE_LETTERS.keys()}."
        )
    return "".join(_TYPE_LETTERS[dtype] for dtype in types)


# ------------------------------------------------------------------------------- read, not defined


def from_library(library: graph_pb2.FunctionDefLibrary) -> list[DefinedFunction]:
    """Return the functions of a message, ready to be called, each with its gradient.

    Raises:
      ValueError: a function is missing, or functions are gradients of each other in a circle.
    """
    definitions = {one.signature.name: one for one in library.function}
    gradient_of: dict[str, str] = {}
    for pair in library.gradient:
        for name in (pair.function_name, pair.gradient_func):
            if name not in definitions:
                raise ValueError(f"FunctionDefLibrary missing '{name}' FunctionDef\n{library}")
        gradient_of[pair.function_name] = pair.gradient_func
    made: dict[str, DefinedFunction] = {}
    for start in definitions:
        chain = [start]
        while (following := gradient_of.get(chain[-1])) is not None and following not in made:
            if following in chain:
                raise ValueError(
                    f"FunctionDefLibrary contains cyclic gradient functions!\n{library}"
                )
            chain.append(following)
        for name in reversed(chain):
            if name not in made:
                made[name] = _from_definition(
                    definitions[name], made.get(gradient_of.get(name, ""))
                )
    return list(made.values())


def _from_definition(
    definition: graph_pb2.FunctionDef, gradient: DefinedFunction | None
) -> DefinedFunction:
    signature = definition.signature
    function = DefinedFunction(
        None,
        [arg.name for arg in signature.input_arg],
        tuple([dtypes.as_dtype(arg.type) for arg in signature.input_arg]),
        signature.name,
        gradient,
        out_names=[arg.name for arg in signature.output_arg],
    )
    function._definition = graph_pb2.FunctionDef()
    function._definition.CopyFrom(definition)
    function.is_loaded = True
    return function


# -------------------------------------------------------------------- access to the function's body


def get_extra_vars() -> list[Any]:
    """Return the variables requested so far by the function being built; else an empty list."""
    graph = get_default_graph()
    return graph.extra_vars if isinstance(graph, DefunGraph) else []


def get_extra_inputs() -> list[Tensor]:
    """Return the tensors captured so far by the function being built; else an empty list."""
    graph = get_default_graph()
    return graph.extra_inputs if isinstance(graph, DefunGraph) else []


def get_extra_args() -> list[Tensor]:
    """Return the arguments that stand for :func:`get_extra_inputs`; else an empty list."""
    graph = get_default_graph()
    return graph.extra_args if isinstance(graph, DefunGraph) else []
