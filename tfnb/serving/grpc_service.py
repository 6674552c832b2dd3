"""The gRPC interface: PredictionService, ModelService, and gRPC's health check.

Requests arrive as bytes and are parsed here, so that what is no message is an error of the client.
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
from tfnb.proto.predict_pb2 import PredictRequest, PredictResponse
from tfnb.proto.regression_pb2 import RegressionRequest, RegressionResponse
from tfnb.serving.request_log import code_name
from tfnb.serving.served_model import CLASSIFY, REGRESS
from tfnb.serving.tensor_protos import array_of, fill_tensor_proto, parsed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from google.protobuf.message import Message

    from tfnb.serving.inference import Inference
    from tfnb.serving.request_log import RequestLog
    from tfnb.serving.serving_options import ServingOptions

SIGNATURE_DEF = "signature_def"
_SERVING = 1  # of gRPC's HealthCheckResponse: field 1, value 1
_HEALTHY = bytes([1 << 3, _SERVING])
# gRPC sends a status's text as a header, whose size is limited.
_MAX_STATUS_TEXT = 3072
# Smaller requests are decoded faster than a thread takes over.
_SMALL_BYTES = 1 << 18


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
                    "Predict": self._predict,
                    "Classify": self._classify,
                    "Regress": self._regress,
                    "MultiInference": self._multi_inference,
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

    def _handler(
        self, service: str, methods: dict[str, Callable[[bytes], Awaitable[Message | bytes]]]
    ) -> Any:
        grpc = import_grpc()
        found = {
            name: grpc.unary_unary_rpc_method_handler(self._answering(name, method))
            for name, method in methods.items()
        }
        return grpc.method_handlers_generic_handler(service, found)

    def _answering(
        self, name: str, method: Callable[[bytes], Awaitable[Message | bytes]]
    ) -> Callable[[bytes, Any], Awaitable[bytes]]:
        grpc = import_grpc()

        async def answer(request: bytes, context: Any) -> bytes:
            try:
                with self._log.request(name):
                    found = await method(request)
                    return found if isinstance(found, bytes) else found.SerializeToString()
            except errors.OpError as error:
                code = getattr(grpc.StatusCode, code_name(error.error_code))
                await context.abort(code, error.message[:_MAX_STATUS_TEXT])
                raise  # abort raises

        return answer

    async def _predict(self, data: bytes) -> bytes:
        request = parsed(PredictRequest, data)
        self._served.check_asked_for(request.model_spec)
        function = self._served.function(request.model_spec.signature_name)
        limit = self._options.max_request_bytes

        def decoded() -> dict[str, Any]:
            return {key: array_of(key, one, limit) for key, one in request.inputs.items()}

        is_small = len(data) <= _SMALL_BYTES
        values = decoded() if is_small else await self._inference.runner.call(decoded)
        outputs = await self._inference.predict(function, values, request.output_filter)
        found = PredictResponse()
        for key, value in outputs.items():
            fill_tensor_proto(found.outputs[key], value, function.outputs[key].dtype)
        # Messages that follow each other on the wire are one message.
        return found.SerializeToString() + self._served.answer_bytes(
            request.model_spec.signature_name
        )

    async def _classify(self, data: bytes) -> Message:
        request = parsed(ClassificationRequest, data)
        self._served.check_asked_for(request.model_spec)
        key = request.model_spec.signature_name
        result = await self._inference.classify(self._served.function(key, CLASSIFY), request.input)
        return ClassificationResponse(model_spec=self._served.spec(key), result=result)

    async def _regress(self, data: bytes) -> Message:
        request = parsed(RegressionRequest, data)
        self._served.check_asked_for(request.model_spec)
        key = request.model_spec.signature_name
        result = await self._inference.regress(self._served.function(key, REGRESS), request.input)
        return RegressionResponse(model_spec=self._served.spec(key), result=result)

    async def _multi_inference(self, data: bytes) -> Message:
        return await self._inference.multi_inference(parsed(MultiInferenceRequest, data))

    async def _get_model_metadata(self, data: bytes) -> Message:
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

    async def _get_model_status(self, data: bytes) -> Message:
        request = parsed(GetModelStatusRequest, data)
        self._served.check_asked_for(request.model_spec)
        status = ModelVersionStatus(
            version=self._served.version, state=ModelVersionStatus.AVAILABLE
        )
        status.status.SetInParent()
        return GetModelStatusResponse(model_version_status=[status])

    async def _reload(self, data: bytes) -> Message:
        raise errors.unimplemented(
            "This server has one model, which it does not change; start another server."
        )

    async def _check(self, data: bytes) -> bytes:
        return _HEALTHY
