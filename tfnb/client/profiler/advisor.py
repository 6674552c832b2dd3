"""The advice of ``tf.profiler.advise`` on a profile."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from tfnb.client.profiler.nodes import MICROS, is_on_accelerator
from tfnb.client.profiler.views import View, format_time
from tfnb.proto import tfprof_options_pb2, tfprof_output_pb2

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfnb.client.profiler.nodes import Nodes
    from tfnb.proto.tfprof_output_pb2 import AdviceProto


def advice(nodes: Nodes, options: dict[str, dict[str, str]] | None) -> AdviceProto:
    """Return the reports of the requested checkers; unknown checkers report nothing."""
    for checker, wishes in (options or {}).items():
        message: Any = tfprof_options_pb2.AdvisorOptionsProto().checkers[checker]
        for key, value in wishes.items():
            message[key] = value  # no checker has options: this is an error
    found = tfprof_output_pb2.AdviceProto()
    for checker, check in CHECKERS.items():
        if checker in (options or {}):
            reports = found.checkers[checker].reports
            reports.extend(check(nodes))
            sys.stdout.write("".join(f"{line}\n" for line in (f"\n{checker}:", *reports)))
    sys.stdout.flush()
    return found


def _utilization(nodes: Nodes) -> Iterator[str]:
    """Yield which share of the time each accelerator computes, in the last step."""
    spans: dict[str, list[int]] = {}
    for node in nodes.values():
        device = node.proto.canonical_device
        if is_on_accelerator(device):
            run = node.proto.execs[max(node.proto.execs)]
            span = spans.setdefault(device, [0, 0, 0])
            start = run.all_start_micros
            span[0] = min(span[0] or start, start or span[0])
            span[1] = max(span[1], run.latest_end_micros)
            for execs in run.accelerator_execs.values():
                span[2] += sum(time.int64_values[1] for time in execs.times)
    for device, (start, end, micros) in sorted(spans.items()):
        if end > start:
            share = micros / (end - start)
            yield f"device: {device} {'low ' * (share < 0.5)}utilization: {share:.2f}"


def _settings(nodes: Nodes) -> Iterator[str]:
    """Yield settings that are known to be slow."""
    every = nodes.values()
    if any("BatchNorm" in node.name for node in every) and not any(
        "FusedBatchNorm" in node.types for node in every
    ):
        yield "Maybe use faster FusedBatchNorm instead of BatchNorm"
    if any(
        is_on_accelerator(node.proto.canonical_device)
        and "data_format" in node.attrs
        and node.attrs["data_format"].s == b"NHWC"
        for node in every
    ):
        yield "Found operation using NHWC data_format on GPU. Maybe NCHW is faster."


def _times(message: Any, prefix: str = "") -> str:
    total, accelerator, cpu = (format_time(getattr(message, prefix + name)) for name in MICROS)
    return f"cpu: {cpu}, accelerator: {accelerator}, total: {total}"


def _most_expensive(nodes: Nodes) -> Iterator[str]:
    """Yield the most expensive ops, scopes and lines of code."""
    checker = "ExpensiveOperationChecker"

    def root(command: str, max_depth: int, min_micros: int) -> Any:
        options = tfprof_options_pb2.OptionsProto(
            max_depth=max_depth,
            min_micros=min_micros,
            step=-1,
            order_by="micros",
            account_type_regexes=[".*"],
            start_name_regexes=[".*"],
            show_name_regexes=[".*"],
        )
        return View(command, nodes, options).root.message

    if nodes.steps:
        node = every = root("op", 3, 1)
        lines: list[str] = []
        while node.children and len(lines) < 3:
            node = node.children[0]
            share = 100.0 * node.exec_micros / (every.total_exec_micros + 1e-10)
            lines.append(
                f"top {len(lines) + 1} operation type: {node.name}, {_times(node)} ({share:.2f}%)"
            )
        if lines:
            yield "\n".join(lines)
    else:
        sys.stderr.write(f"Missing RunMetadata info. Skip {checker}\n")
        sys.stderr.write(f"Missing run_meta for {checker}\n")
    scopes = root("scope", 100, 100).children[:3]
    if scopes:
        yield "\n".join(
            f"top {index} graph node: {scope.name}, {_times(scope)}"
            for index, scope in enumerate(scopes, 1)
        )
    if not nodes.has_traces:
        sys.stderr.write(f"Missing op_log (code traces) for {checker}\n")
        return
    node = root("code", 100, 1)
    while len(node.children) == 1:
        (node,) = node.children
    if node.children:
        yield "\n".join(_lines(node, 0))


def _lines(node: Any, depth: int) -> Iterator[str]:
    """Yield the lines of code that take a millisecond or more, if a line has several parts."""
    if len(node.children) > 1 and depth <= 3:
        for line in node.children[:3]:
            if line.total_exec_micros >= 1000:
                yield f"{'  ' * depth}{line.name}, {_times(line, 'total_')}"
                yield from _lines(line, depth + 1)


CHECKERS = {
    "AcceleratorUtilizationChecker": _utilization,
    "OperationChecker": _settings,
    "ExpensiveOperationChecker": _most_expensive,
}
