"""The REST interface has the forms of TensorFlow Serving's."""

from __future__ import annotations

import base64
import gzip
import json
import logging
import math
from typing import TYPE_CHECKING, Any

import pytest

import tfnb as tf
from tests.serving.conftest import Service, serving
from tfnb.serving import serve
from tfnb.serving.model_runner import ModelRunner
from tfnb.serving.rest_service import RestService
from tfnb.serving.served_model import ServedModel

if TYPE_CHECKING:
    from collections.abc import Callable


def test_rows_give_rows_and_columns_give_columns(half_plus_two: Service) -> None:
    """Both forms of a predict request have their form of an answer."""
    rows = half_plus_two.post("predict", {"instances": [[1.0], [2.2], [5]]})
    assert rows == (200, {"predictions": [[2.5], [3.1], [4.5]]})
    columns = half_plus_two.post("predict", {"inputs": {"x": [[1.0]]}})
    assert columns == (200, {"outputs": [[2.5]]})
    named = half_plus_two.post("predict", {"instances": [{"x": [1.0]}, {"x": [2.0]}]})
    assert named == (200, {"predictions": [[2.5], [3.0]]})


def test_versions_may_be_named(half_plus_two: Service) -> None:
    """A graph alone has version 1."""
    path = "/v1/models/half_plus_two/versions/{}:predict"
    assert half_plus_two.ask("POST", path.format(1), {"instances": [[1.0]]})[0] == 200
    status, answer = half_plus_two.ask("POST", path.format(2), {"instances": [[1.0]]})
    assert status == 404
    assert answer["error"].startswith("Servable not found for request: Specific(half_plus_two, 2)")
    assert half_plus_two.ask("GET", "/v1/models/half_plus_two/labels/stable")[0] == 400


def test_status_and_metadata_have_the_known_forms(half_plus_two: Service) -> None:
    """Clients read states and signatures."""
    assert half_plus_two.ask("GET", "/v1/models/half_plus_two") == (
        200,
        {
            "model_version_status": [
                {
                    "version": "1",
                    "state": "AVAILABLE",
                    "status": {"error_code": "OK", "error_message": ""},
                }
            ]
        },
    )
    status, found = half_plus_two.ask("GET", "/v1/models/half_plus_two/metadata")
    assert status == 200
    assert found["model_spec"] == {"name": "half_plus_two", "signature_name": "", "version": "1"}
    signatures = found["metadata"]["signature_def"]["signature_def"]
    assert signatures["serving_default"] == {
        "inputs": {
            "x": {
                "dtype": "DT_FLOAT",
                "tensor_shape": {
                    "dim": [{"size": "-1", "name": ""}, {"size": "1", "name": ""}],
                    "unknown_rank": False,
                },
                "name": "x:0",
            }
        },
        "outputs": {
            "y": {
                "dtype": "DT_FLOAT",
                "tensor_shape": {
                    "dim": [{"size": "-1", "name": ""}, {"size": "1", "name": ""}],
                    "unknown_rank": False,
                },
                "name": "y:0",
            }
        },
        "method_name": "tensorflow/serving/predict",
    }


def test_examples_are_classified_and_regressed(half_plus_two: Service) -> None:
    """Features of the context belong to each example."""
    regressed = half_plus_two.post(
        "regress", {"signature_name": "regress_x_to_y", "examples": [{"x": 1.0}, {"x": [2.2]}]}
    )
    assert regressed == (200, {"results": [2.5, 3.1]})
    classified = half_plus_two.post(
        "classify",
        {"signature_name": "classify_x_to_y", "context": {"x": 2.0}, "examples": [{}, {}]},
    )
    classes = [["low", -2.0], ["high", 3.0]]
    assert classified == (200, {"results": [classes, classes]})


@pytest.mark.parametrize(
    ("verb", "body", "says"),
    [
        ("predict", b"{", "JSON Parse error"),
        ("predict", b"\xff\xfe\x00", "JSON Parse error"),
        ("predict", b"[" * 50_000, "JSON Parse error"),
        ("predict", b"[1]", "is no object"),
        ("predict", {}, "Missing 'inputs' or 'instances' key. For example"),
        ("predict", {"inputs": [], "instances": []}, "exclude each other"),
        ("predict", {"instances": []}, "at least one row"),
        ("predict", {"instances": 3}, "at least one row"),
        ("predict", {"instances": [[1.0], [1.0, 2.0]]}, "The input 'x' takes float32"),
        ("predict", {"instances": [["a"]]}, "not of expected type: float32"),
        ("predict", {"instances": [[1.0], ["a" * 10_000]]}, "not of expected type: float32"),
        ("predict", {"instances": [[True]]}, "not of expected type: float32"),
        ("predict", {"instances": [[None]]}, "not of expected type: float32"),
        ("predict", {"instances": [[1e39]]}, "without loss of precision"),
        ("predict", {"instances": [1.0]}, r"the request has shape (1,)"),
        ("predict", {"instances": [{"z": 1}]}, "does not have named input: z"),
        ("predict", {"instances": [{"x": [1.0]}, {"z": 1}]}, "Instance 1"),
        ("predict", {"inputs": {"z": 1}}, "does not have named input: z"),
        ("predict", {"signature_name": "no", "inputs": 1}, 'name: "no" not found'),
        ("predict", {"signature_name": 1, "inputs": 1}, "must be a string value"),
        ("regress", {"examples": [{"x": 1.0}]}, "to have the method tensorflow/serving/regress"),
        ("classify", {"signature_name": "classify_x_to_y"}, "at least one example"),
        (
            "classify",
            {"signature_name": "classify_x_to_y", "examples": [{"x": None}]},
            "Example 0, feature 'x'",
        ),
        (
            "classify",
            {"signature_name": "classify_x_to_y", "examples": [{"x": {"b64": "!"}}]},
            "Example 0, feature 'x'",
        ),
        (
            "classify",
            {"signature_name": "classify_x_to_y", "examples": [{"x": 10**400}]},
            "Example 0, feature 'x'",
        ),
        (
            "regress",
            {"signature_name": "regress_x_to_y", "context": {"x": 1.0}, "examples": [{"x": 1.0}]},
            "has features of the context: x",
        ),
    ],
)
def test_what_is_wrong_is_said(half_plus_two: Service, verb: str, body: Any, says: str) -> None:
    """The answer is a JSON object with an error, and the server goes on."""
    status, answer = half_plus_two.post(verb, body)
    assert status == 400
    assert says in answer["error"]
    assert len(answer["error"]) < 1000
    assert half_plus_two.post("predict", {"instances": [[1.0]]})[0] == 200


def test_a_model_that_fails_fails_one_request(half_plus_two: Service) -> None:
    """An Example without the feature is the model's error."""
    status, answer = half_plus_two.post(
        "regress", {"signature_name": "regress_x_to_y", "examples": [{"y": 1.0}]}
    )
    assert status == 400
    assert "x" in answer["error"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nowhere", 404),
        ("GET", "/v1/models/other", 404),
        ("POST", "/v1/models/other:predict", 404),
        ("GET", "/v1/models/half_plus_two:predict", 400),
        ("POST", "/v1/models/half_plus_two", 400),
        ("PUT", "/v1/models/half_plus_two:predict", 400),
        ("POST", "/v1/models/half_plus_two:explain", 400),
        ("GET", "/v1/models", 400),
        ("GET", "/v1/models/half_plus_two/versions/99999999999999999999", 400),
        ("GET", "/v1/models/half_plus_two/versions/9", 404),
    ],
)
def test_other_paths_are_refused(
    half_plus_two: Service, method: str, path: str, status: int
) -> None:
    """The answer is JSON, with the status that TensorFlow Serving gives."""
    found, answer = half_plus_two.ask(method, path, {} if method != "GET" else None)
    assert found == status
    assert answer["error"]


def test_paths_may_have_letters_of_either_case(half_plus_two: Service) -> None:
    """TensorFlow Serving compares its own words so, and the model's name as it is written."""
    assert half_plus_two.ask("GET", "/V1/Models/half_plus_two/Metadata")[0] == 200
    assert half_plus_two.ask("GET", "/v1/models/HALF_plus_two")[0] == 404
    long_s = "regre%C5%BF%C5%BF"  # lower-case letters of another alphabet's form
    assert half_plus_two.ask("POST", f"/v1/models/half_plus_two:{long_s}", {})[0] == 400


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (tf.errors.FailedPreconditionError, 400),
        (tf.errors.CancelledError, 499),
        (tf.errors.DataLossError, 500),
        (tf.errors.AbortedError, 409),
    ],
)
def test_the_status_follows_the_error_of_the_model(
    half_plus_two_path: str, monkeypatch: pytest.MonkeyPatch, code: Any, status: int
) -> None:
    """As TensorFlow Serving translates codes."""

    def fail(*_: object) -> None:
        raise code(None, None, "it failed")

    with serving(half_plus_two_path, "half_plus_two") as service:
        monkeypatch.setattr(ModelRunner, "run", fail)
        monkeypatch.setattr(ModelRunner, "run_if_short", fail)
        answer = service.post("predict", {"instances": [[1.0]]})
    assert answer == (status, {"error": "it failed"})


def test_errors_of_nodes_do_not_tell_where_the_server_read_them(half_plus_two_path: str) -> None:
    """Clients have no use for places in the program that serves."""
    operations = ServedModel.read(half_plus_two_path).model.graph.get_operations()
    assert operations
    assert all(op.creation_site is None for op in operations)


def test_a_model_without_inputs_takes_an_empty_object(
    graph_file: Callable[[Callable[[], Any]], str],
) -> None:
    """The example of an error is such a request."""
    path = graph_file(lambda: tf.sqrt(tf.constant([4.0]), name="y"))
    with serving(path, "m") as service:
        assert service.post("predict", {"inputs": {}}) == (200, {"outputs": [2.0]})
        status, answer = service.post("predict", {})
    assert status == 400
    assert answer["error"].endswith('For example: {"inputs": {}}, for the inputs none')


def test_booleans_are_no_numbers(half_plus_two: Service) -> None:
    """TensorFlow Serving refuses them as well."""
    status, answer = half_plus_two.post("predict", {"instances": [[True], [2.0]]})
    assert status == 400
    assert "is not of expected type: float32" in answer["error"]


def test_a_page_of_another_site_gets_nothing(half_plus_two: Service) -> None:
    """A name that an attacker lets point to this machine is not one of this machine."""
    status, answer = half_plus_two.ask("GET", "/", headers={"Host": "evil.example:8501"})
    assert status == 403
    assert "another host" in answer["error"]
    assert half_plus_two.ask("GET", "/", headers={"Host": "localhost:8501"})[0] == 200
    assert half_plus_two.ask("GET", "/", headers={"Host": "[::1]:8501"})[0] == 200


def test_large_requests_are_refused(half_plus_two: Service) -> None:
    """By their announced size, and where it is not announced, and where they were compressed."""
    body = json.dumps({"instances": [[1.0]] * 20_000}).encode()
    status, answer = half_plus_two.post("predict", body)
    assert status == 413
    assert "100,000 bytes" in answer["error"]
    path = "/v1/models/half_plus_two:predict"
    packed = gzip.compress(body)
    assert len(packed) < 1000
    assert half_plus_two.ask("POST", path, packed, {"Content-Encoding": "gzip"})[0] == 413
    few = gzip.compress(json.dumps({"instances": [[1.0]]}).encode())
    assert half_plus_two.ask("POST", path, few, {"Content-Encoding": "gzip"})[0] == 200
    assert half_plus_two.ask("POST", path, few[:9], {"Content-Encoding": "gzip"})[0] == 400


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_body_that_is_not_compressed_as_it_says_is_an_error_of_the_client(
    half_plus_two: Service, encoding: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It is no failure of the server, and the log has no traceback."""
    path = "/v1/models/half_plus_two:predict"
    with caplog.at_level(logging.INFO):
        status, answer = half_plus_two.ask("POST", path, b"x" * 99, {"Content-Encoding": encoding})
    assert status == 400
    assert encoding in answer["error"]
    assert not caplog.records


@pytest.mark.parametrize(
    "data",
    [
        b"\x00\x01\x02\r\n\r\n",
        b"POST /v1/models/half_plus_two:predict HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
        b"POST /v1/models/half_plus_two:predict HTTP/1.1\r\nContent-Length: 50\r\n\r\n{",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\n\r\n",
    ],
)
def test_what_is_no_http_ends_its_connection_only(
    half_plus_two: Service, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """The answer is JSON, the log has no traceback, and the server answers the next request."""
    with caplog.at_level(logging.INFO):
        found = half_plus_two.raw(data)
    assert not found or json.loads(found.partition(b"\r\n\r\n")[2])["error"]
    assert not caplog.records
    assert half_plus_two.post("predict", {"instances": [[1.0]]})[0] == 200


def test_a_client_may_ask_before_it_sends(half_plus_two: Service) -> None:
    """The answer to ``Expect: 100-continue`` comes before the body."""
    body = b'{"instances": [[1.0]]}'
    found = half_plus_two.raw(
        b"POST /v1/models/half_plus_two:predict HTTP/1.1\r\nHost: localhost\r\n"
        b"Connection: close\r\nExpect: 100-continue\r\n"
        b"Content-Length: " + str(len(body)).encode() + b"\r\n\r\n" + body,
        is_all=False,
    )
    assert found.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK")


@pytest.mark.parametrize("asks", [b"", b"Expect: 100-continue\r\n"])
def test_a_fault_of_the_server_is_logged(
    half_plus_two_path: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    asks: bytes,
) -> None:
    """Also where a part of the answer was sent before; a client sees no traceback."""

    async def fail(*_: object) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr(RestService, "_predict", fail)
    with serving(half_plus_two_path, "half_plus_two") as service:
        found = service.raw(
            b"POST /v1/models/half_plus_two:predict HTTP/1.1\r\nHost: localhost\r\n"
            b"Connection: close\r\n" + asks + b"Content-Length: 2\r\n\r\n{}",
            is_all=False,
        )
    assert b"a fault" not in found
    assert [str(one.exc_info[1]) for one in caplog.records if one.exc_info] == ["a fault"]


def test_the_page_shows_the_state(half_plus_two: Service) -> None:
    """A person and a program see the same numbers."""
    half_plus_two.post("predict", {"instances": [[1.0]]})
    status, page = half_plus_two.ask("GET", "/")
    assert status == 200
    assert "POST /v1/models/half_plus_two:predict" in page
    status, state = half_plus_two.ask("GET", "/healthz")
    assert (status, state["status"], state["model"]) == (200, "ok", "half_plus_two")
    assert state["requests"]["REST predict OK"] >= 1


def test_names_of_strangers_are_escaped(graph_file: Callable[[Callable[[], Any]], str]) -> None:
    """A model's name is text in the page."""
    path = graph_file(lambda: tf.identity(tf.placeholder(tf.float32, [None], name="x"), name="y"))
    with serving(path, "<script>alert(1)</script>") as service:
        page = service.ask("GET", "/")[1]
    assert "<script>" not in page


def test_numbers_of_each_type_keep_their_values(
    graph_file: Callable[[Callable[[], Any]], str],
) -> None:
    """Integers are not cut, floats have the fewest digits, and NaN is written as it is read."""

    def build() -> None:
        for dtype in (tf.int32, tf.int64, tf.uint8, tf.float64, tf.float32, tf.bool):
            tf.identity(tf.placeholder(dtype, [None], name=dtype.name), name=f"{dtype.name}_out")
        tf.identity(tf.placeholder(tf.string, [None], name="text"), name="text_out")
        tf.identity(tf.placeholder(tf.string, [None], name="raw"), name="raw_bytes")

    names = ["int32", "int64", "uint8", "float64", "float32", "bool", "text"]
    keys = {name: f"{name}_out" for name in names} | {"raw": "raw_bytes"}
    model = tf.load(graph_file(build), inputs=list(keys), outputs=list(keys.values()))
    given = {
        "int32": [-(2**31), 2**31 - 1],
        "int64": [-(2**63), 2**63 - 1],
        "uint8": [0, 255],
        "float64": [0.1, 1e300],
        "float32": [0.1, 3],
        "bool": [True, False],
        "text": ["é", {"b64": base64.b64encode(b"plain").decode()}],
        "raw": ["a", {"b64": base64.b64encode(b"\xff\x00").decode()}],
    }
    with serving(model, "types") as service:
        status, answer = service.post("predict", {"inputs": given})
        assert status == 200, answer
        found = answer["outputs"]
        assert found["float32_out"] == [0.1, 3.0]
        assert found["text_out"] == ["é", "plain"]
        assert found["raw_bytes"] == [{"b64": "YQ=="}, {"b64": "/wA="}]
        for key in ("int32", "int64", "uint8", "float64", "bool"):
            assert found[f"{key}_out"] == given[key]
        rows = [dict(zip(given, values)) for values in zip(*given.values())]
        status, answer = service.post("predict", {"instances": rows})
        assert [one["int64_out"] for one in answer["predictions"]] == given["int64"]
        special = {**given, "float32": [math.nan, -math.inf]}
        _, answer = service.post("predict", {"inputs": special})
        assert math.isnan(answer["outputs"]["float32_out"][0])
        assert answer["outputs"]["float32_out"][1] == -math.inf
        for key, bad in (("uint8", [256, 0]), ("int32", [1.5, 0]), ("bool", [1, 0])):
            assert service.post("predict", {"inputs": {**given, key: bad}})[0] == 400
        assert service.post("predict", {"inputs": {"int32": [1]}})[0] == 400


def test_an_address_where_nothing_can_listen_is_named(half_plus_two_path: str) -> None:
    """The error has the interface, the address and the reason."""
    with pytest.raises(OSError, match=r"REST cannot listen at unix:/no/folder: .*No such file"):
        with serve(half_plus_two_path, rest="unix:/no/folder", grpc=None):
            pass
    with pytest.raises(OSError, match=r"gRPC cannot listen at unix:/no/folder: .* may not$"):
        with serve(half_plus_two_path, rest=None, grpc="unix:/no/folder"):
            pass
