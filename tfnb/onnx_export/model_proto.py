"""The written form: onnx's messages, made from the nodes, and the files."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tfnb.core import dtypes
from tfnb.core.files import file_system
from tfnb.core.process.package_version import __version__
from tfnb.onnx_export.onnx_import import import_onnx
from tfnb.onnx_export.writing.converters import onnx_type
from tfnb.onnx_export.writing.onnx_nodes import Body, Kind, OnnxGraph

if TYPE_CHECKING:
    from tfnb.core.tensor_shape import TensorShape

LARGEST_FILE: Final = (2 << 30) - (16 << 20)
"""Bytes of constants above which they are written to a file of their own: a message has 2 GiB."""


def model_proto(graph: OnnxGraph) -> Any:
    """Return a graph as an ``onnx.ModelProto``."""
    onnx = import_onnx()
    made = _graph_proto(graph, graph.body, "tfnb")
    made.initializer.extend(_tensor(name, value) for name, value in graph.initializers.items())
    opset = onnx.helper.make_opsetid("", graph.opset)
    version = onnx.helper.find_min_ir_version_for([opset])
    return onnx.helper.make_model(
        made,
        opset_imports=[opset],
        ir_version=version,
        producer_name="tfnb",
        producer_version=__version__,
    )


def _graph_proto(graph: OnnxGraph, body: Body, name: str) -> Any:
    onnx = import_onnx()
    inputs = [_value_info(one, kind, graph.shapes.get(one)) for one, kind in body.inputs]
    outputs = [
        _value_info(one, graph.kinds.get(one) or Kind(dtypes.bool), graph.shapes.get(one))
        for one in body.outputs
    ]
    nodes = []
    for number, node in enumerate(body.nodes):
        attrs = {
            key: _graph_proto(graph, value, f"{name}_{number}_{key}")
            if isinstance(value, Body)
            else _tensor("", value)
            if isinstance(value, np.ndarray)
            else value
            for key, value in node.attrs.items()
        }
        made = onnx.helper.make_node(node.op, node.inputs, node.outputs, node.outputs[0], **attrs)
        if node.origin:
            made.doc_string = node.origin
        nodes.append(made)
    return onnx.helper.make_graph(nodes, name, inputs, outputs)


def _value_info(name: str, kind: Kind, shape: TensorShape | None) -> Any:
    helper = import_onnx().helper
    if kind.is_sequence:
        inner = helper.make_tensor_type_proto(onnx_type(kind.dtype), None)
        return helper.make_value_info(name, helper.make_sequence_type_proto(inner))
    dims = None if shape is None else shape.dim_values
    sizes = None
    if dims is not None:
        sizes = [f"{name}_{axis}" if size is None else size for axis, size in enumerate(dims)]
    return helper.make_tensor_value_info(name, onnx_type(kind.dtype), sizes)


def _tensor(name: str, value: np.ndarray[Any, Any]) -> Any:
    onnx = import_onnx()
    if value.dtype == object:
        texts = [one if isinstance(one, bytes) else str(one).encode() for one in value.reshape(-1)]
        return onnx.helper.make_tensor(name, onnx_type(dtypes.string), value.shape, texts)
    kind = onnx_type(dtypes.as_dtype(value.dtype))
    found = onnx.TensorProto(name=name, data_type=kind, dims=value.shape)
    found.raw_data = value.astype(value.dtype.newbyteorder("<"), copy=False).tobytes()
    return found


def write_model(model: Any, path: str, largest: int = LARGEST_FILE) -> None:
    """Write a model beside its place, then rename it.

    Args:
      model: the ``onnx.ModelProto``.
      path: the file. Large constants go to the file ``.data`` beside it.
      largest: bytes of constants above which they are large.

    Raises:
      OpError: it cannot be written.
    """
    onnx = import_onnx()
    size = sum(len(one.raw_data) for one in model.graph.initializer)
    place, name = os.path.split(path)
    place = place or "."
    with file_system.translating_errors(path):
        _write(onnx, model, place, name, size > largest)


def check_writable(path: str) -> None:
    """Check that a file can be written, before the work is done.

    Raises:
      OpError: its folder does not exist or may not be written, or a folder has its name.
    """
    with file_system.translating_errors(path):
        if os.path.isdir(path):
            raise IsADirectoryError(errno.EISDIR, "", path)
        os.rmdir(tempfile.mkdtemp(prefix=".tfnb-", dir=os.path.dirname(path) or "."))


def _write(onnx: Any, model: Any, place: str, name: str, is_large: bool) -> None:
    folder = tempfile.mkdtemp(prefix=".tfnb-", dir=place)
    try:
        inside = os.path.join(folder, name)
        if is_large:
            onnx.save_model(
                model,
                inside,
                save_as_external_data=True,
                all_tensors_to_one_file=True,
                location=f"{name}.data",
            )
        else:
            with open(inside, "wb") as file:
                file.write(model.SerializeToString(deterministic=True))
        for one in (f"{name}.data", name):
            made = os.path.join(folder, one)
            if os.path.exists(made):
                os.replace(made, os.path.join(place, one))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
