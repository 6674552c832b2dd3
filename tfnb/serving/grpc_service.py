"""The gRPC interface: PredictionService, ModelService, and gRPC's health check.

Requests arrive as bytes and are parsed here, so that what is no message is an error of the client.
gRPC calls these functions in a thread for each request, which also runs the model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import errors
from tfnb.distributed_runtime.grpc_channel import import_grpc
from tfnb.proto.classification_pb2 import ClassificationRequest, ClassificationResponse
from tfnb.proto.get_model_metadata_pb2 import GetModelMetadataRequest, GetModelMetadataResponse
from tfnb.proto.get_model_status_pb2 import (
    GetModelStatusRequest,
    GetModelStatusResponse,
    ModelVersionStatus,
)
from tfnb.proto.inference_pb2 import MultiInferenceRequest
from tfnb.proto.predict_pb2 import PredictRequest
from tfnb.proto.regression_pb2 import RegressionRequest, RegressionResponse
from tfnb.serving.request_log import code_name
from tfnb.serving.served_model import CLASSIFY, REGRESS
from tfnb.serving.tensor_protos import array_of, parsed, predict_output

if TYPE_CHECKING:
    from collections.abc import Callable

    from google.protobuf.message import Message

    from tfnb.serving.inference import Inference
    from tfnb.serving.request_log import RequestLog
    from tfnb.serving.serving_options import ServingOptions

    # A method gets a request, and a function that says whether its client still waits.
    _IsWanted = Callable[[], bool]
    _Method = Callable[[bytes, _IsWanted], Message | bytes]

SIGNATURE_DEF = "signature_def"
_SERVING = 1  # of gRPC's HealthCheckResponse: field 1, value 1
_HEALTHY = bytes([1 << 3, _SERVING])
# gRPC sends a status's text as a header, whose size is limited.
_MAX_STATUS_TEXT = 3072


class GrpcService:
    """Answers requests over gRPC."""

    def __init__(self, inference: Inference, log: RequestLog, options: ServingOptions) -> None:
        self._inference, self._log, self._options = inference, log, options
        self._served = inference.served

    def handlers(self) -> list[Any]:
        """Return the handlers for a server."""
        return [
            self._handler(
                "tensorflow.serving.PredictionService",
                {
                    "Predict": self._counted(self._predict),
                    "Classify": self._counted(self._classify),
                    "Regress": self._counted(self._regress),
                    "MultiInference": self._counted(self._multi_inference),
                    "GetModelMetadata": self._get_model_metadata,
                },
            ),
            self._handler(
                "tensorflow.serving.ModelService",
                {
                    "GetModelStatus": self._get_model_status,
                    "HandleReloadConfigRequest": self._reload,
                },
            ),
            self._handler("grpc.health.v1.Health", {"Check": self._check}),
        ]

    def _handler(self, service: str, methods: dict[str, _Method]) -> Any:
        grpc = import_grpc()
        found = {
            name: grpc.unary_unary_rpc_method_handler(self._answering(name, method))
            for name, method in methods.items()
        }
        return grpc.method_handlers_generic_handler(service, found)

    def _answering(self, name: str, method: _Method) -> Callable[[bytes, Any], bytes]:
        grpc = import_grpc()

        def answer(request: bytes, context: Any) -> bytes:
            try:
                with self._log.request(name):
                    found = method(request, context.is_active)
                    return found if isinstance(found, bytes) else found.SerializeToString()
            except errors.OpError as error:
                code = getattr(grpc.StatusCode, code_name(error.error_code))
                context.abort(code, error.message[:_MAX_STATUS_TEXT])
                raise  # abort raises

        return answer

    def _counted(self, method: _Method) -> _Method:
        """Return a method that runs the model: too many of its requests are refused."""
        runner = self._inference.runner

        def counted(request: bytes, is_wanted: _IsWanted) -> Message | bytes:
            runner.begin()
            try:
                return method(request, is_wanted)
            finally:
                runner.end()

        return counted

    def _predict(self, data: bytes, is_wanted: _IsWanted) -> bytes:
        request = parsed(PredictRequest, data)
        self._served.check_asked_for(request.model_spec)
        signature = request.model_spec.signature_name
        function = self._served.function(signature)
        left = self._options.max_request_bytes
        values = {}
        for key, one in request.inputs.items():
            values[key] = array_of(key, one, left)
            left -= values[key].nbytes
        outputs = self._inference.predict(function, values, request.output_filter, is_wanted)
        parts: list[Any] = []
        for key, value in outputs.items():
            parts += predict_output(key, value, function.outputs[key].dtype)
        # Messages that follow each other on the wire are one message.
        parts.append(self._served.answer_bytes(signature))
        return b"".join(parts)

    def _classify(self, data: bytes, is_wanted: _IsWanted) -> Message:
        request = parsed(ClassificationRequest, data)
        self._served.check_asked_for(request.model_spec)
        key = request.model_spec.signature_name
        function = self._served.function(key, CLASSIFY)
        result = self._inference.classify(function, request.input, is_wanted)
        return ClassificationResponse(model_spec=self._served.spec(key), result=result)

    def _regress(self, data: bytes, is_wanted: _IsWanted) -> Message:
        request = parsed(RegressionRequest, data)
        self._served.check_asked_for(request.model_spec)
        key = request.model_spec.signature_name
        function = self._served.function(key, REGRESS)
        result = self._inference.regress(function, request.input, is_wanted)
        return RegressionResponse(model_spec=self._served.spec(key), result=result)

    def _multi_inference(self, data: bytes, is_wanted: _IsWanted) -> Message:
        return self._inference.multi_inference(parsed(MultiInferenceRequest, data), is_wanted)

    def _get_model_metadata(self, data: bytes, is_wanted: _IsWanted) -> Message:
        request = parsed(GetModelMetadataRequest, data)
        self._served.check_asked_for(request.model_spec)
        unknown = [name for name in request.metadata_field if name != SIGNATURE_DEF]
        if unknown or not request.metadata_field:
            raise errors.invalid_argument(
                f"Metadata field {', '.join(unknown) or 'list is empty'} is not supported; there "
                f"is {SIGNATURE_DEF!r}."
            )
        found = GetModelMetadataResponse(model_spec=self._served.spec())
        found.metadata[SIGNATURE_DEF].Pack(self._served.signature_defs())
        return found

    def _get_model_status(self, data: bytes, is_wanted: _IsWanted) -> Message:
        request = parsed(GetModelStatusRequest, data)
        self._served.check_asked_for(request.model_spec)
        status = ModelVersionStatus(
            version=self._served.version, state=ModelVersionStatus.AVAILABLE
        )
        status.status.SetInParent()
        return GetModelStatusResponse(model_version_status=[status])

    def _reload(self, data: bytes, is_wanted: _IsWanted) -> Message:
        raise errors.unimplemented(
            "This server has one model, which it does not change; start another server."
        )

    def _check(self, data: bytes, is_wanted: _IsWanted) -> bytes:
        return _HEALTHY
