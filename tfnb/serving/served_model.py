"""A model with the name, version and signatures under which requests ask for it."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.client import safety
from tfnb.client.model import Model
from tfnb.core import dtypes, errors
from tfnb.proto.get_model_metadata_pb2 import SignatureDefMap
from tfnb.proto.model_pb2 import ModelSpec
from tfnb.proto.predict_pb2 import PredictResponse
from tfnb.serving.short_steps import is_bounded

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tfnb.client.model_function import ModelFunction
    from tfnb.client.model_tensor import ModelTensor
    from tfnb.core.dtypes import DType

DEFAULT_SIGNATURE = "serving_default"
PREDICT = "tensorflow/serving/predict"
CLASSIFY = "tensorflow/serving/classify"
REGRESS = "tensorflow/serving/regress"


class ServedModel:
    """A model as requests see it.

    Attributes:
        name: Its name.
        version: Its version.
        model: The model.
        functions: Name of a signature -> its function.
    """

    def __init__(self, model: Model, name: str = "", version: int = 1) -> None:
        """Name a model.

        Args:
            model: The model. A graph without signatures gets one, ``serving_default``.
            name: Its name in requests; by default that of its file.
            version: Its version.
        """
        self.model = model
        self.name = name or _name_of(model.path)
        self.version = version
        self.functions: dict[str, ModelFunction] = dict(model.signatures)
        self.functions.setdefault(DEFAULT_SIGNATURE, model)
        self._spec_bytes: dict[str, bytes] = {}

    @classmethod
    def read(cls, path: str, name: str = "", **options: Any) -> ServedModel:
        """Read a model, or the newest version in a folder of versions: ``name/3/saved_model.pb``.

        Args:
            path: The file or folder.
            name: Its name in requests; by default that of the file or folder.
            **options: As for ``tfnb.load``.
        """
        versions = _versions_in(path)
        version = max(versions, default=1)
        model = Model(versions.get(version, path), **options)
        for op in model.graph.get_operations():
            op.site = op.site[:1]  # clients have no use for the line that read the file
        return cls(model, name or _name_of(path), version)

    def open(self, timeout_s: float) -> None:
        """Open the session, and limit the time of its steps if they have loops or may wait.

        Raises:
            OpError: The checkpoint does not fit.
        """
        if not all(is_bounded(one, self.model.graph) for one in self.functions.values()):
            safety.limits(self.model.graph, max_seconds=timeout_s)
        assert self.model.session is not None

    def check_asked_for(self, spec: ModelSpec) -> None:
        """Refuse a request for another model or version.

        Raises:
            NotFoundError: The request is for another model or version.
            InvalidArgumentError: It names no model, or a version by a label.
        """
        if not spec.name:
            raise errors.invalid_argument(
                f"ModelSpec has no name specified. This server has the model {self.name!r}."
            )
        if spec.name != self.name:
            raise errors.not_found(
                f"Servable not found for request: Latest({spec.name}). This server has the model "
                f"{self.name!r}."
            )
        choice = spec.WhichOneof("version_choice")
        if choice == "version_label":
            raise errors.invalid_argument(
                f"Unrecognized servable version label: {spec.version_label}. The model has version "
                f"{self.version}, without labels."
            )
        if choice == "version" and spec.version.value != self.version:
            raise errors.not_found(
                f"Servable not found for request: Specific({spec.name}, {spec.version.value}). "
                f"The model has version {self.version}."
            )

    def function(self, key: str, method: str = "") -> ModelFunction:
        """Return the function of a signature.

        Args:
            key: The name of the signature; empty for the default one.
            method: The method that it must have; empty for any.

        Raises:
            InvalidArgumentError: There is no such signature, or it has another method.
        """
        found = self.functions.get(key or DEFAULT_SIGNATURE)
        if found is None:
            raise errors.invalid_argument(
                f'Serving signature name: "{key}" not found in signature def. There are: '
                f"{', '.join(sorted(self.functions))}"
            )
        if method and found.method != method:
            fitting = [name for name, one in self.functions.items() if one.method == method]
            raise errors.invalid_argument(
                f"Expected the signature {key or DEFAULT_SIGNATURE!r} to have the method {method}, "
                f"but it has {found.method or 'none'}. Signatures with that method: "
                f"{', '.join(fitting) or 'none'}"
            )
        return found

    def spec(self, signature: str = "") -> ModelSpec:
        """Return how answers name the model."""
        found = ModelSpec(name=self.name, signature_name=signature)
        found.version.value = self.version
        return found

    def answer_bytes(self, signature: str = "") -> bytes:
        """Return the bytes of an answer to Predict that has no outputs; those may stand before.

        Args:
            signature: The name of a signature that the model has.
        """
        key = signature or DEFAULT_SIGNATURE
        found = self._spec_bytes.get(key)
        if found is None:
            found = PredictResponse(model_spec=self.spec(key)).SerializeToString()
            self._spec_bytes[key] = found
        return found

    def signature_defs(self) -> SignatureDefMap:
        """Return the signatures as a message."""
        found = SignatureDefMap()
        for key, function in self.functions.items():
            signature = found.signature_def[key]
            signature.method_name = function.method or PREDICT
            for side, tensors in (
                (signature.inputs, function.inputs),
                (signature.outputs, function.outputs),
            ):
                for one in tensors.values():
                    info = side[one.key]
                    info.name = one.name
                    info.dtype = one.dtype.as_datatype_enum  # type: ignore[assignment]
                    info.tensor_shape.CopyFrom(one.shape.as_proto())
        return found


def values_for(function: ModelFunction, given: Mapping[str, Any]) -> list[Any]:
    """Return the values of a request in the order of the inputs, with their types and shapes.

    Raises:
        InvalidArgumentError: An input is missing, unknown, or has another type or shape.
    """
    if given.keys() == function.inputs.keys():
        return [_checked(given[key], one) for key, one in function.inputs.items()]
    missing = [f"{key} ({one})" for key, one in function.inputs.items() if key not in given]
    extra = [key for key in given if key not in function.inputs]
    told = [f"Missing but required: {', '.join(missing)}"] if missing else []
    told += [f"Sent extra: {', '.join(extra)}"] if extra else []
    raise errors.invalid_argument(
        f"input size does not match signature: {len(given)}!={len(function.inputs)}. "
        f"{'. '.join(told)}. The inputs are {', '.join(function.inputs)}."
    )


def _checked(value: Any, one: ModelTensor) -> Any:
    if value.dtype != _array_type(one.dtype):
        raise errors.invalid_argument(
            f"The input {one.key!r} takes {one}, but the request has {value.dtype.name}."
        )
    if not one.shape.is_compatible_with(value.shape):
        raise errors.invalid_argument(
            f"The input {one.key!r} takes {one}, but the request has shape {value.shape}."
        )
    return value


@cache
def _array_type(dtype: DType) -> np.dtype[Any]:
    return np.dtype(object if dtype == dtypes.string else dtype.as_numpy_dtype)


def filtered(
    function: ModelFunction, values: Iterable[Any], wanted: Iterable[str] = ()
) -> dict[str, Any]:
    """Return the outputs by key, only those of a filter if it has any.

    Raises:
        InvalidArgumentError: The filter names another output.
    """
    found = dict(zip(function.outputs, values))
    keys = list(wanted)
    unknown = [key for key in keys if key not in found]
    if unknown:
        raise errors.invalid_argument(
            f"output tensor alias not found in signature: {', '.join(unknown)}. Outputs expected "
            f"to be in the set {{{','.join(found)}}}."
        )
    return {key: found[key] for key in keys} if keys else found


def _name_of(path: str) -> str:
    name = os.path.basename(os.path.abspath(path))
    return name.rpartition(".")[0] or name if os.path.isfile(path) else name


def _versions_in(path: str) -> dict[int, str]:
    """Return the versions in a folder: number -> folder of a SavedModel."""
    if not os.path.isdir(path):
        return {}
    return {
        int(name): os.path.join(path, name)
        for name in os.listdir(path)
        if name.isdecimal()
        and any(
            os.path.isfile(os.path.join(path, name, f"saved_model.{ending}"))
            for ending in ("pb", "pbtxt")
        )
    }
