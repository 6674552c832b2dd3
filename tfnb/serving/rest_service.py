"""The REST interface of TensorFlow Serving, and a page that says how the server is."""

from __future__ import annotations

import asyncio
import json
import re
from html import escape
from typing import TYPE_CHECKING, Any

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from tfnb.core import errors
from tfnb.proto.model_pb2 import ModelSpec
from tfnb.proto.types_pb2 import DataType
from tfnb.serving.examples import input_of_json
from tfnb.serving.json_tensors import (
    parsed_body,
    predict_answer,
    predict_call,
    shortest,
    signature_name_of,
)
from tfnb.serving.served_model import CLASSIFY, PREDICT, REGRESS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tfnb.client.model_tensor import ModelTensor
    from tfnb.serving.inference import Inference
    from tfnb.serving.json_tensors import PredictCall
    from tfnb.serving.request_log import RequestLog
    from tfnb.serving.serving_options import ServingOptions

# TensorFlow Serving's paths; letters of either case.
_API = re.compile(r"/v1/.*", re.IGNORECASE | re.DOTALL)
_PATH = re.compile(
    r"/v1/models(?:/(?P<name>[^/:]+))?"
    r"(?:/versions/(?P<version>[0-9]+)|/labels/(?P<label>[^/:]+))?"
    r"(?::(?P<verb>predict|classify|regress)|/(?P<metadata>metadata))?/?",
    re.IGNORECASE | re.ASCII,
)
_MAX_VERSION, _MAX_DIGITS = 2**63 - 1, 19
_STATUS = {
    errors.CANCELLED: 499,
    errors.INVALID_ARGUMENT: 400,
    errors.OUT_OF_RANGE: 400,
    errors.UNAUTHENTICATED: 401,
    errors.PERMISSION_DENIED: 403,
    errors.NOT_FOUND: 404,
    errors.ABORTED: 409,
    errors.ALREADY_EXISTS: 409,
    errors.FAILED_PRECONDITION: 400,
    errors.RESOURCE_EXHAUSTED: 429,
    errors.UNIMPLEMENTED: 501,
    errors.UNAVAILABLE: 503,
    errors.DEADLINE_EXCEEDED: 504,
}
# Smaller requests are decoded faster than a thread takes over.
_SMALL_BYTES = 1 << 15
_LOCAL_HOSTS = frozenset(["localhost", "127.0.0.1", "[::1]"])
_PAGE = """<!doctype html><meta charset="utf-8"><title>{name}</title>
<meta name="viewport" content="width=device-width">
<style>body{{font:14px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:50rem;padding:0 1rem}}
td,th{{text-align:left;padding:.1rem 1rem .1rem 0;vertical-align:top}}
pre{{background:#f3f4f6;color:#1f2430;padding:.6rem;overflow-x:auto}}</style>
<h1>{name}</h1><p>version {version}, ready</p>{signatures}
<h2>A request</h2><pre>{example}</pre><h2>State</h2><table>{rows}</table>
"""


class RestService:
    """Answers requests over HTTP."""

    def __init__(
        self,
        inference: Inference,
        log: RequestLog,
        options: ServingOptions,
        *,
        is_local: bool,
    ) -> None:
        """Make the service.

        Args:
            inference: Runs the model.
            log: Counts the requests.
            options: The limits.
            is_local: Whether only this machine reaches the server. Then a request that names
                another host comes from a web page in a browser of this machine, and is refused.
        """
        self._inference, self._log, self._options = inference, log, options
        self._served = inference.served
        self._is_local = is_local

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Return the answer of a request; errors are JSON objects, as TensorFlow Serving's."""
        try:
            return await self._answer(request)
        except errors.OpError as error:
            return _error(_STATUS.get(error.error_code, 500), error.message)

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if self._is_local and _host_of(request) not in _LOCAL_HOSTS:
            return _error(
                403, "The request names another host than localhost, at which this server is."
            )
        path = request.path
        is_get = request.method in ("GET", "HEAD")
        if path == "/" and is_get:
            return web.Response(text=self._page(), content_type="text/html")
        if path in ("/healthz", "/health") and is_get:
            return _json(self._log.state())
        if _API.fullmatch(path) is None:
            return _error(404, f"Nothing is at {path}; a model is at /v1/models/NAME.")
        found = _PATH.fullmatch(path)
        fits = found is not None and (request.method == "POST" if found["verb"] else is_get)
        if found is None or not fits:
            return _error(400, f"Malformed request: {request.method} {path}")
        if found["name"] is None:
            return _error(400, "Missing model name in request.")
        spec = ModelSpec(name=found["name"])
        if found["version"] is not None:
            if len(found["version"]) > _MAX_DIGITS or int(found["version"]) > _MAX_VERSION:
                return _error(400, f"Failed to convert version: {found['version']} to numeric.")
            spec.version.value = int(found["version"])
        if found["label"] is not None:
            spec.version_label = found["label"]
        verb = (found["verb"] or "").lower()
        what = verb or ("metadata" if found["metadata"] else "status")
        with self._log.request(f"REST {what}"):
            self._served.check_asked_for(spec)
            if not verb:
                return _json(self._metadata() if found["metadata"] else self._status())
            body = await self._body(request)
            if body is None:
                return self._too_large()
            answers = {
                "predict": self._predict,
                "classify": self._classify,
                "regress": self._regress,
            }
            return await answers[verb](body)

    async def _body(self, request: web.BaseRequest) -> bytes | None:
        """Return the body; None if it is too large.

        Raises:
            DeadlineExceededError: The client sends it too slowly.
        """
        if (request.content_length or 0) > self._options.max_request_bytes:
            return None
        try:
            if request.headers.get("Expect", "").lower() == "100-continue":
                await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            if request.content.is_eof():  # it has arrived
                return await request.read()
            async with asyncio.timeout(self._options.client_timeout_s):
                return await request.read()
        except web.HTTPRequestEntityTooLarge:
            return None
        except ConnectionError:
            raise errors.cancelled("The client went away before its request had arrived.") from None
        except HttpProcessingError as error:
            raise errors.invalid_argument(f"The body is not valid: {error.message}") from None
        except web.RequestPayloadError as error:
            raise errors.invalid_argument(f"The body is not valid: {_one_line(error)}") from None
        except TimeoutError:
            raise errors.deadline_exceeded(
                f"The request did not arrive within {self._options.client_timeout_s:g} s."
            ) from None

    def _too_large(self) -> web.Response:
        response = _error(
            413, f"A request may have {self._options.max_request_bytes:,} bytes at most."
        )
        response.force_close()  # the rest of the body is not read
        return response

    # -- methods

    async def _predict(self, body: bytes) -> web.Response:
        if len(body) > _SMALL_BYTES:
            return _json_bytes(await self._in_thread(self._predicted, body))
        call = predict_call(body, self._served.function)
        outputs = self._inference.predict_if_short(call.function, call.values)
        if outputs is None:
            return _json_bytes(await self._in_thread(self._answered, call))
        if sum(getattr(value, "nbytes", 0) for value in outputs.values()) <= _SMALL_BYTES:
            return _json_bytes(predict_answer(call, outputs))
        return _json_bytes(await self._in_thread(predict_answer, call, outputs))

    def _predicted(self, body: bytes) -> bytes:
        return self._answered(predict_call(body, self._served.function))

    def _answered(self, call: PredictCall) -> bytes:
        return predict_answer(call, self._inference.predict(call.function, call.values))

    async def _in_thread(self, work: Callable[..., bytes], *arguments: Any) -> bytes:
        """Run what may take longer in a thread.

        Raises:
            ResourceExhaustedError: Too many requests run or wait.
            DeadlineExceededError: It takes too long.
            OpError: The work failed.
        """
        future = self._inference.runner.submit(work, *arguments)
        try:
            async with asyncio.timeout(self._options.timeout_s):
                return await asyncio.wrap_future(future)
        except TimeoutError:
            raise errors.deadline_exceeded(
                f"The request took longer than {self._options.timeout_s:g} s."
            ) from None

    async def _classify(self, body: bytes) -> web.Response:
        return _json_bytes(await self._in_thread(self._classified, body))

    def _classified(self, body: bytes) -> bytes:
        given = parsed_body(body)
        function = self._served.function(signature_name_of(given), CLASSIFY)
        found = self._inference.classify(function, input_of_json(given))
        rows = [
            [
                [one.label, score]
                for one, score in zip(
                    classes.classes, shortest([one.score for one in classes.classes])
                )
            ]
            for classes in found.classifications
        ]
        return json.dumps({"results": rows}).encode()

    async def _regress(self, body: bytes) -> web.Response:
        return _json_bytes(await self._in_thread(self._regressed, body))

    def _regressed(self, body: bytes) -> bytes:
        given = parsed_body(body)
        function = self._served.function(signature_name_of(given), REGRESS)
        found = self._inference.regress(function, input_of_json(given))
        return json.dumps({"results": shortest([one.value for one in found.regressions])}).encode()

    # -- descriptions

    def _status(self) -> dict[str, Any]:
        status = {"error_code": "OK", "error_message": ""}
        version = {"version": str(self._served.version), "state": "AVAILABLE", "status": status}
        return {"model_version_status": [version]}

    def _metadata(self) -> dict[str, Any]:
        signatures = {
            key: {
                "inputs": _infos(function.inputs),
                "outputs": _infos(function.outputs),
                "method_name": function.method or PREDICT,
            }
            for key, function in self._served.functions.items()
        }
        return {
            "model_spec": {
                "name": self._served.name,
                "signature_name": "",
                "version": str(self._served.version),
            },
            "metadata": {"signature_def": {"signature_def": signatures}},
        }

    def _page(self) -> str:
        state = self._log.state()
        flat = {**state, **state.pop("milliseconds"), **state.pop("requests")}
        rows = "".join(
            f"<tr><th>{escape(str(key))}<td>{escape(str(value))}" for key, value in flat.items()
        )
        signatures = "".join(
            f"<h2>{escape(key)}</h2><p>{escape(function.described())}</p>"
            for key, function in self._served.functions.items()
        )
        keys = list(self._served.function("").inputs)
        body = json.dumps({"inputs": {key: ["…"] for key in keys}}, ensure_ascii=False)
        example = f"POST /v1/models/{self._served.name}:predict\n{body}"
        return _PAGE.format(
            name=escape(self._served.name),
            version=self._served.version,
            signatures=signatures,
            example=escape(example),
            rows=rows,
        )


def _infos(tensors: Mapping[str, ModelTensor]) -> dict[str, Any]:
    return {
        one.key: {
            "dtype": DataType.Name(one.dtype.as_datatype_enum),  # type: ignore[arg-type]
            "tensor_shape": {
                "dim": [
                    {"size": str(-1 if dim.value is None else dim.value), "name": ""}
                    for dim in one.shape.dims or ()
                ],
                "unknown_rank": one.shape.dims is None,
            },
            "name": one.name,
        }
        for one in tensors.values()
    }


def _host_of(request: web.BaseRequest) -> str:
    """Return the host that a request names, without its port."""
    host = request.headers.get("Host", "localhost")
    return host.rpartition(":")[0] if re.search(r":\d*$", host) else host


def malformed(message: str | None, status: int = 400) -> web.Response:
    """Return the answer to what is no request over HTTP, after which the connection ends."""
    text = "The request is not valid:" if status < 500 else "The server failed."
    response = _error(status, f"{text} {_one_line(message or '')}".rstrip())
    response.force_close()
    return response


def _one_line(text: object) -> str:
    return " ".join(str(text).split())


def _error(status: int, message: str) -> web.Response:
    return _json({"error": message}, status)


def _json(value: Any, status: int = 200) -> web.Response:
    return _json_bytes(json.dumps(value).encode(), status)


def _json_bytes(body: bytes, status: int = 200) -> web.Response:
    return web.Response(body=body, status=status, content_type="application/json")
