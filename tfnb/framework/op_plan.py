"""Plans for building ops: data that do not depend on the node; one plan per op.

A plan holds the Python parameters of the op's builder, the defaults of its attributes, and, in
``signatures``, the combinations of input dtypes that were accepted and the attributes that follow
from them.  The tables only grow, and every entry depends on the op alone, so that threads may fill
them at the same time.
"""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING, Any

from tfnb.framework import attr_conversion, node_validation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tfnb.core.dtypes import DType
    from tfnb.core.op_registry import OpDefinition
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor

# Inferred attributes and defaults; the output dtypes, or None where they depend on given
# attributes.
Signature = tuple[dict[str, Any], "tuple[DType, ...] | None"]


class OpPlan:
    """The plan for building nodes of one op.

    Attributes:
      definition: the op.
      parameters: the builder's positional parameters: inputs, attributes without a default,
        attributes with a default.
      num_inputs: the number of parameters that are inputs.
      num_parameters: the number of parameters.
      has_lists: whether an input is a list of tensors.
      has_refs: whether an input must be a reference.
      settable: the attributes that callers may give, by name; the others follow from the inputs.
      required: the attributes that callers must give.
      defaults: the values of attributes with a default, without those that follow from inputs.
      signatures: the attributes and dtypes that follow from the inputs; key: see :meth:`key_of`.
      deciding: the attributes that input and output dtypes depend on.
    """

    __slots__ = (
        "_made_attrs",
        "_result",
        "_result_type",
        "deciding",
        "defaults",
        "definition",
        "has_lists",
        "has_refs",
        "list_inputs",
        "name",
        "num_inputs",
        "num_parameters",
        "op_def",
        "outputs_follow",
        "parameters",
        "required",
        "settable",
        "signatures",
        "types",
    )

    def __init__(self, definition: OpDefinition) -> None:
        op_def = definition.op_def
        inferred = op_def.inferred_attrs
        self.definition = definition
        self.op_def = op_def
        self.name = definition.name
        self.num_inputs = len(op_def.inputs)
        self.list_inputs = tuple(arg.is_list for arg in op_def.inputs)
        self.has_lists = any(self.list_inputs)
        self.has_refs = any(arg.is_ref for arg in op_def.inputs)
        self.settable = {a.name: a for a in op_def.attrs if a.name not in inferred}
        self.required = tuple(a.name for a in self.settable.values() if not a.has_default)
        self.parameters = tuple(op_def.parameters())
        self.num_parameters = len(self.parameters)
        self.defaults = {a.name: a.default for a in self.settable.values() if a.has_default}
        self.signatures: dict[Any, Signature] = {}
        named = [(a.type_attr, a.number_attr, a.type_list_attr) for a in op_def.outputs]
        output_attrs = {name for names in named for name in names if name}
        # Whether the output dtypes follow from the input dtypes alone.
        self.outputs_follow = output_attrs <= inferred
        self.deciding = tuple(a.name for a in op_def.attrs if a.name in output_attrs | inferred)
        # (input types, output types) by the values of `deciding`, for nodes that are read, not
        # built.
        self.types: dict[Any, tuple[tuple[DType, ...], tuple[DType, ...]]] = {}
        self._made_attrs: dict[Any, Any] = {}
        self._result_type: Any = None
        if not op_def.outputs:
            self._result = _give_operation
        elif len(op_def.outputs) == 1:
            self._result = _give_list if op_def.outputs[0].is_list else _give_tensor
        else:
            self._result = self._give_tuple

    # -- parameters ------------------------------------------------------------------------------

    def bind(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Split a call's arguments into inputs and given attributes.

        Raises:
          TypeError: an input is missing, or a parameter is unknown, given twice or follows from the
            inputs.
        """
        parameters = self.parameters
        if len(args) > len(parameters):
            # The builder has removed the name, which comes last, already.
            raise TypeError(
                f"{self.name} takes at most {len(parameters) + 1} arguments "
                f"({', '.join((*parameters, 'name'))}), got {len(args)}."
            )
        values = dict(zip(parameters, args))
        unknown = []
        for key, value in kwargs.items():
            # Names that are Python keywords are written with an underscore at the end.
            parameter = key if key in parameters else key.removesuffix("_")
            if parameter not in parameters:
                if key in self.op_def.inferred_attrs:
                    raise TypeError(
                        f"Should not specify value for inferred attr '{key}' for {self.name}."
                    )
                unknown.append(key)
            elif parameter in values:
                raise TypeError(f"{self.name} got multiple values for argument '{parameter}'.")
            else:
                values[parameter] = value
        if unknown:
            raise TypeError(
                f"{self.name} got unexpected keyword arguments: {', '.join(sorted(unknown))}."
            )
        try:
            inputs = [values.pop(arg.name) for arg in self.op_def.inputs]
        except KeyError as error:
            raise TypeError(
                f"No argument for input {error.args[0]} found in {self.name}."
            ) from None
        return inputs, values

    def made_attrs(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the attributes that a caller gave, converted and checked; None is the default.

        Raises:
          TypeError: a required attribute is missing, or a value is of another kind or dtype.
          ValueError: a value is not allowed.
        """
        for name in self.required:
            if name not in given:
                raise TypeError(f"No argument found for attr {name} for {self.name}")
        made = {}
        for name, value in given.items():
            attr_def = self.settable[name]
            if value is None and attr_def.has_default:
                continue
            try:
                key = (name, type(value), value)
                made[name] = self._made_attrs[key]
            except KeyError:
                made[name] = attr_conversion.make_attr(value, attr_def, self.name)
                if isinstance(value, (int, str, bytes)) and len(self._made_attrs) < 1000:
                    self._made_attrs[key] = made[name]
            except TypeError:  # a list cannot be a key
                made[name] = attr_conversion.make_attr(value, attr_def, self.name)
        return made

    # -- attributes of nodes ---------------------------------------------------------------------

    def attrs_of_create_op(
        self, node_name: str, inputs: Sequence[Tensor], given: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return all attributes of a node whose inputs are tensors already.

        Args:
          node_name: the node, for messages.
          inputs: the flat inputs.
          given: plain values or AttrValue messages; attributes that follow from the inputs may be
            missing.

        Raises:
          TypeError: a value is of another kind.
          ValueError: an attribute is missing or not allowed.
        """
        declared = self.op_def.attr_by_name
        attrs: dict[str, Any] = {}
        for name, value in given.items():
            attrs[name] = attr_conversion.stored_attr(value, declared.get(name))
        position = 0
        for arg in self.op_def.inputs:
            if arg.type_list_attr:
                rest = [tensor.dtype.base_dtype for tensor in inputs[position:]]
                position += len(attrs.setdefault(arg.type_list_attr, rest))
                continue
            count = 1
            if arg.number_attr:
                count = attrs.setdefault(arg.number_attr, len(inputs) - position)
            if arg.type_attr and position < len(inputs) and count:
                attrs.setdefault(arg.type_attr, inputs[position].dtype.base_dtype)
            position += count
        for name, value in attrs.items():
            if name in declared:
                node_validation.check_allowed(self.op_def, node_name, declared[name], value)
        node_validation.check_required(self.op_def, node_name, attrs)
        for attr_def in self.op_def.attrs:
            attrs.setdefault(attr_def.name, attr_def.default)
        node_validation.check_list_lengths(self.op_def, node_name, attrs)
        return attrs

    def check_inputs(
        self, node_name: str, inputs: Sequence[Tensor], attrs: Mapping[str, Any]
    ) -> None:
        """Compare the inputs of a node with its attributes.

        Raises:
          ValueError: the number of inputs or the dtype of one differs.
        """
        wanted = self.op_def.input_types(attrs)
        node_validation.check_number_of_inputs(self.op_def, node_name, wanted, len(inputs))
        node_validation.check_input_types(node_name, inputs, wanted)

    def check_input_types(
        self, node_name: str, inputs: Sequence[Tensor], input_types: Sequence[DType]
    ) -> None:
        """Compare the inputs of a node with the dtypes that the caller gave for them.

        Raises:
          TypeError: an input has another dtype.
        """
        if not all(dtype.is_compatible_with(t.dtype) for t, dtype in zip(inputs, input_types)):
            raise TypeError(
                f"In op '{node_name}', input types ({[t.dtype for t in inputs]}) are not "
                f"compatible with expected types ({list(input_types)})"
            )

    # -- results ---------------------------------------------------------------------------------

    def result_of(self, op: Operation) -> Any:
        """Return the builder's result: the operation, a tensor, a list, or a named tuple."""
        return self._result(op)

    def _give_tuple(self, op: Operation) -> Any:
        if self._result_type is None:
            names = [arg.name for arg in self.op_def.outputs]
            self._result_type = namedtuple(  # type: ignore[misc]  # noqa: PYI024  # names known at run time
                _type_name(self.name), names, rename=True
            )
        outputs = op.outputs
        if len(outputs) == len(self.op_def.outputs) and not any(
            arg.is_list for arg in self.op_def.outputs
        ):
            return self._result_type._make(outputs)
        ranges = self.op_def.output_ranges(op.attrs)
        return self._result_type._make(
            outputs[ranges[arg.name].start : ranges[arg.name].stop]
            if arg.is_list
            else outputs[ranges[arg.name].start]
            for arg in self.op_def.outputs
        )


def _type_name(op_name: str) -> str:
    return op_name.lstrip("_") or "Result"


def _give_operation(op: Operation) -> Any:
    return op


def _give_tensor(op: Operation) -> Any:
    return op.outputs[0]


def _give_list(op: Operation) -> Any:
    return list(op.outputs) or op


def plan_of(definition: OpDefinition) -> OpPlan:
    """Return the plan of an op; made on first use."""
    plan: OpPlan | None = definition.builder_cache
    if plan is None:
        plan = definition.builder_cache = OpPlan(definition)
    return plan
