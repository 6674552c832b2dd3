"""Inputs, outputs, contents and required values of a model: ``tfnb.summary``, ``tfnb summary``."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from typing import TYPE_CHECKING, Any

from tfnb.client.model_file import ModelFile, checkpoint_of, read_model
from tfnb.client.model_path import model_path
from tfnb.client.session.session import BaseSession
from tfnb.core import dtypes, op_registry
from tfnb.core.op_registry import has_trait
from tfnb.core.op_traits import Trait
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.graph import Graph
from tfnb.library.training.checkpoint_values import load_checkpoint
from tfnb.proto import graph_pb2

if TYPE_CHECKING:
    from collections.abc import Sequence

# Only this many outputs are ranked; the others keep their order.
_MOST_RANKED = 64

_NO_OUTPUTS = ("NoOp", "Const", "Assert", "SaveV2", "SaveSlices")


def describe(model: ModelFile) -> dict[str, Any]:
    """Return the description of a model as a JSON object."""
    nodes = list(model.graph_def.node)
    functions = {f.signature.name: f for f in model.graph_def.library.function}
    inner = [node for function in functions.values() for node in function.node_def]
    ops = Counter(node.op for node in nodes)
    known = set(functions)
    unknown = sorted(
        {n.op for n in (*nodes, *inner) if n.op not in known and op_registry.find(n.op) is None}
    )
    outputs = _outputs(nodes)
    found: dict[str, Any] = {
        "path": model.path,
        "kind": model.kind,
        "producer": model.graph_def.versions.producer,
        "nodes": len(nodes),
        "functions": len(functions),
        "inputs": [_tensor(node) for node in nodes if has_trait(node.op, Trait.PLACEHOLDER)],
        "variables": [_tensor(node) for node in nodes if _is_variable(node.op)],
        "outputs": outputs,
        "needed": _needed(outputs[:1], nodes),
        "effects": _effects((*nodes, *inner)),
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


def _outputs(nodes: Sequence[Any]) -> list[str]:
    """Return nodes without consumers: first those that depend on an input, by largest cone.

    Training nodes come late; nodes that read or write files, for example those of a saver, come
    last.
    """
    consumed = {name.lstrip("^").partition(":")[0] for node in nodes for name in node.input}
    by_name = {node.name: node for node in nodes}
    fed = {node.name for node in nodes if has_trait(node.op, Trait.PLACEHOLDER)}
    acting = {name for names in _effects(nodes).values() for name in names}
    names = [n.name for n in nodes if n.name not in consumed and n.op not in _NO_OUTPUTS]
    ranked = []
    for place, name in enumerate(names[:_MOST_RANKED]):
        cone = _cone(name, by_name)
        trains = name.partition("/")[0].startswith("gradients")
        ranked.append((bool(cone & acting), trains, not (cone & fed), -len(cone), place, name))
    return [*(name for *_, name in sorted(ranked)), *names[_MOST_RANKED:]]


def _cone(name: str, by_name: dict[str, Any]) -> set[str]:
    """Return all nodes that a node depends on."""
    found, stack = {name}, [name]
    while stack:
        node = by_name.get(stack.pop())
        for source in () if node is None else node.input:
            before = source.lstrip("^").partition(":")[0]
            if before not in found:
                found.add(before)
                stack.append(before)
    return found


def _needed(outputs: Sequence[str], nodes: Sequence[Any]) -> list[str]:
    """Return the inputs and variables that the outputs depend on."""
    by_name = {node.name: node for node in nodes}
    cone = {name for output in outputs for name in _cone(output, by_name)}
    return [
        n.name
        for n in nodes
        if n.name in cone and (has_trait(n.op, Trait.MUST_BE_FED) or _is_variable(n.op))
    ]


def _is_variable(op: str) -> bool:
    return has_trait(op, Trait.VARIABLE) or op == "TemporaryVariable"


def _effects(nodes: Sequence[Any]) -> dict[str, list[str]]:
    """Return the nodes that have effects, by kind of effect."""
    found: dict[str, list[str]] = {}
    for node in nodes:
        definition = op_registry.find(node.op)
        for effect in () if definition is None else definition.effects:
            names = found.setdefault(effect.kind, [])
            if node.name not in names:
                names.append(node.name)
    return found


def _tensor(node: Any) -> dict[str, Any]:
    """Return name, dtype and shape of a node's output, from its attributes."""
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
    """Return the description as text, with at most ``limit`` lines for each part."""
    if found["kind"] == "checkpoint":
        rows = [f"{item['name']} {_of_type(item)}" for item in found["variables"]]
        return "\n".join([f"{found['path']}: checkpoint", *_part("variables", rows, limit)])
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
    for kind, names in found["effects"].items():
        lines += _part(f"nodes that need tfnb.safety.allow({kind!r})", names, limit)
    if found["unknown_ops"]:
        lines += _part("ops that tfnb does not know", found["unknown_ops"], limit)
    return "\n".join(lines)


class ModelSummary:
    """The result of :func:`summary`; shown as text.

    Attributes:
      found: the description as a JSON object.
      example: Python source that runs it; None: a line made from the description.
    """

    def __init__(self, found: dict[str, Any], example: str | None = None) -> None:
        self.found = found
        self.example = example

    def __repr__(self) -> str:
        text = text_of(self.found)
        example = example_call(self.found) if self.example is None else self.example
        return f"{text}\n{example}" if example else text


def summary(target: Any = None, tags: Sequence[str] | None = None) -> ModelSummary:
    """Describe a model's inputs, outputs, contents and required values, without running it.

    Args:
        target: A file with a GraphDef or MetaGraphDef, binary or text, the folder of a SavedModel,
            the prefix of a checkpoint; or a graph, a GraphDef; the default graph if not given.
        tags: Tags of the graph to take from a SavedModel; required if it has several.

    Raises:
        NotFoundError: The file does not exist.
        ModelFileError: It holds no model.
    """
    if target is None:
        target = get_default_graph()
    if isinstance(target, BaseSession):
        target = target.graph
    if isinstance(target, Graph):
        return ModelSummary(describe(ModelFile("graph", "GraphDef", target.as_graph_def())))
    if isinstance(target, graph_pb2.GraphDef):
        return ModelSummary(describe(ModelFile("graph", "GraphDef", target)))
    return ModelSummary(describe_path(os.fspath(target), tags))


def describe_path(path: str, tags: Sequence[str] | None = None) -> dict[str, Any]:
    """Return the description of the model or checkpoint at a path, as a JSON object.

    Raises:
        NotFoundError: The file does not exist.
        ModelFileError: It holds no model.
    """
    path = model_path(path)
    checkpoint = checkpoint_of(path)
    return describe(read_model(path, tags)) if checkpoint is None else _of_checkpoint(checkpoint)


def _of_checkpoint(path: str) -> dict[str, Any]:
    reader = load_checkpoint(path)
    shapes = reader.get_variable_to_shape_map()
    types = reader.get_variable_to_dtype_map()
    return {
        "path": path,
        "kind": "checkpoint",
        "variables": [
            {"name": name, "dtype": types[name].name, "shape": list(shapes[name])}
            for name in sorted(shapes)
        ],
    }


def example_call(found: dict[str, Any]) -> str:
    """Return lines of Python that run the model once, or "" if there is nothing to run."""
    if found["kind"] == "checkpoint" or not found["outputs"]:
        return ""
    if found["kind"] != "SavedModel" and found["path"] != "graph":
        return example_command(found)
    inputs = [one for one in found["inputs"] if one["name"] in found["needed"]]
    feeds = ", ".join(f"{one['name'] + ':0'!r}: {_zeros(one)}" for one in inputs)
    call = f"session.run({found['outputs'][0] + ':0'!r}" + (f", {{{feeds}}})" if feeds else ")")
    if found["kind"] == "SavedModel":
        load = f"tf.saved_model.load(session, {list(found['tags'])!r}, {found['path']!r})"
        return f"with tf.Session(graph=tf.Graph()) as session:\n    {load}\n    {call}"
    return call


def example_command(found: dict[str, Any]) -> str:
    """Return a shell command that runs the model once, or "" if there is nothing to run."""
    if found["kind"] == "checkpoint" or not found["outputs"]:
        return ""
    words = ["tfnb", "run", found["path"]]
    signature = _usual_signature(found.get("signatures", {}))
    if signature is not None and found["kind"] == "SavedModel":
        key, told = signature
        feeds = [(name, info["shape"]) for name, info in told["inputs"].items()]
        words += ["--signature", key]
        fetches: list[str] = []
    else:
        inputs = [one for one in found["inputs"] if one["name"] in found["needed"]]
        feeds = [(one["name"], one["shape"]) for one in inputs]
        fetches = found["outputs"][:1]
    for name, shape in feeds:
        sizes = ",".join("1" if size is None else str(size) for size in shape or ())
        words += ["--feed", f"{name}=zeros({sizes})"]
    for name in fetches:
        words += ["--fetch", name]
    variables = {one["name"] for one in found["variables"]}
    if found["kind"] != "SavedModel" and variables & set(found["needed"]):
        words += ["--checkpoint", _checkpoint_beside(found["path"]) or "CHECKPOINT"]
    return " ".join(map(shlex.quote, words))


def _usual_signature(signatures: dict[str, Any]) -> tuple[str, Any] | None:
    usual = [(k, s) for k, s in signatures.items() if not k.startswith("__") and s["outputs"]]
    return max(usual, key=lambda one: one[0] == "serving_default", default=None)


def _checkpoint_beside(path: str) -> str | None:
    """Return the checkpoint written with a graph's file, or the latest one in its folder."""
    own = checkpoint_of(path.removesuffix(".meta")) if path.endswith(".meta") else None
    return own or checkpoint_of(os.path.dirname(path) or ".")


def _zeros(tensor: dict[str, Any]) -> str:
    """Return an array that can be fed, as Python source."""
    if tensor["dtype"] == "string":
        return f"np.full({_sizes(tensor)!r}, b'', object)"
    return f"np.zeros({_sizes(tensor)!r}, {tensor['dtype']!r})"


def _sizes(tensor: dict[str, Any]) -> tuple[int, ...]:
    return tuple(1 if size is None else size for size in tensor["shape"] or ())


def _of_type(item: dict[str, Any]) -> str:
    return f"{item['dtype']} {TensorShape(item['shape'])}"


def _part(title: str, rows: list[str], limit: int) -> list[str]:
    if not rows:
        return []
    more = [f"  ... and {len(rows) - limit} more"] if len(rows) > limit else []
    return [f"{title} ({len(rows)})", *(f"  {row}" for row in rows[:limit]), *more]
