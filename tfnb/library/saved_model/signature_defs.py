"""Signatures: the tensors to feed and to fetch, as messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from tfnb.core import dtypes
from tfnb.core.tensor_util import shape_to_proto
from tfnb.framework import functions_above as above
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.scope_names import prepend_name_scope
from tfnb.framework.sparse_tensor import SparseTensor
from tfnb.framework.tensor import Tensor
from tfnb.library.ragged.ragged_tensor import RaggedTensor
from tfnb.library.saved_model import constants
from tfnb.proto import meta_graph_pb2

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tfnb.framework.graph import Graph
    from tfnb.framework.tensor_types import TensorLike

_INFOS = ["build_tensor_info", "get_tensor_from_tensor_info"]
_SIGNATURES = [
    "build_signature_def", "classification_signature_def", "is_valid_signature",
    "predict_signature_def", "regression_signature_def",
]  # fmt: skip

EXPORTS = {
    "saved_model": _INFOS + _SIGNATURES,
    "saved_model.utils": _INFOS,
    "saved_model.signature_def_utils": _SIGNATURES,
}

TensorInfo = meta_graph_pb2.TensorInfo
SignatureDef = meta_graph_pb2.SignatureDef


def build_tensor_info(tensor: TensorLike) -> TensorInfo:
    """Return the message that names a tensor, a sparse or a ragged one, with type and shape."""
    if isinstance(tensor, RaggedTensor):
        spec = above.type_spec_from_value(tensor)
        parts = [build_tensor_info(part) for part in spec.to_tensors(tensor)]
        return TensorInfo(
            composite_tensor=TensorInfo.CompositeTensor(
                type_spec=spec.experimental_as_proto(), components=parts
            )
        )
    info = TensorInfo(
        dtype=cast("Any", dtypes.as_dtype(tensor.dtype).as_datatype_enum),
        tensor_shape=shape_to_proto(tensor.get_shape()),
    )
    if isinstance(tensor, SparseTensor):
        info.coo_sparse.values_tensor_name = tensor.values.name
        info.coo_sparse.indices_tensor_name = tensor.indices.name
        info.coo_sparse.dense_shape_tensor_name = tensor.dense_shape.name
    else:
        info.name = tensor.name
    return info


def get_tensor_from_tensor_info(
    tensor_info: Any, graph: Graph | None = None, import_scope: str | None = None
) -> Any:
    """Return the tensor, or sparse or ragged tensor, that a message names.

    Args:
      tensor_info: the message.
      graph: the graph; None for the default one.
      import_scope: the scope that the graph of the message was imported into.

    Raises:
      KeyError: the graph has no tensor of this name.
      ValueError: the encoding of the message is unknown.
    """
    graph = graph or get_default_graph()

    def find(name: str) -> Tensor:
        return graph.get_tensor_by_name(prepend_name_scope(name, import_scope))

    encoding = tensor_info.WhichOneof("encoding")
    if encoding == "name":
        return find(tensor_info.name)
    if encoding == "coo_sparse":
        sparse = tensor_info.coo_sparse
        return SparseTensor(
            find(sparse.indices_tensor_name),
            find(sparse.values_tensor_name),
            find(sparse.dense_shape_tensor_name),
        )
    if encoding == "composite_tensor":
        composite = tensor_info.composite_tensor
        spec = above.decode_type_spec(composite.type_spec)
        return spec.from_tensors(iter([find(one.name) for one in composite.components]))
    raise ValueError(f"Invalid TensorInfo.encoding: {encoding}. Expected `coo_sparse` or `name`.")


# -------------------------------------------------------------------------------------- signatures


def build_signature_def(
    inputs: Mapping[str, TensorInfo] | None = None,
    outputs: Mapping[str, TensorInfo] | None = None,
    method_name: str | None = None,
    defaults: Mapping[str, Any] | None = None,
) -> SignatureDef:
    """Return a signature made from its parts.

    Args:
      inputs: name of an input -> message of :func:`build_tensor_info`.
      outputs: name of an output -> message of :func:`build_tensor_info`.
      method_name: the kind of signature.
      defaults: name of an input -> TensorProto of its value if it is not fed.
    """
    found = SignatureDef()
    for name, info in (inputs or {}).items():
        found.inputs[name].CopyFrom(info)
    for name, info in (outputs or {}).items():
        found.outputs[name].CopyFrom(info)
    if method_name is not None:
        found.method_name = method_name
    for name, value in (defaults or {}).items():
        found.defaults[name].CopyFrom(value)
    return found


def predict_signature_def(
    inputs: Mapping[str, Any] | None, outputs: Mapping[str, Any] | None
) -> SignatureDef:
    """Return a signature of any tensors.

    Args:
      inputs: name -> tensor.
      outputs: name -> tensor.

    Raises:
      ValueError: one of them is empty.
    """
    if not inputs:
        raise ValueError("Prediction `inputs` cannot be None or empty.")
    if not outputs:
        raise ValueError("Prediction `outputs` cannot be None or empty.")
    return build_signature_def(
        {name: build_tensor_info(tensor) for name, tensor in inputs.items()},
        {name: build_tensor_info(tensor) for name, tensor in outputs.items()},
        constants.PREDICT_METHOD_NAME,
    )


def regression_signature_def(examples: TensorLike, predictions: TensorLike) -> SignatureDef:
    """Return a signature from serialized Examples to numbers.

    Raises:
      ValueError: an argument is missing or has another type.
    """
    _check_examples("Regression", examples)
    if predictions is None:
        raise ValueError("Regression `predictions` cannot be None.")
    inputs = {constants.REGRESS_INPUTS: build_tensor_info(examples)}
    outputs = {constants.REGRESS_OUTPUTS: build_tensor_info(predictions)}
    _check_type("Regression input tensors", examples, dtypes.string)
    _check_type("Regression output tensors", predictions, dtypes.float32)
    return build_signature_def(inputs, outputs, constants.REGRESS_METHOD_NAME)


def classification_signature_def(
    examples: TensorLike, classes: TensorLike, scores: TensorLike
) -> SignatureDef:
    """Return a signature from serialized Examples to classes, scores, or both.

    Raises:
      ValueError: an argument is missing or has another type.
    """
    _check_examples("Classification", examples)
    if classes is None and scores is None:
        raise ValueError("Classification `classes` and `scores` cannot both be None.")
    _check_type("Classification input tensors", examples, dtypes.string)
    inputs = {constants.CLASSIFY_INPUTS: build_tensor_info(examples)}
    outputs = {}
    if classes is not None:
        _check_type("Classification classes", classes, dtypes.string)
        outputs[constants.CLASSIFY_OUTPUT_CLASSES] = build_tensor_info(classes)
    if scores is not None:
        _check_type("Classification scores", scores, dtypes.float32)
        outputs[constants.CLASSIFY_OUTPUT_SCORES] = build_tensor_info(scores)
    return build_signature_def(inputs, outputs, constants.CLASSIFY_METHOD_NAME)


def _check_examples(kind: str, examples: Any) -> None:
    if examples is None:
        raise ValueError(f"{kind} `examples` cannot be None.")
    if not isinstance(examples, Tensor):
        raise ValueError(
            f"Expected {kind.lower()} `examples` to be of type Tensor. Found `examples` of type "
            f"{type(examples)}."
        )


def _check_type(what: str, tensor: TensorLike, dtype: dtypes.DType) -> None:
    if tensor.dtype.base_dtype is not dtype:
        name = "float" if dtype is dtypes.float32 else dtype.name
        raise ValueError(f"{what} must be of type {name}. Found tensors with type {tensor.dtype}.")


def is_valid_signature(signature_def: Any) -> bool:
    """Return whether a signature is one of the three kinds that servers support."""
    if signature_def is None:
        return False
    method, inputs, outputs = (
        signature_def.method_name,
        signature_def.inputs,
        signature_def.outputs,
    )
    if method == constants.PREDICT_METHOD_NAME:
        return bool(inputs) and bool(outputs)
    if method == constants.REGRESS_METHOD_NAME:
        return _has_types(inputs, {constants.REGRESS_INPUTS: dtypes.string}) and _has_types(
            outputs, {constants.REGRESS_OUTPUTS: dtypes.float32}
        )
    if method == constants.CLASSIFY_METHOD_NAME:
        allowed = {
            constants.CLASSIFY_OUTPUT_CLASSES: dtypes.string,
            constants.CLASSIFY_OUTPUT_SCORES: dtypes.float32,
        }
        return (
            _has_types(inputs, {constants.CLASSIFY_INPUTS: dtypes.string})
            and bool(outputs)
            and all(name in allowed for name in outputs)
            and _has_types(outputs, {name: allowed[name] for name in outputs})
        )
    return False


def _has_types(infos: Mapping[str, Any], wanted: Mapping[str, dtypes.DType]) -> bool:
    return set(infos) == set(wanted) and all(
        infos[name].dtype == dtype.as_datatype_enum for name, dtype in wanted.items()
    )
