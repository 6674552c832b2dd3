"""The views of a profile: by scope, by data flow, by line of code, by op.

A view sums the nodes of the requested types, drops nodes that are not to be shown, sums again if
only shown nodes count, and becomes a message and a text.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Generator, Iterable
from os.path import basename
from typing import TYPE_CHECKING, Any

from tfnb.client.profiler.nodes import BYTES, FIGURES, MICROS, ROOT, Node
from tfnb.proto import tfprof_output_pb2
from tfnb.proto.graph_pb2 import NodeDef

if TYPE_CHECKING:
    from tfnb.client.profiler.nodes import Nodes
    from tfnb.proto.tfprof_options_pb2 import OptionsProto
    from tfnb.proto.tfprof_output_pb2 import GraphNodeProto

_GRADIENT = re.compile(r"gradients/(.+?)_grad/", re.DOTALL)


def _counted(value: int) -> str:
    return _scaled(value, "", ((10**9, "b"), (10**6, "m"), (1000, "k")))


def format_time(micros: int) -> str:
    """Return a time as text, in a suitable unit."""
    return _scaled(micros, "us", ((10**6, "sec"), (1000, "ms")))


def _memory(size: int) -> str:
    return _scaled(size, "B", ((10**6, "MB"), (1000, "KB")))


def _scaled(value: int, unit: str, units: Iterable[tuple[int, str]]) -> str:
    for least, name in units:
        if value >= least:
            return f"{value / least:.2f}{name}"
    return f"{value}{unit}"


# A figure: the options that select it, its text in legends, its name in messages, its formatter.
_Figure = tuple[tuple[str, ...], str, str, Callable[[int], str]]
_SHOWN: tuple[_Figure, ...] = (
    (("bytes",), "requested bytes", BYTES[0], _memory),
    *(((name,), name.replace("_", " "), name, _memory) for name in BYTES[1:]),
    (("micros",), "total execution time", MICROS[0], format_time),
    (("micros", "accelerator_micros"), "accelerator execution time", MICROS[1], format_time),
    (("micros", "cpu_micros"), "cpu execution time", MICROS[2], format_time),
    (("params",), "# parameters", "parameters", _counted),
    (("float_ops",), "# float_ops", "float_ops", _counted),
)
# The end of an option ("min_...", or an order) -> the figure that it refers to.
_BY = {selected[-1]: figure for selected, _, figure, _ in _SHOWN}


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Return whether a pattern matches the whole name; report patterns that are not valid."""
    for pattern in patterns:
        try:
            if pattern == ".*" or re.fullmatch(pattern, name, re.ASCII):
                return True
        except re.error as error:
            sys.stderr.write(f"Invalid regular expression {pattern}: {error}\n")
    return False


class Shown:
    """A node of a view.

    Attributes:
      nodes: the nodes of the graph that it represents.
      children: all nodes below it in the view.
      below: those children that are shown.
      message: its figures, and their sums with the nodes below it.
      counts: whether its own figures count.
      text: its line.
    """

    def __init__(self, name: str, nodes: Iterable[Node] = ()) -> None:
        self.name = name
        self.nodes = list(nodes)
        self.children: list[Shown] = []
        self.below: list[Shown] = []
        self.counts = False
        self.text = ""
        self.types: set[str] = set()
        self.devices: set[str] = set()
        self.message: Any = None

    def take(self, options: OptionsProto) -> None:
        """Set the figures to those of the requested step."""
        raise NotImplementedError

    def begin(self) -> None:
        """Set the sums to its own figures."""
        for name in FIGURES:
            setattr(self.message, f"total_{name}", getattr(self.message, name))

    def add(self, other: Shown) -> None:
        """Add the sums of another node."""
        for field in self.message.DESCRIPTOR.fields:
            if (name := field.name).startswith("total_"):
                total = getattr(self.message, name) + getattr(other.message, name)
                setattr(self.message, name, total)


class _One(Shown):
    """One node of the graph; or a scope."""

    def take(self, options: OptionsProto) -> None:
        (node,) = self.nodes
        self.message = node.shown(options.step)
        self.types = node.types
        self.devices = {*self.message.devices}
        self.counts = any(matches(type, options.account_type_regexes) for type in self.types)

    def begin(self) -> None:
        super().begin()
        self.message.total_run_count = self.message.run_count
        self.message.total_definition_count = 1


class _Several(Shown):
    """Several nodes of the graph."""

    def take(self, options: OptionsProto) -> None:
        patterns = list(options.account_type_regexes)
        everything = patterns == [".*"]
        # A node that two patterns match counts twice, as in TensorFlow.
        picked = [
            node
            for pattern in patterns
            for node in self.nodes
            if everything or any(matches(type, [pattern]) for type in node.types)
        ]
        self.counts = everything or bool(picked)
        self.message = tfprof_output_pb2.MultiGraphNodeProto(name=self.name)
        self.types, self.devices = set(), set()
        known = {}
        for node in picked:
            self.types |= node.types
            self.devices.add(node.proto.canonical_device)
            known[node.name] = node
            for name, value in node.figures(options.step).items():
                if name in FIGURES:
                    setattr(self.message, name, getattr(self.message, name) + value)
        for name in sorted(known):
            one = _One(name, [known[name]])
            one.take(options)
            one.begin()
            self.message.graph_nodes.append(one.message)


def _parent(name: str, op: str) -> _One:
    """Return a node of the view that represents no node of the graph."""
    return _One(name, [Node(NodeDef(name=name, op=op), -1, {})])


def _by_scope(nodes: Nodes) -> Shown:
    shown: dict[str, Shown] = {}
    for name in sorted(nodes):
        shown[name] = _One(name, [nodes[name]])
        while "/" in name:
            name = name.rpartition("/")[0]
            if name not in shown:
                shown[name] = _parent(name, "_kTFScopeParent")
    root = _parent(ROOT, "_kTFScopeParent")
    for name in sorted(shown):
        scope, slash, _ = name.rpartition("/")
        (shown[scope] if slash else root).children.append(shown[name])
    return root


def _by_flow(nodes: Nodes) -> Shown:
    shown = {name: _One(name, [nodes[name]]) for name in sorted(nodes)}
    used = set()
    for name, one in shown.items():
        used.update(nodes[name].inputs)
        one.children = [shown[name] for name in nodes[name].inputs if name in shown]
    root = _parent(ROOT, "_TFGraphParent")
    root.children = [one for name, one in shown.items() if name not in used]
    return root


def _by_code(nodes: Nodes) -> Shown:
    root = _Several(ROOT)
    forward = {}
    lines: dict[tuple[Shown, str], Shown] = {}
    gradients: dict[str, list[Node]] = {}
    for _, node in sorted(nodes.items()):
        if node.proto.trace.traces:
            if found := _GRADIENT.search(node.name):
                gradients.setdefault(found[1], []).append(node)
            else:
                forward[node.name] = node
                _line(root, node, nodes.texts, lines).nodes.append(node)
    for name in sorted(gradients):
        if name in forward:
            line = _line(root, forward[name], nodes.texts, lines, " (gradient)")
            line.nodes.extend(gradients.pop(name))
    if gradients:
        sys.stderr.write(f"{len(gradients)} gradient nodes not accounted\n")
    return root


def _line(
    line: Shown,
    node: Node,
    texts: dict[int, str],
    lines: dict[tuple[Shown, str], Shown],
    suffix: str = "",
) -> Shown:
    """Return the innermost line that made a node, below a given line."""
    for trace in node.proto.trace.traces:
        function = texts.get(trace.function_id, "")
        if len(function) >= 20:
            function = f"{function[:17]}..."
        name = f"{basename(texts.get(trace.file_id, ''))}:{trace.lineno}:{function}{suffix}"
        if (line, name) not in lines:
            lines[line, name] = _Several(name)
            line.children.append(lines[line, name])
        line = lines[line, name]
    return line


_Walk = Generator[Any, list[Shown], list[Shown]]


def _walk(walk: _Walk) -> list[Shown]:
    """Run a walk that yields other walks, without recursion; return its result."""
    stack = [walk]
    found: list[Shown] = []
    start = True
    while stack:
        try:
            inner = next(stack[-1]) if start else stack[-1].send(found)
        except StopIteration as end:
            stack.pop()
            found, start = end.value, False
        else:
            stack.append(inner)
            start = True
    return found


class View:
    """A view of nodes, made according to the options.

    Attributes:
      root: the root of the view.
    """

    def __init__(self, command: str, nodes: Nodes, options: OptionsProto) -> None:
        self._options = options
        self._select = {*options.select}
        self._is_flow = command == "graph"
        self._is_code = command == "code"
        self._has_several = command in ("code", "op")
        if command == "op":
            self.root = self._ops(nodes)
        else:
            tree = {"scope": _by_scope, "graph": _by_flow, "code": _by_code}[command]
            self.root = self._tree(tree(nodes))

    # -- trees

    def _tree(self, root: Shown) -> Shown:
        options = self._options
        if self._is_code and options.account_displayed_op_only:
            sys.stderr.write("Note: code view ignores account_displayed_op_only\n")
        root.take(options)
        root.counts = False
        found = _walk(self._count(root.children, set()))
        for one in found:
            root.add(one)
        if list(options.start_name_regexes) != [".*"]:
            found = _walk(self._starts(found, set()))
        root.below = found
        _walk(self._arrange([root], 1, 0, set()))
        texts = [self._legend(), root.text]

        stack = [(root.message, root.below)]
        while stack:
            message, below = stack.pop()
            for one in below:
                child = message.children.add()
                child.MergeFrom(one.message)
                stack.append((child, one.below))
        lines = [*reversed(root.below)]
        while lines:
            line = lines.pop()
            texts.append(line.text)
            lines.extend(reversed(line.below))
        root.text = "".join(texts)
        return root

    def _count(self, nodes: list[Shown], visited: set[Shown]) -> _Walk:
        """Compute the sums; return the nodes that count, or have a node below them that counts."""
        kept: list[Shown] = []
        for node in nodes:
            if node in visited:
                continue
            visited.add(node)
            below = yield self._count(node.children, visited)
            node.take(self._options)
            if node.counts or (below and not self._is_flow):
                node.begin()
                for one in below:
                    node.add(one)
                node.below = below
                kept.append(node)
            else:
                kept.extend(below)
        return kept

    def _starts(self, nodes: list[Shown], visited: set[Shown]) -> _Walk:
        """Return the first nodes, from the root on, whose names match the start patterns."""
        found: list[Shown] = []
        for node in nodes:
            if node in visited:
                continue
            visited.add(node)
            if matches(node.name, self._options.start_name_regexes):
                found.append(node)
            else:
                found.extend((yield self._starts(node.below, visited)))
        return found

    def _arrange(self, nodes: list[Shown], depth: int, indent: int, visited: set[Shown]) -> _Walk:
        """Drop nodes that are not shown, order and format the others."""
        options = self._options
        found: list[Shown] = []
        for node in nodes:
            if node in visited:
                continue
            visited.add(node)
            goes_on = depth <= options.max_depth and not matches(
                node.name, options.trim_name_regexes
            )
            if self._is_code and not goes_on and node.name != ROOT:
                continue
            shows = self._shows(node, depth)
            below: list[Shown] = []
            if goes_on:
                below = yield self._arrange(node.below, depth + 1, indent + 2 * shows, visited)
            if not shows:
                found.extend(below)
                continue
            node.below = self._ordered(below)
            if options.account_displayed_op_only and not self._is_code:
                node.begin()
                for one in node.below:
                    node.add(one)
            node.text = f"{' ' * indent}{node.name} ({', '.join(self._cells(node))})\n"
            if self._is_code and "tensor_value" in self._select:
                sys.stderr.write("code view has no tensor value to show\n")
            found.append(node)
        return found

    # -- the list of ops

    def _ops(self, nodes: Nodes) -> Shown:
        options = self._options
        by_op: dict[str, list[Node]] = {}
        for _, node in sorted(nodes.items()):
            by_op.setdefault(node.proto.op, []).append(node)
        root: Shown = _Several(ROOT)
        root.take(options)
        every: list[Shown] = [_Several(op, by_op[op]) for op in sorted(by_op)]
        for one in every:
            one.take(options)
            one.begin()
        counted = [one for one in self._ordered(every) if one.counts]
        _sum_up(root, counted)
        starts = options.start_name_regexes
        while counted and starts and not matches(counted[0].name, starts):
            del counted[0]
        shown = []
        for depth, one in enumerate(counted):
            if depth > options.max_depth or matches(one.name, options.trim_name_regexes):
                break
            if self._shows(one, depth):
                shown.append(one)
        if options.account_displayed_op_only:
            for one in (root, *shown):
                one.begin()
            _sum_up(root, shown)
        lines = [self._legend(), *(self._row(one, root.message) for one in shown)]
        root.text = "".join(lines) if every else self._row(root, root.message)
        message = root.message
        for one in shown:
            message = message.children.add()
            message.MergeFrom(one.message)
        return root

    def _row(self, one: Shown, root: Any) -> str:
        """Return the text of an op: figures, share of the total, and cumulated share."""
        cells = []
        for (name, *_), _, figure, text in self._figures():
            own, total = getattr(one.message, figure), getattr(one.message, f"total_{figure}")
            every = getattr(root, f"total_{figure}")
            has_share = every and (own if text is _memory else total) > 0
            shares = [100.0 * part / every if has_share else 0.0 for part in (total, own)]
            unit = f" {name}" if text is _counted else ""
            cells.append(f"{text(own)}{unit} ({shares[0]:.2f}%, {shares[1]:.2f}%)".rjust(30))
        select = self._select
        if "device" in select:
            cells.append("|".join(sorted(one.devices)))
        if "op_types" in select:
            cells.append("|".join(sorted(one.types)))
        of_graph = one.message.graph_nodes
        if "occurrence" in select:
            runs = sum(node.run_count for node in of_graph)
            cells.append(f"{runs}|{len(of_graph)}".rjust(10))
        row = f"{one.name:<25}{', '.join(cells)}\n"
        if "input_shapes" in select and of_graph:
            row += f"\n{_uses(of_graph)}\n\n"
        return row

    # -- functions for both

    def _shows(self, node: Shown, depth: int) -> bool:
        """Return whether a node is shown."""
        options, message = self._options, node.message
        if node.name == ROOT:
            return True
        for by, name in _BY.items():
            is_own = not self._has_several and name in ("parameters", "float_ops")
            value = getattr(message, name if is_own else f"total_{name}")
            if value < getattr(options, f"min_{by}"):
                return False
        occurrence = len(message.graph_nodes) if self._has_several else message.run_count
        return (
            (self._is_code or occurrence >= options.min_occurrence)
            and depth <= options.max_depth
            and matches(node.name, options.show_name_regexes)
            and not matches(node.name, options.hide_name_regexes)
        )

    def _ordered(self, nodes: list[Shown]) -> list[Shown]:
        order = self._options.order_by
        if not order:
            return nodes
        if order == "occurrence" and self._has_several:
            return sorted(nodes, key=lambda node: -len(node.message.graph_nodes))
        if order in _BY:
            return sorted(nodes, key=lambda node: -getattr(node.message, f"total_{_BY[order]}"))
        return sorted(nodes, key=lambda node: node.name)

    def _figures(self) -> list[_Figure]:
        """Return the selected figures, in the order of the view."""
        order = _SHOWN if self._has_several else (*_SHOWN[-2:], *_SHOWN[:-2])
        return [figure for figure in order if not self._select.isdisjoint(figure[0])]

    def _legend(self) -> str:
        others = {
            "device": "assigned devices",
            "op_types": "op types",
            "occurrence": f"op {'occurrence' if self._has_several else 'count'} (run|defined)",
            "input_shapes": "input shapes",
        }
        legends = [legend for _, legend, _, _ in self._figures()]
        legends += [legend for name, legend in others.items() if name in self._select]
        return f"node name | {' | '.join(legends)}\n"

    def _cells(self, node: Shown) -> list[str]:
        """Return the cells of a node of a tree."""
        cells = []

        def add(own: str, total: str) -> str:
            return f"{own if node.counts else '--'}/{total}"

        for (name, *_), _, figure, text in self._figures():
            if name == "params" and not self._is_code and node.nodes[0].shape:
                cells.append(_joined(node.nodes[0].shape))
            own, total = getattr(node.message, figure), getattr(node.message, f"total_{figure}")
            unit = {"params": " params", "float_ops": " flops"}.get(name, "")
            cells.append(add(text(own), text(total)) + unit)
        if "device" in self._select and node.devices:
            cells.append("|".join(sorted(node.devices)))
        if "op_types" in self._select:
            cells.append("|".join(sorted(node.types)))
        for name in ("occurrence", "input_shapes"):
            if name not in self._select:
                continue
            if self._is_code:
                cells.append(f"{name} N/A in code view")
            elif name == "occurrence":
                message = node.message
                runs = add(_counted(message.run_count), _counted(message.total_run_count))
                cells.append(f"{runs}|{add('1', _counted(message.total_definition_count))}")
            else:
                cells.append("|".join(_indexed(node.nodes[0].input_shapes())))
        return cells


def _joined(sizes: Iterable[int]) -> str:
    return "x".join(map(str, sizes))


def _indexed(shapes: Iterable[Iterable[int]]) -> list[str]:
    return [f"{index}:{_joined(sizes) or 'unknown'}" for index, sizes in enumerate(shapes)]


def _uses(nodes: Iterable[GraphNodeProto]) -> str:
    """Return the shapes that an op is used with, the most frequent ones first."""
    uses: dict[str, list[int]] = {}
    for node in nodes:
        shapes = [node.input_shapes[index].dim for index in sorted(node.input_shapes)]
        text = ",\t".join(_indexed([[dim.size for dim in shape] for shape in shapes]))
        use = uses.setdefault(text, [0, 0, 0])
        use[:] = use[0] - node.run_count, use[1] + 1, use[2] + node.exec_micros
    return "\n".join(
        f"input_type: {text}\t(run*{-minus}|defined*{count})\texec_time: {format_time(micros)}"
        for (minus, count, micros), text in sorted(
            ((use, text) for text, use in uses.items()), key=lambda each: (each[0][0], each[1])
        )
    )


def _sum_up(root: Shown, nodes: list[Shown]) -> None:
    """Add the following nodes to each node, and all nodes to the root."""
    for one, following in zip(nodes[-2::-1], nodes[:0:-1]):
        one.add(following)
    if nodes:
        root.add(nodes[0])
