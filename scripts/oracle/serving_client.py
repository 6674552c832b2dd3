"""Ask a server with the client code of TensorFlow Serving, and compare the answers.

    tfnb serve-model half_plus_two/ --name half_plus_two --port 8500
    python scripts/oracle/serving_client.py localhost:8500

Run the second line with a Python that has TensorFlow and tensorflow-serving-api. The model is
y = x / 2 + 2, with the signatures serving_default, regress_x_to_y and classify_x_to_y; see
tests/serving/half_plus_two.py.
"""

from __future__ import annotations

import sys

import grpc
import numpy as np
import tensorflow as tf
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    get_model_status_pb2,
    inference_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
    regression_pb2,
)

NAME = "half_plus_two"
REGRESS, CLASSIFY = "tensorflow/serving/regress", "tensorflow/serving/classify"


def examples(values: list[float]) -> list[tf.train.Example]:
    """Return an Example for each value."""
    return [
        tf.train.Example(
            features=tf.train.Features(
                feature={"x": tf.train.Feature(float_list=tf.train.FloatList(value=[value]))}
            )
        )
        for value in values
    ]


def main(target: str) -> None:
    """Send each kind of request once, and some that are refused."""
    channel = grpc.insecure_channel(target)
    stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)

    predict = predict_pb2.PredictRequest()
    predict.model_spec.name = NAME
    predict.model_spec.signature_name = "serving_default"
    predict.inputs["x"].CopyFrom(tf.make_tensor_proto([[1.0], [2.0], [5.0]], dtype=tf.float32))
    answer = stub.Predict(predict, 10.0)
    np.testing.assert_allclose(tf.make_ndarray(answer.outputs["y"]), [[2.5], [3.0], [4.5]])
    assert list(answer.outputs["y"].float_val) == [2.5, 3.0, 4.5]
    assert answer.model_spec.version.value == 1

    regress = regression_pb2.RegressionRequest()
    regress.model_spec.name = NAME
    regress.model_spec.signature_name = "regress_x_to_y"
    regress.input.example_list.examples.extend(examples([1.0, 2.0]))
    assert [one.value for one in stub.Regress(regress, 10.0).result.regressions] == [2.5, 3.0]

    classify = classification_pb2.ClassificationRequest()
    classify.model_spec.name = NAME
    classify.model_spec.signature_name = "classify_x_to_y"
    classify.input.example_list_with_context.context.CopyFrom(examples([4.0])[0])
    classify.input.example_list_with_context.examples.add()
    (found,) = stub.Classify(classify, 10.0).result.classifications
    assert [(one.label, one.score) for one in found.classes] == [("low", -3.0), ("high", 4.0)]

    several = inference_pb2.MultiInferenceRequest()
    for key, method in (("regress_x_to_y", REGRESS), ("classify_x_to_y", CLASSIFY)):
        task = several.tasks.add(method_name=method)
        task.model_spec.name, task.model_spec.signature_name = NAME, key
    several.input.example_list.examples.extend(examples([3.0]))
    results = stub.MultiInference(several, 10.0).results
    assert results[0].regression_result.regressions[0].value == 3.5
    assert results[1].classification_result.classifications[0].classes[1].score == 3.5

    metadata = get_model_metadata_pb2.GetModelMetadataRequest()
    metadata.model_spec.name = NAME
    metadata.metadata_field.append("signature_def")
    signatures = get_model_metadata_pb2.SignatureDefMap()
    assert stub.GetModelMetadata(metadata, 10.0).metadata["signature_def"].Unpack(signatures)
    assert signatures.signature_def["serving_default"].inputs["x"].dtype == tf.float32
    assert len(signatures.signature_def) == 3

    status = get_model_status_pb2.GetModelStatusRequest()
    status.model_spec.name = NAME
    models = model_service_pb2_grpc.ModelServiceStub(channel)
    (version,) = models.GetModelStatus(status, 10.0).model_version_status
    available = get_model_status_pb2.ModelVersionStatus.State.AVAILABLE
    assert (version.version, version.state) == (1, available)

    refused(stub, grpc.StatusCode.NOT_FOUND, name="another")
    refused(stub, grpc.StatusCode.NOT_FOUND, version=7)
    refused(stub, grpc.StatusCode.INVALID_ARGUMENT, signature_name="another")
    refused(stub, grpc.StatusCode.INVALID_ARGUMENT, value=[[1.0, 2.0]])
    refused(stub, grpc.StatusCode.INVALID_ARGUMENT, value=[["text"]])
    print("the client of TensorFlow Serving got the right answers")


def refused(
    stub: prediction_service_pb2_grpc.PredictionServiceStub,
    code: grpc.StatusCode,
    name: str = NAME,
    signature_name: str = "",
    version: int = 0,
    value: object = ((1.0,),),
) -> None:
    """Check that a request fails with a code."""
    request = predict_pb2.PredictRequest()
    request.model_spec.name = name
    request.model_spec.signature_name = signature_name
    if version:
        request.model_spec.version.value = version
    request.inputs["x"].CopyFrom(tf.make_tensor_proto(value))
    call = stub.Predict.future(request, 10.0)
    print(f"{call.code().name}: {call.details()}")
    assert call.code() == code


if __name__ == "__main__":
    main(sys.argv[1])
