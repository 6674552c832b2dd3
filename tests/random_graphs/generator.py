"""Random graphs that cover all features of a runtime, and random ways to run them.

``random_case(rng)`` takes a ``random.Random`` (hypothesis has one too, which shrinks), so a seed
determines a case. Results that TensorFlow leaves open are not generated:

* two live inputs of one Merge (the first to arrive wins): liveness.py;
* two accesses to one state without an order: the tokens of scopes.py;
* two failing nodes in one graph (either error may be reported): one fault per graph;
* values that depend on the order of a sum, or on NaN: kernels.py.

Some graphs are odd (``Case.is_odd``): an edge that leaves a loop without an Exit, a frame with two
names, a value that is dead for one loop variable and alive for another.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from tests.random_graphs.case import Case, Step
from tests.random_graphs.kernels import add_kernel, random_value
from tests.random_graphs.liveness import are_exclusive
from tests.random_graphs.mutations import mutate
from tests.random_graphs.scopes import (
    T32,
    Branch,
    GraphUnderConstruction,
    Loop,
    Scope,
    State,
    Tensor,
    merge,
)
from tests.random_graphs.states import (
    add_fault,
    add_variable,
    queue_round_trip,
    stack_round_trip,
    tensor_array_round_trip,
    use_variable,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

DEVICES = ("", "/cpu:0", "/cpu:1", "/cpu:2")
ENTERS = ("Enter", "RefEnter")
HANDLES = ("FIFOQueueV2", "StackV2", "TensorArrayV3", "VarHandleOp", "VariableV2")
MAX_DEPTH = 3


class Generator:
    """Makes one case."""

    def __init__(self, rng: random.Random, budget: int | None = None) -> None:
        self.rng = rng
        devices: Sequence[str] = DEVICES if rng.random() < 0.45 else ("",)
        self.graph = GraphUnderConstruction(rng, devices)
        self.root = Scope(self.graph)
        self.placeholders: list[Tensor] = []
        self.initializers: list[str] = []
        self.initialized: list[State] = []
        self.fault: str | None = None
        self.fault_after = rng.randint(1, 30) if rng.random() < 0.25 else 0
        self.is_odd = rng.random() < 0.12
        self.budget = rng.choice([4, 8, 12, 20, 30]) if budget is None else budget

    def case(self) -> Case:
        """Build the graph and its script."""
        rng, root = self.rng, self.root
        for _ in range(rng.randint(0, 2)):
            state, initializer = add_variable(root, rng.choice(["ref", "resource"]))
            if initializer is not None:
                self.initializers.append(initializer)
                self.initialized.append(state)
        for _ in range(rng.randint(1, 4)):
            self._leaf()
        while self.budget > 0:
            self._grow(root, 0)
        if self.fault_after and self.fault is None:
            self.fault = add_fault(root, root)
        notes = [f"fault: {self.fault}"] if self.fault else []
        steps = self._steps()
        readers = [read for state in self.initialized for read in self._reader(state)]
        if readers:
            steps.append(Step({}, readers, []))
        if self.is_odd:
            notes += mutate(self.graph.nodes, rng)
        # The contents of a queue also survive a failed step.
        has_queue = any(node.op == "FIFOQueueV2" for node in self.graph.nodes)
        has_state = bool(self.graph.states) or has_queue
        return Case(self.graph.nodes, steps, has_state, self.is_odd, notes)

    # -- the graph

    def _leaf(self) -> None:
        rng, root = self.rng, self.root
        dtype = rng.choice(["int32", "int32", "float32", "bool", "string", "int64"])
        shape = rng.choice([(), (), (3,), (2, 2)])
        choice = rng.random()
        attrs = {"dtype": ["type", dtype]}
        if choice < 0.4:
            shape_attr = {"shape": ["shape", rng.choice([None, list(shape)])]}
            self.placeholders += root.add(
                "Placeholder", [], [(dtype, shape)], **attrs, **shape_attr
            )
        elif choice < 0.5:
            default = root.const(random_value(rng, dtype, shape), keep=False)
            shape_attr = {"shape": ["shape", list(shape)]}
            root.add("PlaceholderWithDefault", [default], [(dtype, shape)], **attrs, **shape_attr)
        else:
            root.const(random_value(rng, dtype, shape))

    def _grow(self, scope: Scope, depth: int) -> None:
        """Add a random element to a scope."""
        rng = self.rng
        self.budget -= 1
        if self.fault_after:
            self.fault_after -= 1
            if self.fault_after == 0 and self.fault is None:
                self.fault = add_fault(scope, self.root)
                self.fault_after = 0 if self.fault else 1
        choice = rng.random()
        if choice < 0.12 and depth < MAX_DEPTH:
            self._cond(scope, depth)
        elif choice < 0.22 and depth < MAX_DEPTH:
            self._loop(scope, depth)
        elif choice < 0.30:
            self._switch(scope)
        elif choice < 0.37:
            self._merge(scope)
        elif choice < 0.45 and self.graph.states:
            use_variable(scope, rng.choice(self.graph.states))
        elif choice < 0.47:
            queue_round_trip(scope)
        elif choice < 0.49 and depth < 2:
            rng.choice([stack_round_trip, tensor_array_round_trip])(scope)
        elif choice < 0.51:
            # A node that only waits, or one that runs with any input.
            names = rng.sample(scope.controls, min(2, len(scope.controls)))
            if names:
                op = rng.choice(["NoOp", "ControlTrigger"])
                if op == "NoOp":
                    scope.add(op, [], [], controls=[name for name, _ in names])
        else:
            add_kernel(scope)

    def _pred(self, scope: Scope) -> Tensor:
        """Return a predicate that is alive whenever the scope runs."""
        found = scope.firm("bool", ())
        if found and self.rng.random() < 0.7:
            return self.rng.choice(found)
        numbers = scope.firm("int32", ())
        if isinstance(scope, Loop) and self.rng.random() < 0.5:
            numbers = [scope.counter]
        if not numbers:
            return scope.const(random_value(self.rng, "bool", ()))
        bound = scope.const(["int32", [], [self.rng.randint(-2, 3)]], keep=False)
        x = self.rng.choice(numbers)
        return scope.add("Greater", [x, bound], [("bool", ())], keep=False, **T32)[0]

    def _fill(self, scope: Branch | Loop, depth: int) -> None:
        """Bring some tensors into a scope and add some nodes."""
        rng = self.rng
        around = scope.parent
        assert around is not None
        pool = around.tensors if self.is_odd else around.firm()
        if isinstance(scope, Branch):
            pool = around.tensors
        for tensor in rng.sample(pool, min(len(pool), rng.randint(0, 3))):
            if tensor.shape is None:
                continue
            if isinstance(scope, Branch) and rng.random() < 0.2:
                # The tensor is used from outside: nodes that need only it run with any predicate.
                scope.tensors.append(tensor)
            else:
                scope.capture(tensor)
        for _ in range(rng.randint(1, 4)):
            self._grow(scope, depth + 1)

    def _cond(self, scope: Scope, depth: int) -> None:
        rng = self.rng
        pred = self._pred(scope)
        false, true = scope.cond(pred)
        for side in rng.sample([false, true], 2):
            self._fill(side, depth)
        pairs = []
        for a in false.firm():
            others = [b for b in true.firm(a.dtype) if (a.shape is None) == (b.shape is None)]
            if others and rng.random() < 0.6:
                pairs.append((a, rng.choice(others)))
        false.join(true, pairs[:3])

    def _loop(self, scope: Scope, depth: int) -> None:
        rng = self.rng
        start = scope.const(["int32", [], [rng.choice([0, 0, 0, 1, 7])]], keep=False)
        dynamic = scope.firm("int32", ())
        if dynamic and rng.random() < 0.3:
            five = scope.const(["int32", [], [5]], keep=False)
            inputs = [rng.choice(dynamic), five]
            limit = scope.add("FloorMod", inputs, [("int32", ())], keep=False, **T32)[0]
        else:
            value = rng.choice([0, 1, 2, 3, 3, 5, 8][: 7 - 2 * depth])
            limit = scope.const(["int32", [], [value]], keep=False)
        flags = scope.firm("bool", ())
        flag = rng.choice(flags) if flags and rng.random() < 0.2 else None
        loop = Loop(scope, start, limit, flag, rng.choice([1, 1, 2, 3, 10, 32]))
        pool = scope.tensors if self.is_odd else scope.firm()
        pool = [t for t in pool if t.shape is not None]
        carried = [
            loop.add_variable(t) for t in rng.sample(pool, min(len(pool), rng.randint(0, 3)))
        ]
        self._fill(loop, depth)
        one = loop.const(["int32", [], [rng.choice([1, 1, 1, 2])]], keep=False)
        counter = loop.add("AddV2", [loop.counter, one], [("int32", ())], keep=False, **T32)[0]
        following = {0: counter}
        bodies = [loop.counter, *([loop.flag] if loop.flag else []), *carried]
        positions = {id(body): i for i, (_, body, _) in enumerate(loop.carried)}
        for body in bodies[1:]:
            # Only tensors that are dead after the body: others would begin iterations forever.
            found = loop.firm(body.dtype, body.shape)
            if self.is_odd and rng.random() < 0.3:
                found += [
                    t
                    for t in loop.tensors
                    if (t.dtype, t.shape) == (body.dtype, body.shape)
                    and t.alive is not None
                    and all(lit in x for x in t.alive for lit in next(iter(loop.alive or ())))
                ]
            following[positions[id(body)]] = rng.choice(found)
        loop.close(following)

    def _switch(self, scope: Scope) -> None:
        rng = self.rng
        pool = [t for t in scope.tensors if t.shape is not None]
        preds = [t for t in scope.tensors if (t.dtype, t.shape) == ("bool", ())]
        if not pool:
            return
        pred = rng.choice(preds) if preds and rng.random() < 0.6 else self._pred(scope)
        branch = Branch(scope, pred, False, {})
        chosen = rng.choice(pool)
        scope.tensors.append(branch.capture(chosen))
        other = Branch(scope, pred, True, branch.shared)
        scope.tensors.append(other.capture(chosen))

    def _merge(self, scope: Scope) -> None:
        rng = self.rng
        pool = [t for t in scope.tensors if t.shape is not None and t.alive is not None]
        rng.shuffle(pool)
        for a in pool:
            fitting = [
                b
                for b in pool
                if b.dtype == a.dtype and b.shape == a.shape and are_exclusive(a.alive, b.alive)
            ]
            if fitting:
                b = rng.choice(fitting)
                merge(scope, [a, b] if rng.random() < 0.5 else [b, a])
                return

    def _reader(self, state: State) -> list[str]:
        """Add a node that reads a variable in a final step."""
        attrs = {"dtype": ["type", state.dtype]}
        op = "ReadVariableOp"
        inputs = [state.handle]
        if state.kind == "ref":
            op, attrs = "AddV2", {"T": ["type", state.dtype]}
            inputs.append(self.root.const([state.dtype, [], [0]], keep=False))
        outputs = [(state.dtype, state.shape)]
        made = self.root.add(op, inputs, outputs, state.device, keep=False, **attrs)
        return [made[0].name]

    # -- the script

    def _steps(self) -> list[Step]:
        steps = []
        if self.initializers:
            steps.append(Step({}, [], list(self.initializers)))
        steps += [self._step() for _ in range(self.rng.randint(1, 3))]
        return steps

    def _step(self) -> Step:
        rng, root = self.rng, self.root
        tensors = root.tensors
        feeds = {}
        for tensor in self.placeholders:
            feeds[tensor.name] = random_value(rng, tensor.dtype, tensor.shape or ())
        if rng.random() < 0.4:
            # Only tensors that are always alive: a fed tensor is alive, and no Merge gets a second
            # live input.
            pool = [t for t in root.firm() if t.shape is not None]
            for tensor in rng.sample(pool, min(len(pool), rng.randint(1, 3))):
                feeds[tensor.name] = random_value(rng, tensor.dtype, tensor.shape or ())
        pool = tensors if rng.random() < 0.4 else root.firm()
        fetches = [t.name for t in rng.sample(pool, min(len(pool), rng.randint(1, 5)))]
        tokens = [token.name for token in root.tokens.values()]
        if tokens and rng.random() < 0.7:
            fetches.insert(rng.randint(0, len(fetches)), rng.choice(tokens))
        if fetches and rng.random() < 0.2:
            fetches.append(rng.choice(fetches))
        targets = []
        if rng.random() < 0.3:
            # No placeholder, which runs and fails as a target, fed or not. No Enter: without
            # consumers its frame ends in TensorFlow's hands, which crashes. No initializer, which
            # has no order by tokens.
            names = [
                n.name
                for n in self.graph.nodes
                if n.op not in ("Placeholder", *ENTERS) and n.name not in self.initializers
            ]
            targets = [rng.choice(names) for _ in range(rng.randint(1, 2))]
        if self.is_odd and rng.random() < 0.15:
            # No handle either: TensorFlow crashes when a queue is fetched.
            nodes = [n for n in self.graph.nodes if n.op not in (*ENTERS, *HANDLES)]
            fetches.append(f"{rng.choice(nodes).name}:0")
        pieces = self._pieces(feeds, fetches) if rng.random() < 0.15 else None
        return Step(feeds, fetches, targets, pieces)

    def _pieces(
        self, feeds: dict[str, object], fetches: list[str]
    ) -> list[tuple[list[str], list[str]]] | None:
        """Split a run at random; requests that come too early are refused."""
        rng = self.rng
        fetched = sorted(set(fetches) - set(feeds))
        # An error between two calls is reported in the next one, whichever that is.
        if not fetched or self.fault or self.is_odd:
            return None
        fetches[:] = fetched
        fed = sorted(feeds)
        rng.shuffle(fed)
        rng.shuffle(fetched)
        pieces: list[tuple[list[str], list[str]]] = []
        while fed or fetched:
            take, get = rng.randint(0, len(fed)), rng.randint(0, len(fetched))
            if rng.random() < 0.3:
                take = len(fed)
            pieces.append((fed[:take], fetched[:get]))
            fed, fetched = fed[take:], fetched[get:]
        return [piece for piece in pieces if piece != ([], [])]


def random_case(rng: random.Random, budget: int | None = None) -> Case:
    """One random graph and its script; ``budget`` is about how many choices make the graph."""
    return Generator(rng, budget).case()


def case_of_seed(seed: int) -> Case:
    """The random graph of a seed."""
    return random_case(random.Random(seed))
