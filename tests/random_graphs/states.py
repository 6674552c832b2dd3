"""Random nodes with state or that fail: variables, queues, stacks, TensorArrays, faults.

A result that depends on a reference variable is always computed, never the reference itself,
because the value of TensorFlow's Identity of a reference depends on buffers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.random_graphs.kernels import NUMBERS, random_value
from tests.random_graphs.scopes import T32, Loop, Scope, State, Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

VARIABLE_SHAPES: list[tuple[int, ...]] = [(), (3,), (2, 2)]


def add_variable(root: Scope, kind: str, is_initialized: bool = True) -> tuple[State, str | None]:
    """Add a reference or resource variable in the root; return its initializer, too."""
    graph, rng = root.graph, root.graph.rng
    dtype, shape = rng.choice(NUMBERS), rng.choice(VARIABLE_SHAPES)
    device = rng.choice(graph.devices)
    types: dict[str, Any] = {"dtype": ["type", dtype], "shape": ["shape", list(shape)]}
    if kind == "ref":
        handle = root.add(
            "VariableV2", [], [(dtype + "&", shape)], device=device, keep=False, **types
        )[0]
    else:
        name = graph.new_name("shared")
        handle = root.add(
            "VarHandleOp",
            [],
            [("resource", ())],
            device=device,
            keep=False,
            shared_name=["text", name],
            **types,
        )[0]
    state = State(kind, handle, dtype, shape, device)
    _register(root, state)
    if not is_initialized:
        return state, None
    value = root.const(random_value(rng, dtype, shape), keep=False)
    _assign(root, state, value, "Assign", controls=())
    return state, graph.nodes[-1].name


def _register(root: Scope, state: State) -> None:
    root.graph.states.append(state)
    token = root.const(["int32", [], [0]], keep=False)
    token.is_token = True
    root.tokens[state] = token


def use_variable(scope: Scope, state: State) -> None:
    """Read or change a variable."""
    rng = scope.graph.rng
    fitting = [t for t in scope.tensors if t.dtype == state.dtype and t.shape == state.shape]
    op = rng.choice(["read", "read", "is_initialized", "Assign", "AssignAdd", "AssignSub"])
    if op == "read":
        read_variable(scope, state)
    elif op == "is_initialized":
        ref = state.kind == "ref"
        attrs = {"dtype": ["type", state.dtype]} if ref else {}
        name = "IsVariableInitialized" if ref else "VarIsInitializedOp"
        _touching(scope, state, name, [], [("bool", ())], **attrs)
    elif fitting:
        _assign(scope, state, rng.choice(fitting), op)
    else:
        value = scope.const(random_value(rng, state.dtype, state.shape))
        _assign(scope, state, value, op)


def read_variable(scope: Scope, state: State) -> Tensor:
    """Return the variable's value at this point of its history."""
    outputs: list[Any] = [(state.dtype, state.shape)]
    if state.kind == "ref":
        zero = scope.const([state.dtype, [], [0]], keep=False)
        return _touching(scope, state, "AddV2", [zero], outputs, T=["type", state.dtype])[0]
    return _touching(scope, state, "ReadVariableOp", [], outputs, dtype=["type", state.dtype])[0]


def _assign(
    scope: Scope, state: State, value: Tensor, op: str, controls: tuple[str, ...] | None = None
) -> None:
    if state.dtype == "float32" and op != "Assign":
        op = "Assign"  # floats are to stay small
    if state.kind == "ref":
        attrs = {"T": ["type", state.dtype]}
        outputs = [(state.dtype + "&", state.shape)]
    else:
        op = {"Assign": "AssignVariableOp"}.get(op, f"{op}VariableOp")
        attrs = {"dtype": ["type", state.dtype]}
        outputs = []
    if controls is None:
        _touching(scope, state, op, [value], outputs, **attrs)
    else:
        inputs = [scope.handle(state), value]
        scope.add(op, inputs, outputs, state.device, controls, keep=False, **attrs)


def _touching(
    scope: Scope,
    state: State,
    op: str,
    inputs: list[Tensor],
    outputs: list[Any],
    **attrs: Any,
) -> list[Tensor]:
    """Add a node between two tokens of the state."""
    handle, token = scope.handle(state), scope.token(state)
    made = scope.add(
        op, [handle, *inputs], outputs, state.device, [token.node], keep=False, **attrs
    )
    name = scope.graph.nodes[-1].name
    scope.tensors += [t for t in made if not t.dtype.endswith("&")]
    scope.controls.append((name, scope.graph.alive_of[name]))
    scope.touch(state, name)
    return made


# -- queues, stacks, arrays


def queue_round_trip(scope: Scope) -> None:
    """Enqueue two values into a queue of this scope and dequeue them."""
    values = scope.firm()
    if not values:
        return
    rng = scope.graph.rng
    first = rng.choice(values)
    second = rng.choice(
        scope.firm(first.dtype, first.shape) if first.shape is not None else [first]
    )
    device = rng.choice(scope.graph.devices)
    queue = scope.add(
        "FIFOQueueV2",
        [],
        [("resource", ())],
        device,
        keep=False,
        component_types=["types", [first.dtype]],
        shared_name=["text", scope.graph.new_name("queue")],
    )[0]
    types = {"Tcomponents": ["types", [first.dtype]]}
    before: list[str] = []
    for value in (first, second):
        scope.add("QueueEnqueueV2", [queue, value], [], device, before, keep=False, **types)
        before = [scope.graph.nodes[-1].name]
    attrs = {"component_types": ["types", [first.dtype]]}
    for _ in range(2):
        made = scope.add(
            "QueueDequeueV2",
            [queue],
            [(first.dtype, first.shape)],
            device,
            before,
            keep=False,
            **attrs,
        )
        scope.tensors += made
        before = [made[0].node]


def stack_round_trip(scope: Scope) -> None:
    """Push a value in every iteration of a loop and pop them in a second one."""
    graph, rng = scope.graph, scope.graph.rng
    device = rng.choice(graph.devices)
    kind = ["type", "int32"]
    size = scope.const(["int32", [], [-1]], keep=False)
    stack = scope.add(
        "StackV2",
        [size],
        [("resource", ())],
        device,
        keep=False,
        elem_type=kind,
        stack_name=["text", graph.new_name("stack")],
    )[0]
    state = State("stack", stack, "int32", (), device)
    zero = scope.const(["int32", [], [0]], keep=False)
    limit = scope.const(["int32", [], [rng.randint(0, 4)]], keep=False)
    token = zero
    for op in ("StackPushV2", "StackPopV2"):
        loop = Loop(scope, zero, limit, None, rng.randint(1, 32))
        inside = loop.add_variable(token)
        handle = loop.enter(state.handle, is_constant=True, device=device)
        value = loop.add("Mul", [loop.counter, loop.counter], [("int32", ())], keep=False, **T32)[0]
        if op == "StackPushV2":
            attrs = {"T": kind, "swap_memory": ["bool", False]}
            moved = loop.add(
                op, [handle, value], [("int32", ())], device, [inside.node], keep=False, **attrs
            )[0]
        else:
            moved = loop.add(
                op, [handle], [("int32", ())], device, [inside.node], keep=False, elem_type=kind
            )[0]
        total = loop.add("Add", [inside, moved], [("int32", ())], keep=False, **T32)[0]
        token = close_counting(loop, {1: total})[1]
        # If it is fed, the second loop would pop from an empty stack, which is a second fault.
        token.is_token = op == "StackPushV2"


def close_counting(loop: Loop, following: dict[int, Tensor]) -> list[Tensor]:
    """End a loop whose counter increases by one."""
    one = loop.const(["int32", [], [1]], keep=False)
    next_count = loop.add("AddV2", [loop.counter, one], [("int32", ())], keep=False, **T32)[0]
    return loop.close({0: next_count, **following})


def tensor_array_round_trip(scope: Scope) -> None:
    """Write an element in every iteration of a loop and gather or read them behind it."""
    graph, rng = scope.graph, scope.graph.rng
    device = rng.choice(graph.devices)
    kind = {"dtype": ["type", "int32"]}
    count = rng.randint(0, 4)
    limit = scope.const(["int32", [], [count]], keep=False)
    zero = scope.const(["int32", [], [0]], keep=False)
    array, flow = scope.add(
        "TensorArrayV3",
        [limit],
        [("resource", ()), ("float32", ())],
        device,
        keep=False,
        element_shape=["shape", []],
        clear_after_read=["bool", False],
        tensor_array_name=["text", graph.new_name("array")],
        **kind,
    )
    loop = Loop(scope, zero, limit, None, rng.randint(1, 32))
    inside = loop.add_variable(flow)
    handle = loop.enter(array, is_constant=True, device=device)
    value = loop.add("Mul", [loop.counter, loop.counter], [("int32", ())], keep=False, **T32)[0]
    written = loop.add(
        "TensorArrayWriteV3",
        [handle, loop.counter, value, inside],
        [("float32", ())],
        device,
        keep=False,
        **T32,
    )[0]
    flow = close_counting(loop, {1: written})[1]
    scope.tensors.remove(flow)
    scope.add("TensorArraySizeV3", [array, flow], [("int32", ())], device)
    if count:
        indices = scope.const(["int32", [count], list(range(count))], keep=False)
        gathered: list[Any] = [("int32", (count,))]
        scope.add("TensorArrayGatherV3", [array, indices, flow], gathered, device, **kind)
        index = scope.const(["int32", [], [rng.randint(0, count - 1)]], keep=False)
        scope.add("TensorArrayReadV3", [array, index, flow], [("int32", ())], device, **kind)


# -- faults


def add_fault(scope: Scope, root: Scope) -> str | None:
    """Add the failing node of a graph; return its kind."""
    rng = scope.graph.rng
    kinds: dict[str, Callable[[Scope, Scope], bool]] = {
        "division": _division,
        "gather": _gather,
        "assert": _assert,
        "uninitialized": _uninitialized,
        "placeholder": _unfed_placeholder,
        "numerics": _numerics,
        "permutation": _permutation,
        "stack": _empty_stack,
        "reshape": _reshape,
        "count": _count_up_to,
    }
    name = rng.choice(sorted(kinds))
    return name if kinds[name](scope, root) else None


def _firm_or_const(scope: Scope, dtype: str, shape: tuple[int, ...]) -> Tensor:
    found = scope.firm(dtype, shape)
    rng = scope.graph.rng
    return rng.choice(found) if found else scope.const(random_value(rng, dtype, shape))


def _division(scope: Scope, root: Scope) -> bool:
    dtype = scope.graph.rng.choice(["int32", "int64"])
    x = _firm_or_const(scope, dtype, ())
    zero = scope.const([dtype, [], [0]], keep=False)
    op = scope.graph.rng.choice(["FloorDiv", "FloorMod", "TruncateDiv"])
    scope.add(op, [x, zero], [(dtype, ())], T=["type", dtype])
    return True


def _gather(scope: Scope, root: Scope) -> bool:
    x = _firm_or_const(scope, "int32", (3,))
    indices = scope.const(["int32", [2], [1, scope.graph.rng.choice([-1, 7])]], keep=False)
    axis = scope.const(["int32", [], [0]], keep=False)
    kind = ["type", "int32"]
    attrs = {"Tparams": kind, "Tindices": kind, "Taxis": kind}
    scope.add("GatherV2", [x, indices, axis], [("int32", (2,))], **attrs)
    return True


def _assert(scope: Scope, root: Scope) -> bool:
    truth = _firm_or_const(scope, "bool", ())
    shown = _firm_or_const(scope, "int32", ())
    scope.add("Assert", [truth, shown], [], T=["types", ["int32"]], summarize=["int", 3])
    return True


def _uninitialized(scope: Scope, root: Scope) -> bool:
    state, _ = add_variable(root, scope.graph.rng.choice(["ref", "resource"]), False)
    read_variable(scope, state)
    return True


def _unfed_placeholder(scope: Scope, root: Scope) -> bool:
    attrs = {"dtype": ["type", "int32"], "shape": ["shape", []]}
    x = scope.add("Placeholder", [], [("int32", ())], **attrs)[0]
    scope.add("Neg", [x], [("int32", ())], **T32)
    return True


def _numerics(scope: Scope, root: Scope) -> bool:
    x = _firm_or_const(scope, "float32", (3,))
    zero = scope.const(["float32", [], [0.0]], keep=False)
    kind = {"T": ["type", "float32"]}
    wrong = scope.add("RealDiv", [x, zero], [("float32", (3,))], keep=False, **kind)[0]
    attrs = {"message": ["text", "found"], **kind}
    scope.add("CheckNumerics", [wrong], [("float32", (3,))], **attrs)
    return True


def _permutation(scope: Scope, root: Scope) -> bool:
    x = scope.const(["int32", [3], [0, 2, scope.graph.rng.choice([2, 3])]], keep=False)
    scope.add("InvertPermutation", [x], [("int32", (3,))], **T32)
    return True


def _empty_stack(scope: Scope, root: Scope) -> bool:
    kind = ["type", "int32"]
    device = scope.graph.rng.choice(scope.graph.devices)
    size = scope.const(["int32", [], [-1]], keep=False)
    attrs = {"elem_type": kind, "stack_name": ["text", scope.graph.new_name("stack")]}
    stack = scope.add("StackV2", [size], [("resource", ())], device, keep=False, **attrs)[0]
    scope.add("StackPopV2", [stack], [("int32", ())], device, elem_type=kind)
    return True


def _reshape(scope: Scope, root: Scope) -> bool:
    x = _firm_or_const(scope, "int32", (3,))
    size = _firm_or_const(scope, "int32", ())
    attrs = {"N": ["int", 1], "axis": ["int", 0], **T32}
    shape = scope.add("Pack", [size], [("int32", (1,))], keep=False, **attrs)[0]
    attrs = {"Tshape": ["type", "int32"], **T32}
    scope.add("Reshape", [x, shape], [("int32", None)], **attrs)
    return True


def _count_up_to(scope: Scope, root: Scope) -> bool:
    counters = [s for s in scope.graph.states if (s.kind, s.dtype, s.shape) == ("ref", "int32", ())]
    if not counters:
        return False
    state = scope.graph.rng.choice(counters)
    limit = {"limit": ["int", scope.graph.rng.randint(-5, 12)]}
    _touching(scope, state, "CountUpTo", [], [("int32", ())], **T32, **limit)
    return True
