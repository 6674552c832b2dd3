"""Finds the functions that a node calls and checks their types.

As in TensorFlow, the time of the check depends on the call.  Calls that would be inlined and
branches that would be lowered are checked when a graph is extended, a dataset's functions when its
kernel is made.  All others are checked when the node runs, including branches that are not taken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes, errors, op_registry
from tfnb.core.attr_value import NameAttrList
from tfnb.graph.node_kind import PARTITIONED_CALLS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tfnb.core.dtypes import DType
    from tfnb.core.op_kernel import OpKernelContext
    from tfnb.graph.function_library import FunctionLibraryDefinition
    from tfnb.graph.graph import Graph, Node

IF = frozenset(["If", "StatelessIf"])
CASE = frozenset(["Case", "StatelessCase"])
WHILE = frozenset(["While", "StatelessWhile"])
CONTROL_FLOW = IF | CASE | WHILE
# The attribute of calls that lowering an If, Case or While makes.
MULTI_DEVICE = "_lower_as_multi_device_function"

_UNKNOWN = "Failed to find function \"{}\" in function library, which node '{}' calls"


def called_functions(
    op: str, attrs: Mapping[str, Any]
) -> list[tuple[NameAttrList, Sequence[DType], Sequence[DType] | None]]:
    """Return the functions that a node calls, with the types of their arguments and results.

    The results' types are None where the functions' own are not checked.
    """
    if op in PARTITIONED_CALLS:
        return [(attrs["f"], attrs["Tin"], attrs["Tout"])]
    if op in IF:
        return [(attrs[k], attrs["Tin"], attrs["Tout"]) for k in ("then_branch", "else_branch")]
    if op in CASE:
        return [(one, attrs["Tin"], attrs["Tout"]) for one in attrs["branches"]]
    if op in WHILE:
        state = attrs["T"]
        return [(attrs["cond"], state, None), (attrs["body"], state, state)]
    if op == "For":
        return [(attrs["body"], [dtypes.int32, *attrs["T"]], attrs["T"])]
    return []


def types_of(
    function: NameAttrList, library: FunctionLibraryDefinition | None
) -> tuple[list[DType], list[DType]] | None:
    """Return the base types of a function's arguments and results; None if attributes are missing.

    Raises:
      NotFoundError: the function does not exist.
    """
    definition = None if library is None else library.find(function.name)
    if definition is None:
        raise errors.not_found(f"Function {function.name} is not defined.")
    try:
        given = definition.op_def.input_types(function.attrs)
        results = definition.op_def.output_types(function.attrs)
    except (KeyError, errors.OpError):
        return None
    return [one.base_dtype for one in given], [one.base_dtype for one in results]


def check_calls(node: Node, library: FunctionLibraryDefinition | None) -> None:
    """Reject a call to be inlined, or branches to be lowered, of unknown or unfitting functions.

    Raises:
      InvalidArgumentError: the function does not exist, or branches take other types.
    """
    for function, given, _ in called_functions(node.op, node.attrs):
        try:
            types = types_of(function, library)
        except errors.NotFoundError:
            if node.op not in PARTITIONED_CALLS and op_registry.find(function.name):
                continue  # running the node reports the error
            raise errors.invalid_argument(_UNKNOWN.format(function.name, node.name)) from None
        if node.op in PARTITIONED_CALLS:
            continue
        assert library is not None
        branch = library.find(function.name)
        for name in [] if branch is None else branch.called_by(PARTITIONED_CALLS):
            if library.find(name) is None:
                raise errors.invalid_argument(_UNKNOWN.format(name, node.name))
        if types is not None:
            fault = _other_types(types[0], given)
            if fault:
                raise errors.invalid_argument(
                    f"{fault} by function '{function.name}', which node '{node.name}' calls"
                )


def without_kernel(graph: Graph) -> Node | None:
    """Return the first node whose op has no kernel for any device."""
    for node in graph.op_nodes():
        definition = node.op_definition
        if definition and not any(definition.has_kernel(d, node.attrs) for d in ("CPU", "GPU")):
            return node
    return None


def check_dataset(op: str, attrs: Mapping[str, Any], knows: Callable[[str], bool]) -> None:
    """Reject a dataset whose function is unknown, or whose determinism policy is invalid.

    Raises:
      FailedPreconditionError: the function does not exist.
      InvalidArgumentError: the policy does not exist.
    """
    if "Dataset" in op:
        policy = attrs.get("deterministic", b"default")
        if policy not in (b"true", b"false", b"default"):
            text = policy.decode(errors="replace")
            raise errors.invalid_argument(f"Unrecognized determinism policy: {text}")
        for value in attrs.values():
            if isinstance(value, NameAttrList) and not knows(value.name):
                raise errors.failed_precondition(
                    f"Could not find required function definition {value.name}"
                )


def _other_types(wanted: Sequence[DType], given: Sequence[DType]) -> str:
    if len(wanted) == len(given):
        for number, (there, here) in enumerate(zip(wanted, given, strict=True)):
            if there is not here.base_dtype:
                return f"Expects arg[{number}] to be {there.name} but {here.name} is provided"
    return ""


def checked_calls(
    op: str,
    attrs: Mapping[str, Any],
    find_library: Callable[[], FunctionLibraryDefinition | None],
    calls: Any,
) -> Any:
    """Return a kernel's calls; if a function does not fit, calls that raise the error.

    Errors in the results of a While are raised after its body has run.
    """
    before: dict[str, str] = {}
    after: dict[str, tuple[Any, str]] = {}
    for function, given, results in called_functions(op, attrs):
        try:
            types = types_of(function, find_library())
        except errors.NotFoundError:
            return _looking_again(op, attrs, find_library, calls)
        if types is None:
            continue
        fault = _other_types(types[0], given)
        if fault:
            before[function.name] = fault
        for number, (there, here) in enumerate(zip(results or (), types[1], strict=False)):
            if there is not here and op in WHILE:
                after[function.name] = (
                    errors.invalid_argument,
                    (f"Expected type {there.name} for return value {number} but got {here.name}."),
                )
            elif there is not here:
                after[function.name] = (
                    errors.internal,
                    (
                        f"Output {number} of type {here.name} does not match declared output type "
                        f"{there.name}"
                    ),
                )
    return _watching(calls, before, after) if before or after else calls


def _looking_again(op: str, attrs: Mapping[str, Any], find_library: Any, calls: Any) -> Any:
    def look(ctx: OpKernelContext, *args: Any) -> Any:
        for function, _, _ in called_functions(op, attrs):
            types_of(function, find_library())  # it may have been added meanwhile
        return (yield from calls(ctx, *args))

    return look


def _watching(calls: Any, before: Mapping[str, str], after: Mapping[str, tuple[Any, str]]) -> Any:
    def watch(ctx: OpKernelContext, *args: Any) -> Any:
        inner, results = calls(ctx, *args), None
        try:
            while True:
                call = inner.send(results)
                if call.name in before:
                    raise errors.invalid_argument(before[call.name])
                results = yield call
                if call.name in after:
                    make_error, text = after[call.name]
                    raise make_error(text)
        except StopIteration as end:
            return end.value
        finally:
            inner.close()

    return watch
