"""``tfnb summary FILE``: what a model takes, gives, contains and needs."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes, op_registry
from tfnb.core.tensor_shape import TensorShape

if TYPE_CHECKING:
    from tfnb.client.command_line.model_file import ModelFile

_INPUTS = ("Placeholder", "PlaceholderV2", "PlaceholderWithDefault")
_VARIABLES = ("Variable", "VariableV2", "VarHandleOp", "TemporaryVariable")


def describe(model: ModelFile) -> dict[str, Any]:
    """What there is to say of a model, as a JSON object."""
    nodes = list(model.graph_def.node)
    functions = {f.signature.name: f for f in model.graph_def.library.function}
    consumed = {name.lstrip("^").partition(":")[0] for node in nodes for name in node.input}
    inner = [node for function in functions.values() for node in function.node_def]
    ops = Counter(node.op for node in nodes)
    known = set(functions)
    unknown = sorted(
        {n.op for n in (*nodes, *inner) if n.op not in known and op_registry.find(n.op) is None}
    )
    found: dict[str, Any] = {
        "path": model.path,
        "kind": model.kind,
        "producer": model.graph_def.versions.producer,
        "nodes": len(nodes),
        "functions": len(functions),
        "inputs": [_tensor(node) for node in nodes if node.op in _INPUTS],
        "variables": [_tensor(node) for node in nodes if node.op in _VARIABLES],
        "outputs": [node.name for node in nodes if node.name not in consumed and node.op != "NoOp"],
        "ops": dict(ops.most_common()),
        "unknown_ops": unknown,
    }
    if model.tags:
        found["tags"] = list(model.tags)
    if model.signatures:
        found["signatures"] = {
            name: {
                "method": signature.method_name,
                "inputs": _infos(signature.inputs),
                "outputs": _infos(signature.outputs),
            }
            for name, signature in sorted(model.signatures.items())
        }
    return found


def _tensor(node: Any) -> dict[str, Any]:
    """Name, dtype and shape of a node's output, as its attributes give them."""
    dtype = node.attr["dtype"].type
    shape = None
    if "shape" in node.attr and not node.attr["shape"].shape.unknown_rank:
        shape = _dims(node.attr["shape"].shape)
        # Before producer 24 a placeholder's empty shape meant any shape.
        if not shape and node.op == "Placeholder" and "_output_shapes" in node.attr:
            shapes = node.attr["_output_shapes"].list.shape
            shape = None if shapes and shapes[0].unknown_rank else shape
    return {"name": node.name, "dtype": _dtype_name(dtype), "shape": shape}


def _dims(shape: Any) -> list[int | None]:
    return [None if dim.size < 0 else dim.size for dim in shape.dim]


def _dtype_name(enum: int) -> str:
    try:
        return dtypes.as_dtype(enum).name
    except TypeError:
        return "?"


def _infos(infos: Any) -> dict[str, Any]:
    return {
        key: {
            "tensor": info.name,
            "dtype": _dtype_name(info.dtype),
            "shape": None if info.tensor_shape.unknown_rank else _dims(info.tensor_shape),
        }
        for key, info in sorted(infos.items())
    }


def text_of(found: dict[str, Any], limit: int = 20) -> str:
    """The same for people: at most ``limit`` lines of each part."""
    functions = f", {found['functions']} functions" if found["functions"] else ""
    tags = f" [{','.join(found['tags'])}]" if "tags" in found else ""
    lines = [
        f"{found['path']}: {found['kind']}{tags}, {found['nodes']} nodes{functions}, "
        f"producer {found['producer']}"
    ]
    for name, signature in found.get("signatures", {}).items():
        lines.append(f"signature {name} ({signature['method'] or 'no method'})")
        for part in ("inputs", "outputs"):
            for key, info in signature[part].items():
                lines.append(f"  {part[:-1]:<6} {key}: {info['tensor']} {_of_type(info)}")
    for part in ("inputs", "variables"):
        rows = [f"{item['name']} {_of_type(item)}" for item in found[part]]
        lines += _part(part, rows, limit)
    lines += _part("outputs", found["outputs"], limit)
    rows = [f"{count:>6} {op}" for op, count in found["ops"].items()]
    lines += _part("ops", rows, limit)
    if found["unknown_ops"]:
        lines += _part("ops that tfnb does not know", found["unknown_ops"], limit)
    return "\n".join(lines)


def _of_type(item: dict[str, Any]) -> str:
    return f"{item['dtype']} {TensorShape(item['shape'])}"


def _part(title: str, rows: list[str], limit: int) -> list[str]:
    if not rows:
        return []
    more = [f"  ... and {len(rows) - limit} more"] if len(rows) > limit else []
    return [f"{title} ({len(rows)})", *(f"  {row}" for row in rows[:limit]), *more]
