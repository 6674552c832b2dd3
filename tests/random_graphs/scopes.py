"""Nodes under construction, in the scopes of conds and loops, as raw Switch, Merge, Enter, Exit.

State is ordered by tokens: an int32 tensor per variable, queue or stack passes every node that
accesses it (control edge in, control edge out), both sides of a cond, and every loop. Therefore any
part of the graph that a step needs accesses each state in one order, and TensorFlow's threads
cannot change the result.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.random_graphs.case import Node, Value
from tests.random_graphs.liveness import ALWAYS, Formula, both, either, implies, literal

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

Shape = tuple[int, ...] | None


@dataclass(slots=True, eq=False)
class Tensor:
    """One output of a node; ``alive`` as in liveness.py."""

    name: str
    dtype: str
    shape: Shape
    alive: Formula | None
    is_token: bool = False

    @property
    def node(self) -> str:
        """The node's name."""
        return self.name.partition(":")[0]


@dataclass(slots=True, eq=False)
class State:
    """A variable, queue or stack of the root scope: its handle and its contents."""

    kind: str
    handle: Tensor
    dtype: str
    shape: tuple[int, ...]
    device: str


@dataclass(slots=True)
class GraphUnderConstruction:
    """Data that all scopes of a graph share."""

    rng: random.Random
    devices: Sequence[str] = ("",)
    nodes: list[Node] = field(default_factory=list)
    states: list[State] = field(default_factory=list)
    alive_of: dict[str, Formula | None] = field(default_factory=dict)
    num_names: int = 0
    is_odd: bool = False

    def new_name(self, prefix: str = "n") -> str:
        """A name that no node has."""
        self.num_names += 1
        return f"{prefix}{self.num_names}"


class Scope:
    """A place for nodes: the root, a side of a cond, or a loop's body.

    Attributes:
      alive: when the scope as a whole runs, within its frame.
      pivot: a node for control edges to constants, None in the root.
      tensors: the tensors that nodes of this scope may use.
      controls: nodes of this scope and when they run.
    """

    def __init__(
        self,
        graph: GraphUnderConstruction,
        parent: Scope | None = None,
        alive: Formula | None = ALWAYS,
    ) -> None:
        self.graph = graph
        self.parent = parent
        self.alive = alive
        self.pivot: str | None = None
        self.tensors: list[Tensor] = []
        self.controls: list[tuple[str, Formula | None]] = []
        self.tokens: dict[State, Tensor] = {}

    # -- nodes

    def add(
        self,
        op: str,
        inputs: Sequence[Tensor],
        outputs: Sequence[tuple[str, Shape]],
        device: str | None = None,
        controls: Sequence[str] = (),
        keep: bool = True,
        **attrs: Any,
    ) -> list[Tensor]:
        """Add a node; with ``keep`` its outputs become tensors of the scope."""
        graph, rng = self.graph, self.graph.rng
        alive: Formula | None = ALWAYS
        for tensor in inputs:
            alive = both(alive, tensor.alive)
        names = [f"^{name}" for name in controls]
        for name in controls:
            alive = both(alive, graph.alive_of[name])
        if not inputs and self.pivot is not None:
            names.append(f"^{self.pivot}")
            alive = both(alive, self.alive)
        if keep and self.controls and rng.random() < 0.08:
            name, when = rng.choice(self.controls)
            names.append(f"^{name}")
            alive = both(alive, when)
        made = graph.new_name()
        where = rng.choice(graph.devices) if device is None else device
        node = Node(made, op, [_input(t.name) for t in inputs] + names, dict(attrs), where)
        graph.nodes.append(node)
        graph.alive_of[made] = alive
        tensors = [
            Tensor(f"{made}:{i}", dtype, shape, alive) for i, (dtype, shape) in enumerate(outputs)
        ]
        if keep:
            self.tensors += tensors
            self.controls.append((made, alive))
        return tensors

    def const(self, value: Value, keep: bool = True) -> Tensor:
        """A Const in this scope."""
        dtype, shape, _ = value
        attrs = {"dtype": ["type", dtype], "value": ["tensor", value]}
        return self.add("Const", [], [(dtype, tuple(shape))], keep=keep, **attrs)[0]

    def firm(self, dtype: str | None = None, shape: Shape = None) -> list[Tensor]:
        """The tensors that are alive exactly when the scope runs."""
        return [
            t
            for t in self.tensors
            if t.alive == self.alive
            and not t.is_token
            and (dtype is None or t.dtype == dtype)
            and (shape is None or t.shape == shape)
        ]

    # -- state

    def handle(self, state: State) -> Tensor:
        """Return the state's handle, as nodes of this scope use it."""
        if self.parent is None:
            return state.handle
        return self.parent.handle(state)

    def token(self, state: State) -> Tensor:
        """Return the token for which the next access to the state waits."""
        return self.tokens[state]

    def touch(self, state: State, node: str) -> None:
        """Make the next access to the state wait for ``node``, if ``node`` runs."""
        token = self.token(state)
        after = node
        if self.graph.alive_of[node] != token.alive or self.graph.rng.random() < 0.3:
            # The trigger runs even if the node is dead, so that the liveness of the token does not
            # change.
            self.add("ControlTrigger", [], [], keep=False)
            trigger = self.graph.nodes[-1]
            trigger.inputs[:] = [f"^{node}"]
            self.graph.alive_of[trigger.name] = ALWAYS
            after = trigger.name
        self.tokens[state] = self.after(token, after)

    def after(self, token: Tensor, *controls: str) -> Tensor:
        """Return an Identity of the token behind some nodes."""
        made = self.add("Identity", [token], [("int32", ())], controls=controls, keep=False, **T32)
        made[0].is_token = True
        return made[0]

    # -- conds

    def cond(self, pred: Tensor) -> tuple[Branch, Branch]:
        """Return the two sides behind a predicate, false first; :meth:`Branch.join` ends them."""
        shared: dict[str, str] = {}
        false, true = (Branch(self, pred, side, shared) for side in (False, True))
        return false, true


T32 = {"T": ["type", "int32"]}


class Branch(Scope):
    """One side of a cond."""

    def __init__(self, parent: Scope, pred: Tensor, side: bool, shared: dict[str, str]) -> None:
        super().__init__(parent.graph, parent, both(parent.alive, literal(pred.name, side)))
        self.pred = pred
        self.side = side
        self.shared = shared  # tensor name -> its Switch, for both sides
        through = self.capture(pred)
        made = self.add("Identity", [through], [("bool", ())], keep=False, T=["type", "bool"])
        self.pivot = made[0].node

    def capture(self, tensor: Tensor) -> Tensor:
        """Pass a tensor of the surrounding scope through a Switch."""
        switch = self.shared.get(tensor.name)
        if switch is None:
            outputs = [(tensor.dtype, tensor.shape)] * 2
            made = self.add(
                "Switch", [tensor, self.pred], outputs, keep=False, T=["type", tensor.dtype]
            )
            switch = self.shared[tensor.name] = made[0].node
        alive = both(both(tensor.alive, self.pred.alive), literal(self.pred.name, self.side))
        found = Tensor(f"{switch}:{int(self.side)}", tensor.dtype, tensor.shape, alive)
        if not tensor.is_token:
            self.tensors.append(found)
        return found

    def token(self, state: State) -> Tensor:
        """Pass the token through its own Switch."""
        if state not in self.tokens:
            assert self.parent is not None
            # An Identity, because a control edge from a Switch is alive on either side.
            self.tokens[state] = self.after(self.capture(self.parent.token(state)))
        return self.tokens[state]

    def join(self, true: Branch, pairs: Sequence[tuple[Tensor, Tensor]]) -> list[Tensor]:
        """End a cond, with ``self`` as false side: a Merge for every pair and every token."""
        scope = self.parent
        assert scope is not None
        results = []
        for a, b in pairs:
            results += merge(scope, [a, b])
        for state in [s for s in scope.graph.states if s in self.tokens or s in true.tokens]:
            made = merge(scope, [self.token(state), true.token(state)], keep=False)
            made[0].is_token = True
            scope.tokens[state] = made[0]
        return results


def merge(scope: Scope, tensors: Sequence[Tensor], keep: bool = True) -> list[Tensor]:
    """Return a Merge of exclusive tensors: the value and its index."""
    alive = tensors[0].alive
    for tensor in tensors[1:]:
        alive = (
            either(alive, tensor.alive) if alive is not None and tensor.alive is not None else None
        )
    shape = tensors[0].shape if len({t.shape for t in tensors}) == 1 else None
    attrs = {"T": ["type", tensors[0].dtype], "N": ["int", len(tensors)]}
    outputs: list[tuple[str, Shape]] = [(tensors[0].dtype, shape), ("int32", ())]
    made = scope.add("Merge", tensors, outputs, keep=False, **attrs)
    scope.graph.alive_of[made[0].node] = alive
    for tensor in made:
        tensor.alive = alive
    if keep:
        scope.tensors += made
        scope.controls.append((made[0].node, alive))
    return made


class Loop(Scope):
    """A while loop's body, which counts from ``start`` up to ``limit``.

    Attributes:
      carried: loop variables: their NextIteration's node, the value in the body, the Exit.
    """

    def __init__(
        self, parent: Scope, start: Tensor, limit: Tensor, flag: Tensor | None, parallel: int
    ) -> None:
        graph = parent.graph
        super().__init__(graph, parent)
        self.frame = graph.new_name("frame")
        self.parallel = parallel
        self._handles: dict[State, Tensor] = {}
        self._token_variables: dict[State, int] = {}
        self.carried: list[tuple[Node, Tensor, Tensor]] = []
        counter = self._merged(start)
        bound = self.enter(limit, is_constant=True)
        device = graph.rng.choice(graph.devices)
        go_on = self.add("Less", [counter, bound], [("bool", ())], keep=False, **T32)[0]
        flag_merge = None if flag is None else self._merged(flag)
        if flag_merge is not None:
            go_on = self.add("LogicalAnd", [go_on, flag_merge], [("bool", ())], keep=False)[0]
        self._go_on = self.add("LoopCond", [go_on], [("bool", ())], device=device, keep=False)[0]
        self.alive = literal(self._go_on.name, True)
        self.counter = self._through_switch(counter, start)
        self.pivot = self.counter.node
        if flag is not None and flag_merge is not None:
            self.flag: Tensor | None = self._through_switch(flag_merge, flag)
        else:
            self.flag = None

    def enter(self, tensor: Tensor, is_constant: bool, device: str | None = None) -> Tensor:
        """Return a tensor of the surrounding scope inside the frame."""
        assert self.parent is not None
        is_ref = tensor.dtype.endswith("&")
        made = self.add(
            "RefEnter" if is_ref else "Enter",
            [tensor],
            [(tensor.dtype, tensor.shape)],
            device=device,
            keep=False,
            T=["type", tensor.dtype.rstrip("&")],
            frame_name=["text", self.frame],
            is_constant=["bool", is_constant],
            parallel_iterations=["int", self.parallel],
        )[0]
        # If the loop as a whole runs, this tensor is alive as well; else its liveness is unknown.
        made.alive = ALWAYS if implies(self.parent.alive, tensor.alive) else None
        self.graph.alive_of[made.node] = made.alive
        return made

    def capture(self, tensor: Tensor) -> Tensor:
        """Return a tensor of the surrounding scope that is constant in the loop."""
        found = self.enter(tensor, is_constant=True)
        self.tensors.append(found)
        return found

    def add_variable(self, tensor: Tensor) -> Tensor:
        """Add a loop variable; return its value in the body."""
        return self._through_switch(self._merged(tensor), tensor)

    def _merged(self, tensor: Tensor) -> Tensor:
        entered = self.enter(tensor, is_constant=False)
        made = self.add(
            "Merge",
            [entered],
            [(tensor.dtype, tensor.shape), ("int32", ())],
            keep=False,
            T=["type", tensor.dtype],
            N=["int", 2],
        )[0]
        made.alive = self.graph.alive_of[made.node] = ALWAYS
        return made

    def _through_switch(self, merged: Tensor, start: Tensor) -> Tensor:
        assert self.parent is not None
        dtype, shape = start.dtype, start.shape
        attrs = {"T": ["type", dtype]}
        outputs = [(dtype, shape)] * 2
        switch = self.add("Switch", [merged, self._go_on], outputs, keep=False, **attrs)
        switch[1].alive = literal(self._go_on.name, True)
        body = self.add("Identity", [switch[1]], [(dtype, shape)], keep=False, **attrs)[0]
        self.alive = body.alive
        leaving = self.add("Exit", [switch[0]], [(dtype, shape)], keep=False, **attrs)[0]
        leaving.alive = self.graph.alive_of[leaving.node] = self.parent.alive
        following = Node(self.graph.new_name(), "NextIteration", [], dict(attrs))
        following.device = self.graph.rng.choice(self.graph.devices)
        merge_node = next(n for n in reversed(self.graph.nodes) if n.name == merged.node)
        merge_node.inputs.insert(1, following.name)
        self.graph.nodes.append(following)
        self.carried.append((following, body, leaving))
        if not start.is_token:
            self.tensors.append(body)
        return body

    def handle(self, state: State) -> Tensor:
        """Return a handle as a constant of the frame, on the state's device."""
        if state not in self._handles:
            assert self.parent is not None
            around = self.parent.handle(state)
            self._handles[state] = self.enter(around, is_constant=True, device=state.device)
        return self._handles[state]

    def token(self, state: State) -> Tensor:
        """Make the token a loop variable."""
        if state not in self.tokens:
            assert self.parent is not None
            token = self.add_variable(self.parent.token(state))
            token.is_token = True
            self.tokens[state] = token
            self._token_variables[state] = len(self.carried) - 1
        return self.tokens[state]

    def close(self, following: dict[int, Tensor]) -> list[Tensor]:
        """End the loop.

        Args:
          following: for each loop variable by position, its next value.

        Returns:
          The Exits.
        """
        scope = self.parent
        assert scope is not None
        for state, position in self._token_variables.items():
            following[position] = self.tokens[state]
            leaving = self.carried[position][2]
            leaving.is_token = True
            scope.tokens[state] = leaving
        exits = []
        for position, (node, _, leaving) in enumerate(self.carried):
            node.inputs[:] = [_input(following[position].name)]
            if not leaving.is_token:
                exits.append(leaving)
        scope.tensors += exits
        return exits


def _input(name: str) -> str:
    return name.removesuffix(":0")
