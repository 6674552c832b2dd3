"""The parts of a RunMetadata that are equal in every run, as plain lists: TensorFlow's and ours."""

from __future__ import annotations

from typing import Any

# DT_BOOL, DT_RESOURCE: NumPy has one True and one False, and the size of a handle is not
# comparable.
_UNSIZED = (10, 20)


def stats_text(step_stats: Any, *, with_memory: bool = True) -> dict[str, list[Any]]:
    """Return device -> nodes, sorted: label, outputs, bytes left after the node, bytes it keeps.

    Times and ids differ from run to run; temporary memory differs between kernels of both
    libraries.
    """
    return {
        device.device.rpartition("/")[2]: sorted(
            [
                _ours(stats.timeline_label),
                [_output(output) for output in stats.output],
                sum(memory.live_bytes for memory in stats.memory) if with_memory else 0,
                stats.memory_stats.persistent_memory_size,
            ]
            for stats in device.node_stats
        )
        for device in step_stats.dev_stats
    }


# TensorFlow gives oneDNN's functions other names.
def _ours(label: str) -> str:
    return label.replace("[mklcpu ", "[cpu ").replace("= _Mkl", "= ")


def _output(output: Any) -> list[Any]:
    tensor = output.tensor_description
    row = [output.slot, tensor.dtype, [dim.size for dim in tensor.shape.dim]]
    if tensor.dtype not in _UNSIZED:
        allocation = tensor.allocation_description
        row += [allocation.requested_bytes, allocation.allocated_bytes]
    return row


def sharing_text(step_stats: Any) -> list[list[str]]:
    """Return groups of outputs, ``node:slot``, that share a buffer; sorted."""
    groups: dict[int, set[str]] = {}
    for device in step_stats.dev_stats:
        for stats in device.node_stats:
            for output in stats.output:
                allocation = output.tensor_description.allocation_description
                if allocation.allocation_id and allocation.allocated_bytes:
                    groups.setdefault(allocation.allocation_id, set()).add(
                        f"{stats.node_name}:{output.slot}"
                    )
    return sorted(sorted(group) for group in groups.values() if len(group) > 1)


def cost_graph_text(cost_graph: Any, *, with_memory: bool = True) -> dict[str, Any]:
    """Return device and node -> inputs, outputs and kept bytes; ids are replaced by names."""
    names = {row.id: row.name for row in cost_graph.node}
    assert sorted(names) == list(range(len(cost_graph.node)))
    return {
        f"{row.device.rpartition('/')[2]} {row.name}": {
            "inputs": [[names[i.preceding_node], i.preceding_port] for i in row.input_info],
            "control": sorted({names[i] for i in row.control_input}),
            "outputs": [_output_info(output, with_memory) for output in row.output_info],
            "persistent": row.persistent_memory_size,
            "is_final": row.is_final,
        }
        for row in cost_graph.node
        if row.name not in ("_SOURCE", "_SINK")
    }


def _output_info(output: Any, with_memory: bool) -> list[Any]:
    form = "?" if output.shape.unknown_rank else [dim.size for dim in output.shape.dim]
    row = [output.dtype, form]
    if output.dtype not in _UNSIZED and with_memory:
        # Empty outputs may have equal ids.
        alias = output.alias_input_port if output.size >= 0 else -1
        row += [output.size, alias]
    return row


def fields_text(metadata: Any) -> list[str]:
    """Return which parts are filled."""
    return sorted(descriptor.name for descriptor, _ in metadata.ListFields())
