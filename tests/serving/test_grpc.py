"""The gRPC interface answers as TensorFlow Serving's; its client is in scripts/oracle."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tests.serving.conftest import Service, serving
from tfnb.proto import (
    classification_pb2,
    get_model_metadata_pb2,
    get_model_status_pb2,
    inference_pb2,
    model_pb2,
    predict_pb2,
    regression_pb2,
    tensor_pb2,
)
from tfnb.serving.inference import Inference
from tfnb.serving.model_runner import ModelRunner
from tfnb.serving.served_model import ServedModel
from tfnb.serving.serving_options import ServingOptions
from tfnb.serving.tensor_protos import array_of, fill_tensor_proto, predict_output

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

grpc = pytest.importorskip("grpc")
NAME = "half_plus_two"


@pytest.fixture
def call(half_plus_two: Service) -> Iterator[Callable[[str, Any, Any], Any]]:
    """Return a function that sends a message or bytes, and returns the answer."""
    channel = grpc.insecure_channel(half_plus_two.server.grpc_target)

    def send(method: str, request: Any, kind: Any) -> Any:
        service = "ModelService" if method.startswith("GetModelStatus") else "PredictionService"
        data = request if isinstance(request, bytes) else request.SerializeToString()
        answer = channel.unary_unary(f"/tensorflow.serving.{service}/{method}")(data)
        return kind.FromString(answer)

    yield send
    channel.close()


def predict_request(value: Any, **spec: Any) -> predict_pb2.PredictRequest:
    """Return a request for one value of x."""
    request = predict_pb2.PredictRequest(model_spec=model_pb2.ModelSpec(**{"name": NAME} | spec))
    request.inputs["x"].CopyFrom(tf.make_tensor_proto(value))
    return request


def spec(signature: str = "") -> model_pb2.ModelSpec:
    """Return the model with a signature."""
    return model_pb2.ModelSpec(name=NAME, signature_name=signature)


def example(x: float) -> Any:
    """Return an Example."""
    found = tf.train.Example()
    found.features.feature["x"].float_list.value.append(x)
    return found


def test_predict_fills_the_field_of_the_type(call: Any) -> None:
    """Clients read ``float_val``."""
    answer = call(
        "Predict", predict_request(np.float32([[1.0], [2.0]])), predict_pb2.PredictResponse
    )
    assert list(answer.outputs["y"].float_val) == [2.5, 3.0]
    assert [dim.size for dim in answer.outputs["y"].tensor_shape.dim] == [2, 1]
    assert answer.model_spec.version.value == 1
    assert answer.model_spec.signature_name == "serving_default"


def test_a_filter_selects_outputs(call: Any) -> None:
    """An output that does not exist is refused before the model runs."""
    request = predict_request(np.float32([[1.0]]))
    request.output_filter.append("y")
    assert list(call("Predict", request, predict_pb2.PredictResponse).outputs) == ["y"]
    request.output_filter.append("z")
    with pytest.raises(grpc.RpcError, match="output tensor alias not found in signature: z"):
        call("Predict", request, predict_pb2.PredictResponse)


def test_examples_are_classified_and_regressed(call: Any) -> None:
    """Each by its own method, and both at once."""
    regress = regression_pb2.RegressionRequest(model_spec=spec("regress_x_to_y"))
    regress.input.example_list.examples.extend([example(1.0), example(2.0)])
    found = call("Regress", regress, regression_pb2.RegressionResponse)
    assert [one.value for one in found.result.regressions] == [2.5, 3.0]

    classify = classification_pb2.ClassificationRequest(model_spec=spec("classify_x_to_y"))
    classify.input.example_list_with_context.context.CopyFrom(example(4.0))
    classify.input.example_list_with_context.examples.add()
    (classes,) = call(
        "Classify", classify, classification_pb2.ClassificationResponse
    ).result.classifications
    assert [(one.label, one.score) for one in classes.classes] == [("low", -3.0), ("high", 4.0)]

    several = inference_pb2.MultiInferenceRequest()
    several.tasks.add(model_spec=regress.model_spec, method_name="tensorflow/serving/regress")
    several.tasks.add(model_spec=classify.model_spec, method_name="tensorflow/serving/classify")
    several.input.example_list.examples.append(example(3.0))
    results = call("MultiInference", several, inference_pb2.MultiInferenceResponse).results
    assert results[0].regression_result.regressions[0].value == 3.5
    assert results[1].classification_result.classifications[0].classes[1].score == 3.5


def test_examples_of_a_client_that_has_gone_do_not_run(half_plus_two_path: str) -> None:
    """Neither are they classified nor regressed."""
    served = ServedModel.read(half_plus_two_path)
    runner = ModelRunner(ServingOptions(), served.model.graph)
    inference = Inference(served, runner)
    several = inference_pb2.MultiInferenceRequest()
    several.tasks.add(model_spec=spec("classify_x_to_y"), method_name="tensorflow/serving/classify")
    several.input.example_list.examples.append(example(3.0))
    classify, regress = map(served.function, ("classify_x_to_y", "regress_x_to_y"))
    for ask in (
        lambda: inference.classify(classify, several.input, lambda: False),
        lambda: inference.regress(regress, several.input, lambda: False),
        lambda: inference.multi_inference(several, lambda: False),
    ):
        with pytest.raises(tf.errors.CancelledError, match="went away"):
            ask()
    assert runner.num_steps == 0
    runner.stop()


def test_metadata_and_status(call: Any) -> None:
    """Signatures come as Any, as TensorFlow Serving sends them."""
    request = get_model_metadata_pb2.GetModelMetadataRequest(
        model_spec=spec(), metadata_field=["signature_def"]
    )
    answer = call("GetModelMetadata", request, get_model_metadata_pb2.GetModelMetadataResponse)
    found = get_model_metadata_pb2.SignatureDefMap()
    packed = answer.metadata["signature_def"]
    assert packed.type_url == "type.googleapis.com/tensorflow.serving.SignatureDefMap"
    assert packed.Unpack(found)
    assert sorted(found.signature_def) == ["classify_x_to_y", "regress_x_to_y", "serving_default"]
    status = call(
        "GetModelStatus",
        get_model_status_pb2.GetModelStatusRequest(model_spec=spec()),
        get_model_status_pb2.GetModelStatusResponse,
    )
    (version,) = status.model_version_status
    assert version.state == get_model_status_pb2.ModelVersionStatus.AVAILABLE


def test_grpcs_health_check_is_answered(half_plus_two: Service) -> None:
    """Its answer says SERVING."""
    with grpc.insecure_channel(half_plus_two.server.grpc_target) as channel:
        assert channel.unary_unary("/grpc.health.v1.Health/Check")(b"") == b"\x08\x01"


def test_a_server_that_refuses_requests_is_healthy(half_plus_two_path: str) -> None:
    """Too many requests run or wait; one that only asks for the state does neither."""
    request = predict_request(np.float32([[1.0]])).SerializeToString()
    with (
        serving(half_plus_two_path, max_waiting=1) as service,
        grpc.insecure_channel(service.server.grpc_target) as channel,
    ):
        predict = channel.unary_unary("/tensorflow.serving.PredictionService/Predict")
        runner = service.server.server._runner
        runner.begin()
        with pytest.raises(grpc.RpcError, match="later") as caught:
            predict(request)
        assert caught.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        assert channel.unary_unary("/grpc.health.v1.Health/Check")(b"") == b"\x08\x01"
        runner.end()
        assert predict_pb2.PredictResponse.FromString(predict(request)).outputs


def _of_shape(*sizes: int) -> predict_pb2.PredictRequest:
    request = predict_request(np.float32([[1.0]]))
    del request.inputs["x"].tensor_shape.dim[:]
    for size in sizes:
        request.inputs["x"].tensor_shape.dim.add(size=size)
    return request


@pytest.mark.parametrize(
    ("request_", "code", "says"),
    [
        (b"\xff\xff\xff", "INVALID_ARGUMENT", "is no PredictRequest"),
        (predict_pb2.PredictRequest(), "INVALID_ARGUMENT", "no name specified"),
        (predict_request(1.0, name="other"), "NOT_FOUND", "Servable not found"),
        (predict_pb2.PredictRequest(model_spec=spec()), "INVALID_ARGUMENT", "required: x"),
        (predict_request([[1]]), "INVALID_ARGUMENT", "takes float32"),
        (predict_request(np.float32([1])), "INVALID_ARGUMENT", r"has shape \(1,\)"),
        (predict_request(1.0, signature_name="no"), "INVALID_ARGUMENT", '"no" not found'),
        (predict_request(1.0, version_label="stable"), "INVALID_ARGUMENT", "version label"),
        (_of_shape(-1, 1), "INVALID_ARGUMENT", "shape of the input 'x' is not known"),
        (_of_shape(10**6, 10**6), "RESOURCE_EXHAUSTED", "takes 100,000 bytes"),
        (_of_shape(2**62, 2**62, 2**62), "RESOURCE_EXHAUSTED", "takes 100,000 bytes"),
    ],
)
def test_what_is_wrong_is_said(
    call: Any, half_plus_two: Service, request_: Any, code: str, says: str
) -> None:
    """The code is TensorFlow's, and the server goes on."""
    with pytest.raises(grpc.RpcError, match=says) as caught:
        call("Predict", request_, predict_pb2.PredictResponse)
    assert caught.value.code().name == code
    answer = call("Predict", predict_request(np.float32([[1.0]])), predict_pb2.PredictResponse)
    assert list(answer.outputs["y"].float_val) == [2.5]


def test_all_inputs_together_are_limited(call: Any) -> None:
    """A few bytes stand for an array that repeats its last value."""
    request = predict_request(np.float32([[1.0]]))
    for number in range(20):
        request.inputs[f"more{number}"].CopyFrom(_of_shape(10_000, 1).inputs["x"])
    with pytest.raises(grpc.RpcError, match="the server takes") as caught:
        call("Predict", request, predict_pb2.PredictResponse)
    assert caught.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED


def test_a_large_request_is_refused(call: Any) -> None:
    """The limit is that of the server."""
    with pytest.raises(grpc.RpcError) as caught:
        call("Predict", predict_request(np.zeros((50_000, 1), "f")), predict_pb2.PredictResponse)
    assert caught.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED


def test_clients_that_send_no_message_hold_up_no_other(half_plus_two: Service) -> None:
    """Each call has a thread, more than the model has; they end with their calls."""
    go = threading.Event()

    def nothing() -> Iterator[bytes]:
        go.wait()
        yield b""

    request = predict_request(np.float32([[1.0]])).SerializeToString()
    path = "/tensorflow.serving.PredictionService/Predict"
    with grpc.insecure_channel(half_plus_two.server.grpc_target) as channel:
        silent = [channel.stream_unary(path).future(nothing()) for _ in range(40)]
        for _ in range(3):
            answer = predict_pb2.PredictResponse.FromString(channel.unary_unary(path)(request))
            assert list(answer.outputs["y"].float_val) == [2.5]
        go.set()
        for one in silent:
            with pytest.raises(grpc.RpcError, match="no name specified"):
                one.result()


@pytest.mark.parametrize(
    "value",
    [
        np.float32([[1.5, -2.0]]),
        np.float64(3.25),
        np.array([1 + 2j], np.complex64),
        np.array([1 + 2j], np.complex128),
        np.array([True, False]),
        np.array([-(2**31), 2**31 - 1], np.int32),
        np.array([-(2**63), 2**63 - 1], np.int64),
        np.array([0, 2**32 - 1], np.uint32),
        np.array([0, 2**64 - 1], np.uint64),
        np.array([-128, 127], np.int8),
        np.array([0.5, -1.0], np.float16),
        np.array([0.5, -1.0], tf.bfloat16.as_numpy_dtype),
        np.array([b"a", b"\xff\x00"], object),
        np.zeros((0, 3), np.float32),
        np.float32([np.nan, np.inf, -0.0]),
        np.arange(12.0, dtype=np.float32).reshape(3, 4).T,
        np.arange(300.0),
        np.zeros((0,), np.int64),
    ],
    ids=lambda value: f"{value.dtype}-{value.shape}",
)
def test_arrays_of_each_type_pass_through_messages(value: Any) -> None:
    """The values are in the field of the type, and TensorFlow's reader finds them."""
    dtype = tf.string if value.dtype == object else tf.as_dtype(value.dtype)
    proto = tensor_pb2.TensorProto()
    fill_tensor_proto(proto, value, dtype)
    assert not proto.tensor_content
    pieces = predict_output("ключ", value, dtype)
    answer = predict_pb2.PredictResponse.FromString(b"".join(pieces))
    assert list(answer.outputs) == ["ключ"]
    assert answer.outputs["ключ"].SerializeToString() == proto.SerializeToString()
    found = array_of("x", type(proto).FromString(proto.SerializeToString()), 3000)
    assert found.dtype == value.dtype
    np.testing.assert_array_equal(found, value)
