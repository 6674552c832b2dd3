"""``tf.profiler.profile``, ``Profiler`` and ``advise``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from tfnb.client.files.gfile import GFile
from tfnb.client.profiler.nodes import Nodes
from tfnb.client.profiler.op_log import merged_op_log
from tfnb.client.profiler.option_builder import ProfileOptionBuilder
from tfnb.client.profiler.views import View
from tfnb.core import errors
from tfnb.framework.default_graph import get_default_graph
from tfnb.proto import tfprof_options_pb2, tfprof_output_pb2

if TYPE_CHECKING:
    from tfnb.framework.graph import Graph
    from tfnb.proto.config_pb2 import RunMetadata
    from tfnb.proto.tfprof_log_pb2 import OpLogProto
    from tfnb.proto.tfprof_options_pb2 import OptionsProto
    from tfnb.proto.tfprof_output_pb2 import AdviceProto, GraphNodeProto, MultiGraphNodeProto

EXPORTS = {"profiler": ["Profiler", "advise", "profile"]}

_DEFAULT = 0
# The explanation of the view and its columns, printed above the text of each view.
_COMMANDS = {
    "scope": "scope: nodes below the name scopes that they stand in",
    "graph": "graph: nodes below those that take their outputs",
    "code": "code: lines of Python that made nodes, below the lines that called them",
    "op": "op: nodes of the same op as one",
}
_SELECTED = {
    "bytes": "bytes: memory that was asked for, freed or not",
    "peak_bytes": "peak_bytes: the most memory that was held at once",
    "residual_bytes": "residual_bytes: memory that was held when the node had ended",
    "output_bytes": "output_bytes: memory of the outputs, also where another node had requested it",
    "micros": "micros: cpu_micros and accelerator_micros together",
    "accelerator_micros": "accelerator_micros: time that an accelerator computed",
    "cpu_micros": "cpu_micros: time from begin to end on the host, waiting included",
    "occurrence": "occurrence: how often there is such a node, and how often it ran",
    "input_shapes": "input_shapes: shapes of the inputs",
    "device": "device: where the node was placed",
    "float_ops": "float_ops: float operations, as the op counts them; none is measured",
    "params": "params: elements of variables",
    "tensor_value": "tensor_value: not shown",
    "op_types": "op_types: the op, the device and other words to select nodes by",
}
_OUTPUTS = {"file": "outfile", "none": "", "pprof": "outfile", "stdout": "", "timeline": "outfile"}


def profile(
    graph: Graph | None = None,
    run_meta: RunMetadata | None = None,
    op_log: OpLogProto | None = None,
    cmd: str = "scope",
    options: dict[str, Any] | int = _DEFAULT,
) -> GraphNodeProto | MultiGraphNodeProto:
    """Sum up and print the time, memory and parameters of a graph's nodes.

    Args:
      graph: the graph; None for the default graph.
      run_meta: the metadata of a run, for time and memory, and to complete shapes.
      op_log: additional data of the nodes: types to select them by, float operations.
      cmd: how the nodes are grouped: "scope" by name, "graph" by data flow, "op" by op, "code"
        by the source line that made them.
      options: those of a ProfileOptionBuilder; by default trainable parameters are counted.

    Returns:
      The root: a GraphNodeProto, or a MultiGraphNodeProto for "op" and "code".

    Raises:
      InvalidArgumentError: ``cmd`` is unknown.
    """
    graph = graph or get_default_graph()
    if options == _DEFAULT:
        options = ProfileOptionBuilder.trainable_variables_parameter()
    assert not isinstance(options, int)
    log = merged_op_log(graph, op_log, run_meta, add_trace=cmd == "code")
    asked = _options(options)
    if cmd not in _COMMANDS:
        raise errors.InvalidArgumentError(None, None, f"unknown cmd: {cmd}\n")
    answer: GraphNodeProto | MultiGraphNodeProto = _answer(_nodes(graph, run_meta, log), cmd, asked)
    return answer


def advise(
    graph: Graph | None = None,
    run_meta: RunMetadata | None = None,
    options: dict[str, dict[str, str]] | int | None = _DEFAULT,
) -> AdviceProto:
    """Find and print the most expensive parts of a graph.

    Args:
      graph: the graph; None for the default graph.
      run_meta: the metadata of a run; without it there is little to report.
      options: checker name -> empty dict; by default all checkers run.
    """
    from tfnb.client.profiler.advisor import CHECKERS, advice

    graph = graph or get_default_graph()
    log = merged_op_log(graph, None, run_meta)
    if isinstance(options, int):
        options = {checker: {} for checker in CHECKERS}
    return advice(_nodes(graph, run_meta, log), options)


class Profiler:
    """Sums of the time, memory and parameters of a graph's nodes over several steps.

    Args:
      graph: the graph; None for the default graph.
      op_log: additional data of the nodes.
    """

    def __init__(self, graph: Graph | None = None, op_log: OpLogProto | None = None) -> None:
        self._graph = graph or get_default_graph()
        self._nodes = _nodes(self._graph, None, merged_op_log(self._graph, op_log))

    def add_step(self, step: int, run_meta: RunMetadata) -> None:
        """Add the metadata of a run to a step; a step may have several runs."""
        log = merged_op_log(self._graph, None, run_meta)
        self._nodes.add(self._graph.as_graph_def(add_shapes=True).node)
        self._nodes.add_run(step, run_meta)
        self._nodes.add_log(log)

    def profile_python(self, options: dict[str, Any]) -> MultiGraphNodeProto:
        """Sum up by the source line that made a node; options as of a ProfileOptionBuilder."""
        answer: MultiGraphNodeProto = _answer(self._nodes, "code", _options(options))
        return answer

    def profile_operations(self, options: dict[str, Any]) -> MultiGraphNodeProto:
        """Sum up by op; options as of a ProfileOptionBuilder."""
        answer: MultiGraphNodeProto = _answer(self._nodes, "op", _options(options))
        return answer

    def profile_name_scope(self, options: dict[str, Any]) -> GraphNodeProto:
        """Sum up by name; options as of a ProfileOptionBuilder."""
        answer: GraphNodeProto = _answer(self._nodes, "scope", _options(options))
        return answer

    def profile_graph(self, options: dict[str, Any]) -> GraphNodeProto:
        """Sum up by data flow; options as of a ProfileOptionBuilder."""
        answer: GraphNodeProto = _answer(self._nodes, "graph", _options(options))
        return answer

    def advise(self, options: dict[str, dict[str, str]] | None) -> AdviceProto:
        """Find the most expensive parts; options map each checker to an empty dict."""
        from tfnb.client.profiler.advisor import advice

        return advice(self._nodes, options)

    def serialize_to_string(self) -> bytes:
        """Return all collected data as a serialized ProfileProto."""
        message: bytes = self._nodes.message().SerializeToString()
        return message


def _nodes(graph: Graph, run_meta: RunMetadata | None, log: OpLogProto) -> Nodes:
    nodes = Nodes()
    nodes.add(graph.as_graph_def(add_shapes=True).node)
    if run_meta is not None and run_meta.HasField("step_stats"):
        nodes.add_run(0, run_meta)
    nodes.add_log(log)
    return nodes


def _options(options: dict[str, Any]) -> OptionsProto:
    """Convert the options to a message, which checks their types."""
    message = tfprof_options_pb2.OptionsProto()
    others = {"max_depth": 10, "step": -1, "order_by": "name", "output": "stdout"}
    for field in message.DESCRIPTOR.fields:
        if hasattr(values := getattr(message, field.name), "append"):
            for value in options.get(field.name, []):
                values.append(value)
        else:
            default = others.get(field.name, field.default_value)
            setattr(message, field.name, options.get(field.name, default))
    return message


def _parsed_output(output: str) -> tuple[str, str, str]:
    """Split an output option into its type, its file and an error text."""
    kind, _, given = (output or "stdout").partition(":")
    if kind not in _OUTPUTS:
        valid = ",".join(_OUTPUTS)
        return kind, "", f"E.g. Unknown output type: {kind}, Valid types: {valid}\n"
    name = _OUTPUTS[kind]
    file = ""
    for pair in filter(None, given.split(",")):
        key, *value = filter(None, pair.split("="))
        if not value:
            return kind, "", "Visualize format: -output timeline:key=value,key=value,..."
        if key != name:
            return kind, "", f"Unrecognized options {key} for output_type: {kind}\n"
        file = "=".join(value)
    if name and not file:
        missing = f"Missing required output_options for {kind}\nE.g. -output {kind}:{name}=...\n"
        return kind, "", missing
    return kind, file, ""


def _text(options: OptionsProto, kind: str, file: str) -> str:
    """Return the text of the options."""
    names = (
        "max_depth min_bytes min_peak_bytes min_residual_bytes min_output_bytes min_micros "
        "min_accelerator_micros min_cpu_micros min_params min_float_ops min_occurrence step "
        "order_by account_type_regexes start_name_regexes trim_name_regexes show_name_regexes "
        "hide_name_regexes account_displayed_op_only select"
    )
    values: dict[str, Any] = {name: getattr(options, name) for name in names.split()}
    values["account_displayed_op_only"] = str(options.account_displayed_op_only).lower()
    values["select"] = sorted({*options.select})
    values["output"] = f"{kind}:{file and f'outfile={file}'}"
    return "".join(
        f"-{name:<27}{value if isinstance(value, str | int) else ','.join(value)}\n"
        for name, value in values.items()
    )


def _answer(nodes: Nodes, command: str, options: OptionsProto) -> Any:
    """Write a view to the output that the options select, and return its message."""
    several = command in ("code", "op")
    empty = (
        tfprof_output_pb2.MultiGraphNodeProto() if several else tfprof_output_pb2.GraphNodeProto()
    )
    kind, file, complaint = _parsed_output(options.output)
    if complaint:
        sys.stderr.write(f"INVALID_ARGUMENT: {complaint}\n")
        return empty
    if options.dump_to_file:
        sys.stderr.write(
            "-dump_to_file option is deprecated. Please use -output file:outfile=<filename>\n"
            f"-output {options.output} is overwritten with -output "
            f"file:outfile={options.dump_to_file}\n"
        )
        kind, file = "file", options.dump_to_file
    if kind == "stdout":
        sys.stdout.write(
            f"\n{'=' * 25}Options{'=' * 29}\n{_text(options, kind, file)}"
            f"\n{'=' * 18}Model Analysis Report{'=' * 22}\n"
        )
    message = _shown(nodes, command, options, kind, file) or empty
    if kind == "stdout":
        sys.stdout.write(f"\n{'=' * 22}End of Report{'=' * 26}\n")
        sys.stdout.flush()
    return message


def _shown(nodes: Nodes, command: str, options: OptionsProto, kind: str, file: str) -> Any:
    """Return the message of a view, or None if it is empty."""
    if options.step >= 0 and options.step not in nodes.steps:
        steps = "".join(f"{step} " for step in sorted(nodes.steps))
        sys.stderr.write(f"Options -step={options.step} not found.\nAvailable steps: {steps}\n")
        return None
    if command == "code" and not nodes.has_traces:
        sys.stderr.write("No code trace information\n")
        return None
    if kind in ("pprof", "timeline"):
        raise errors.unimplemented(
            f"The profiler of tfnb does not write {kind} files. Use the output 'file', or "
            "tfnb.client.profiler.timeline.Timeline(run_metadata.step_stats) for a Chrome trace."
        )
    root = View(command, nodes, options).root
    if kind in ("stdout", "file"):
        selected = sorted({*options.select})
        about = [_COMMANDS[command]]
        about += [_SELECTED.get(name, f"Unknown select: {name}") for name in selected]
        text = f"{_MISSES_STREAMS * nodes.misses_streams}\nDoc:\n" + "\n".join(about)
        text += f"\n\nProfile:\n{root.text}"
        if kind == "stdout":
            sys.stdout.write(text)
        else:
            from tfnb.proto.error_codes_pb2 import Code

            try:
                with GFile(file, "w") as written:
                    written.write(text)
            except errors.OpError as error:
                code = Code.DESCRIPTOR.values_by_number[error.error_code]
                sys.stderr.write(f"{code.name}: {error}\n")
    return root.message


_MISSES_STREAMS = (
    "\nAn accelerator ran nodes, but the trace has none of its streams: their accelerator_micros "
    "are missing.\n"
)
