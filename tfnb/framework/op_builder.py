"""Construction of a node from a call like ``mat_mul(a, b, transpose_a=True)``.

This is what :meth:`OpDefinition.__call__` runs.  If every input is a tensor already, the dtypes of
the inputs are a key into the op's plan, and everything that depends on them was computed before.
Otherwise values are converted one input after the other, each with the dtypes that the earlier ones
determined, under the name scope of the new op. Corresponds to TensorFlow's op_def_library.py, with
the same error texts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import op_registry
from tfnb.core.op_traits import Trait
from tfnb.framework.attr_conversion import not_allowed_type
from tfnb.framework.convert import convert_to_tensor, internal_convert_n_to_tensor
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.dispatch import dispatching_among
from tfnb.framework.graph_elements import graph_of_inputs
from tfnb.framework.graph_scopes import enter_name
from tfnb.framework.op_plan import OpPlan, Signature, plan_of
from tfnb.framework.operation_factory import create_operation
from tfnb.framework.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tfnb.core.dtypes import DType
    from tfnb.core.op_def import ArgDef
    from tfnb.core.op_registry import OpDefinition
    from tfnb.framework.graph import Graph
    from tfnb.framework.operation import Operation


def build(definition: OpDefinition, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Add a node and return its outputs.

    Args:
      definition: the op.
      args: inputs in order, then attributes, then perhaps the name.
      kwargs: inputs and attributes by name, and ``name``, the name of the node.

    Returns:
      The operation if it has no outputs, else a tensor, a list, or a named tuple of these.

    Raises:
      TypeError: an argument is missing, unknown, or of a type that the op does not accept.
      ValueError: an attribute's value is not allowed, shapes cannot fit, or inputs are of several
        graphs.
    """
    plan: OpPlan = definition.builder_cache or plan_of(definition)
    name = kwargs.pop("name", None)
    if len(args) == plan.num_parameters + 1:
        if name is not None:
            raise TypeError(f"{plan.name} got multiple values for argument 'name'.")
        args, name = args[:-1], args[-1]
    name = name or plan.name
    given: dict[str, Any] | None = None
    inputs: Sequence[Any] = args
    if kwargs or len(args) != plan.num_inputs:
        inputs, given = plan.bind(args, kwargs)
    graph = get_default_graph()
    if graph.scopes().control_flow_context is not None:
        # The nodes that bring the inputs into a branch or loop are named after the op.
        return _build_converting(plan, name, inputs, given)
    flat = inputs if not plan.has_lists else _flat(plan, inputs)
    for value in flat:
        if not isinstance(value, Tensor) or value.graph is not graph:
            # A function's body captures tensors of other graphs, in the name scope of the op.
            return _build_converting(plan, name, inputs, given)
    signature = _signature(plan, inputs, flat)
    return _finish(plan, graph, name, flat, signature, given)


def _flat(plan: OpPlan, inputs: Iterable[Any]) -> list[Any]:
    """Return the inputs with lists flattened, and None in place of a list that is not a list."""
    flat: list[Any] = []
    for value, is_list in zip(inputs, plan.list_inputs):
        if not is_list:
            flat.append(value)
        elif isinstance(value, (list, tuple)):
            flat.extend(value)
        else:
            flat.append(None)
    return flat


def _signature(plan: OpPlan, inputs: Sequence[Any], flat: Sequence[Tensor]) -> Signature:
    key = _signature_key(plan, inputs, flat)
    signature = plan.signatures.get(key)
    if signature is None:
        signature = plan.signatures[key] = _resolved(plan, inputs).signature()
    return signature


def _signature_key(plan: OpPlan, inputs: Sequence[Any], flat: Sequence[Tensor]) -> Any:
    """Return the key of a signature: the dtypes of all tensors, and the lengths of lists."""
    key: Any = tuple([tensor.dtype.as_datatype_enum for tensor in flat])
    if plan.has_lists:
        key = (key, *[len(v) for v, is_list in zip(inputs, plan.list_inputs) if is_list])
    return key


def _resolved(plan: OpPlan, inputs: Sequence[Any]) -> _Resolver:
    resolver = _Resolver(plan)
    for arg, value in zip(plan.op_def.inputs, inputs):
        resolver.add(arg, value)
    return resolver


def _build_converting(
    plan: OpPlan, name: str, inputs: Sequence[Any], given: dict[str, Any] | None
) -> Any:
    answering = dispatching_among(inputs)
    if answering is not None:
        arguments = dict(given or {})
        if name != plan.name:
            arguments["name"] = name
        return answering.dispatch(plan.definition, tuple(inputs), arguments)
    if Trait.SPARSE_VALUES in plan.definition.traits and hasattr(inputs[0], "dense_shape"):
        from tfnb.framework.sparse_tensor import SparseTensor

        if isinstance(inputs[0], SparseTensor):
            sparse = inputs[0]
            values = plan.definition(sparse.values, name=name)
            return SparseTensor(sparse.indices, values, sparse.dense_shape)
    graph = graph_of_inputs([*_flat(plan, inputs), *(given.values() if given else ())])
    with graph.as_default():
        state = graph.scopes()
        outer = state.name_stack
        state.name_stack, scope = enter_name(graph, state, name)
        try:
            resolver = _resolved(plan, inputs)
            # Nodes with equal signatures share their attributes, as on the fast path.
            key = _signature_key(plan, inputs, resolver.flat)
            signature = plan.signatures.get(key)
            if signature is None:
                signature = plan.signatures[key] = resolver.signature()
            return _finish(plan, graph, scope, resolver.flat, signature, given)
        finally:
            state.name_stack = outer


def _finish(
    plan: OpPlan,
    graph: Graph,
    name: str,
    flat: Sequence[Tensor],
    signature: Signature,
    given: dict[str, Any] | None,
) -> Any:
    inferred, output_types = signature
    attrs = inferred
    if given:
        attrs = {**inferred, **plan.made_attrs(given)}
    elif plan.required:
        plan.made_attrs({})
    if output_types is None:
        output_types = tuple(plan.op_def.output_types(attrs))
    if plan.op_def.deprecated is not None:
        _check_deprecation(plan, graph)
    if plan.has_refs and graph._building_function:
        flat = graph.capture_inputs(flat)
        plan.check_input_types(name.rstrip("/"), flat, plan.op_def.input_types(attrs))
    colocate = _ref_inputs(plan, flat) if plan.has_refs else ()
    op = create_operation(graph, plan.definition, flat, attrs, name, output_types, colocate)
    return plan.result_of(op)


def _check_deprecation(plan: OpPlan, graph: Graph) -> None:
    assert plan.op_def.deprecated is not None
    version, explanation = plan.op_def.deprecated
    producer = graph.def_versions.producer
    if producer >= version:
        raise NotImplementedError(
            f"Op {plan.name} is not available in GraphDef version {producer}. "
            f"It has been removed in version {version}. {explanation}."
        )


def _ref_inputs(plan: OpPlan, flat: Sequence[Tensor]) -> tuple[Operation, ...]:
    """Return the ops whose buffers the node changes in place: it must live on their device.

    For a list of references, only the first is returned.
    """
    return tuple(tensor.op for arg, tensor in zip(plan.op_def.inputs, flat) if arg.is_ref)


# -------------------------------------------------------------------------- the graph of the inputs


# --------------------------------------------------------------------------- dtypes and conversions


class _Resolver:
    """A pass over the inputs of one call, in order, that converts them and determines attributes.

    Attributes:
      attrs: the attributes determined so far.
      flat: the tensors so far.
    """

    __slots__ = ("_from", "attrs", "flat", "op_name", "plan")

    def __init__(self, plan: OpPlan) -> None:
        self.plan = plan
        self.op_name = plan.name
        self.attrs: dict[str, Any] = {}
        self.flat: list[Tensor] = []
        # attribute -> the input that determined it
        self._from: dict[str, str] = {}

    def signature(self) -> Signature:
        """Return the attributes that the inputs determine, after all inputs were added."""
        attrs = {**self.plan.defaults, **self.attrs}
        for name in self.plan.op_def.inferred_attrs:
            if name not in attrs:
                attrs[name] = self.plan.op_def.attr_by_name[name].default
        types = tuple(self.plan.op_def.output_types(attrs)) if self.plan.outputs_follow else None
        return attrs, types

    def add(self, arg: ArgDef, value: Any) -> None:
        """Convert one input.

        Raises:
          TypeError: it has a type that the op does not accept, or it cannot become a tensor.
          ValueError: a list has the wrong length, or the value cannot become a tensor.
        """
        tensors = self._convert_list(arg, value) if arg.is_list else [self._convert_one(arg, value)]
        self.flat += tensors
        types = [tensor.dtype.base_dtype for tensor in tensors]
        if arg.number_attr:
            self._settle_number(arg, types)
        elif arg.type_attr:
            self._settle_type(arg, types[0])
        elif arg.type_list_attr:
            self._settle_types(arg, types)
        if arg.is_ref and not all(tensor.dtype.is_ref_dtype for tensor in tensors):
            raise TypeError(
                f"'{self.op_name}' Op requires that input '{arg.name}' be a mutable tensor "
                "(e.g.: a tf.Variable)"
            )

    # -- one tensor ------------------------------------------------------------------------------

    def _convert_one(self, arg: ArgDef, value: Any) -> Tensor:
        wanted = arg.type if arg.type is not None else self.attrs.get(arg.type_attr)
        hint, allowed = (None, ()) if wanted is not None else self._preferences(arg)
        try:
            if allowed:
                # The dtype of the value itself has priority over the op's default, if the op
                # accepts it.
                try:
                    tensor = convert_to_tensor(value, name=arg.name, as_ref=arg.is_ref)
                    if tensor.dtype.base_dtype in allowed:
                        return tensor
                except TypeError:
                    pass
            return convert_to_tensor(
                value, wanted, arg.name, as_ref=arg.is_ref, preferred_dtype=hint
            )
        except TypeError as error:
            if wanted is None:
                raise
            raise TypeError(
                f"Expected {wanted.name} passed to parameter '{arg.name}' of op '{self.op_name}', "
                f"got {value!r} of type '{type(value).__name__}' instead. Error: {error}"
            ) from error
        except ValueError as error:
            raise self._mismatch(arg, value) from error

    def _preferences(self, arg: ArgDef) -> tuple[DType | None, tuple[DType, ...]]:
        attr_def = self.plan.op_def.attr_by_name[arg.type_attr]
        if not attr_def.has_default:
            return None, ()
        return attr_def.default, attr_def.allowed

    def _mismatch(self, arg: ArgDef, value: Any) -> Exception:
        try:
            observed = convert_to_tensor(value, as_ref=arg.is_ref).dtype.name
        except ValueError as error:
            return ValueError(
                f"Tried to convert '{arg.name}' to a tensor and failed. Error: {error}"
            )
        prefix = (
            f"Input '{arg.name}' of '{self.op_name}' Op has type {observed} that does not match"
        )
        if arg.type is not None:
            return TypeError(f"{prefix} expected type of {arg.type.name}.")
        wanted = self.attrs.get(arg.type_attr)
        source = self._from.get(arg.type_attr, "Default in OpDef")
        if wanted is None:
            wanted = self.plan.op_def.attr_by_name[arg.type_attr].default
        return TypeError(f"{prefix} type {wanted.name} of argument '{source}'.")

    def _settle_type(self, arg: ArgDef, dtype: DType) -> None:
        name = arg.type_attr
        settled = self.attrs.get(name)
        if settled is None:
            self._check_allowed(name, dtype, arg.name)
            self.attrs[name] = dtype
            self._from[name] = arg.name
        elif settled is not dtype:
            raise TypeError(
                f"Input '{arg.name}' of '{self.op_name}' Op has type {dtype.name} that does not "
                f"match type {settled.name} of argument '{self._from[name]}'."
            )

    def _check_allowed(self, attr: str, dtype: DType, parameter: str) -> None:
        allowed = self.plan.op_def.attr_by_name[attr].allowed
        if allowed and dtype not in allowed:
            raise not_allowed_type(dtype, allowed, parameter)

    # -- lists -----------------------------------------------------------------------------------

    def _convert_list(self, arg: ArgDef, values: Any) -> list[Tensor]:
        if not isinstance(values, (list, tuple)):
            raise TypeError(
                f"Expected list for '{arg.name}' argument to '{self.op_name}' Op, not {values}."
            )
        wanted, hint = self._list_type(arg, values)
        if wanted is not None and not arg.is_ref:
            wanted = wanted.base_dtype
        try:
            tensors = internal_convert_n_to_tensor(
                values, wanted, arg.name, as_ref=arg.is_ref, preferred_dtype=hint
            )
            if arg.number_attr and len({tensor.dtype.base_dtype for tensor in tensors}) > 1:
                raise TypeError("the types differ")
        except (TypeError, ValueError) as error:
            raise self._list_mismatch(arg, values, wanted) from error
        return tensors

    def _list_type(self, arg: ArgDef, values: Sequence[Any]) -> tuple[DType | None, DType | None]:
        """Return the dtype that all elements must have, and the preferred one."""
        if arg.type is not None:
            return arg.type, None
        if not arg.number_attr:
            return None, None
        settled = self.attrs.get(arg.type_attr)
        if settled is not None:
            return settled, None
        for value in values:
            if isinstance(value, Tensor):
                return value.dtype, None
        return None, self._preferences(arg)[0]

    def _list_mismatch(self, arg: ArgDef, values: Sequence[Any], wanted: DType | None) -> TypeError:
        observed = []
        for value in values:
            try:
                observed.append(convert_to_tensor(value, as_ref=arg.is_ref).dtype.base_dtype.name)
            except (TypeError, ValueError):
                observed.append("<NOT CONVERTIBLE TO TENSOR>")
        prefix = (
            f"Tensors in list passed to '{arg.name}' of '{self.op_name}' Op have types "
            f"[{', '.join(observed)}]"
        )
        if not arg.number_attr:
            return TypeError(f"{prefix} that are invalid. Tensors: {values}")
        if arg.type is not None:
            return TypeError(f"{prefix} that do not match expected type {arg.type.name}.")
        if arg.type_attr in self.attrs and wanted is not None:
            return TypeError(
                f"{prefix} that do not match type {wanted.name} inferred from earlier arguments."
            )
        return TypeError(f"{prefix} that don't all match.")

    def _settle_number(self, arg: ArgDef, types: list[DType]) -> None:
        name = arg.number_attr
        settled = self.attrs.get(name)
        if settled is None:
            minimum = self.plan.op_def.attr_by_name[name].minimum
            if minimum is not None and len(types) < minimum:
                raise ValueError(
                    f"List argument '{arg.name}' to '{self.op_name}' Op with length {len(types)} "
                    f"shorter than minimum length {minimum}."
                )
            self.attrs[name] = len(types)
            self._from[name] = arg.name
        elif settled != len(types):
            raise ValueError(
                f"List argument '{arg.name}' to '{self.op_name}' Op with length {len(types)} must "
                f"match length {settled} of argument '{self._from[name]}'."
            )
        if not arg.type_attr or arg.type_attr in self.attrs:
            return
        if types:
            self._settle_type(arg, types[0])
        elif not self.plan.op_def.attr_by_name[arg.type_attr].has_default:
            raise TypeError(
                "Don't know how to infer type variable from empty input list passed to input "
                f"'{arg.name}' of '{self.op_name}' Op."
            )

    def _settle_types(self, arg: ArgDef, types: list[DType]) -> None:
        name = arg.type_list_attr
        settled = self.attrs.get(name)
        if settled is None:
            attr_def = self.plan.op_def.attr_by_name[name]
            for dtype in types:
                self._check_allowed(name, dtype, arg.name)
            if attr_def.minimum is not None and len(types) < attr_def.minimum:
                raise ValueError(
                    f"Attr '{name}' of '{self.op_name}' Op passed list of length {len(types)} less "
                    f"than minimum {attr_def.minimum}."
                )
            self.attrs[name] = types
            self._from[name] = arg.name
        elif settled != types:
            raise TypeError(
                f"Input '{arg.name}' of '{self.op_name}' Op has type list of "
                f"{', '.join(t.name for t in types)} that does not match type list "
                f"{', '.join(t.name for t in settled)} of argument '{self._from[name]}'."
            )


op_registry.set_builder(build)
