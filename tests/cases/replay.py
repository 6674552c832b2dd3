"""Replays stored cases: a graph, what to feed and fetch step by step, and what TensorFlow answered.

A case is a folder with ``case.json``, a graph file, ``inputs.npz`` and ``expected.npz``.
``case.json`` holds the graph's file and format, the session's configuration, and a list of steps:
``run`` (feeds, fetches, targets, expected arrays or error class), ``extend``, ``prun_setup``,
``prun``, ``spawn``/``join`` (a thread that keeps running targets), ``close``, ``closed_run``,
``list_devices``.  Strings are stored flat, as bytes, offsets and shape.
"""

from __future__ import annotations

import functools
import json
import math
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
from google.protobuf.message import DecodeError

import tfnb as tf
from tests import exact_numbers
from tests.exact_numbers import RandomNumbers
from tfnb.core import op_registry
from tfnb.proto import saved_model_pb2

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class Mismatch(AssertionError):
    """An answer differs from the stored one."""


def read_case(folder: Path) -> dict[str, Any]:
    """The description of a case."""
    found: dict[str, Any] = json.loads((folder / "case.json").read_text())
    return found


def missing_ops(folder: Path) -> list[str]:
    """Ops of a case's graph that tfnb does not know; functions of its library are no ops.

    A case whose import must fail names ops that TensorFlow does not know either.
    """
    case = read_case(folder)
    if case.get("expect_import_error"):
        return []
    graph_def = read_graph_def(folder, case["graph"])
    nodes = [*graph_def.node]
    for function in graph_def.library.function:
        nodes += function.node_def
    functions = {function.signature.name for function in graph_def.library.function}
    names = {node.op for node in nodes} - functions
    return sorted(name for name in names if op_registry.find(name) is None)


@functools.lru_cache(maxsize=2)
def _bytes_of_text(path: Path, kind: type[Any]) -> bytes:
    """Return a message in text as bytes; parsing the text of a large graph takes a second."""
    from google.protobuf import text_format

    content: bytes = text_format.Parse(path.read_text(), kind()).SerializeToString()
    return content


def read_graph_def(folder: Path, described: Mapping[str, Any]) -> Any:
    """The graph of a case, whatever its format."""
    path, form = folder / described["file"], described["format"]
    is_text = form.endswith("text") or path.suffix == ".pbtxt"
    message: Any
    if form.startswith("saved_model"):
        message = saved_model_pb2.SavedModel()
    elif form.startswith("metagraph"):
        message = tf.MetaGraphDef()
    else:
        message = tf.GraphDef()
    content = _bytes_of_text(path, type(message)) if is_text else path.read_bytes()
    message.ParseFromString(content)
    if form.startswith("saved_model"):
        return message.meta_graphs[described.get("index", 0)].graph_def
    return message.graph_def if form.startswith("metagraph") else message


def load_arrays(path: Path) -> dict[str, Any]:
    """The arrays of an npz file; string arrays come back as objects."""
    if not path.exists():
        return {}
    arrays: dict[str, Any] = {}
    with np.load(path, allow_pickle=False) as stored:
        for key in stored.files:
            name, _, part = key.partition("|")
            if not part:
                arrays[name] = stored[key]
            elif part == "str":
                raw, offsets = stored[key].tobytes(), stored[f"{name}|off"]
                flat = np.empty(len(offsets) - 1, object)
                for i in range(len(flat)):
                    flat[i] = raw[offsets[i] : offsets[i + 1]]
                arrays[name] = flat.reshape(tuple(stored[f"{name}|shape"]))
            elif part not in ("off", "shape"):
                import ml_dtypes

                arrays[name] = stored[key].view(getattr(ml_dtypes, part))
    return arrays


def generated_array(spec: Mapping[str, Any]) -> Any:
    """An input described by how to make it, so that large inputs need no file."""
    random = RandomNumbers(spec.get("seed", 0))
    shape, kind = tuple(spec["shape"]), spec["gen"]
    if kind == "normal":
        array = random.standard_normal(shape) * spec.get("scale", 1.0) + spec.get("offset", 0.0)
    elif kind == "uniform":
        low, high = spec.get("low", 0.0), spec.get("high", 1.0)
        array = random.random_sample(shape) * (high - low) + low
    elif kind == "randint":
        array = random.randint(spec["low"], spec["high"], shape)
    elif kind == "image":
        array = _image(random, shape, spec.get("scale", 1.0))
    elif kind == "const":
        array = np.full(shape, spec["value"])
    else:
        raise ValueError(f"unknown generator {kind!r}")
    return np.asarray(array).astype(spec.get("dtype", "float32"))


def _image(random: Any, shape: tuple[int, ...], scale: float) -> Any:
    height, width, channels = shape[-3:]
    y, x = np.mgrid[0:height, 0:width] / float(max(height, width))
    pictures = []
    for i in range(int(np.prod(shape[:-3], dtype=int))):
        planes = []
        for k in range(channels):
            wave = 0.25 * exact_numbers.sin(7 * x * (k + 1) + 3 * y + i)
            other = 0.25 * exact_numbers.cos(11 * y - 5 * x * (k + 1) + random.random_sample())
            planes.append(0.5 + wave + other)
        pictures.append(np.stack(planes, -1))
    return np.stack(pictures).reshape(shape) * scale


def difference(got: Any, want: Any, rtol: float, atol: float) -> str:
    """What is wrong with an answer, or ""."""
    a, b = np.asarray(got), np.asarray(want)
    if a.shape != b.shape:
        return f"shape {a.shape}, not {b.shape}"
    is_text = a.dtype.kind in "OSU" and b.dtype.kind in "OSU"
    if a.dtype != b.dtype and not is_text:
        return f"dtype {a.dtype}, not {b.dtype}"
    if is_text:
        return "" if bool(np.all(a == b)) or _are_close_summaries(a, b, rtol) else "other strings"
    if a.dtype.kind in "biu":
        return "" if bool((a == b).all()) else f"{int((a != b).sum())} of {a.size} values differ"
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    a, b = a.astype(wide), b.astype(wide)
    with np.errstate(all="ignore"):
        close = np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=True)
        if close.all():
            return ""
        worst = np.nanmax(np.abs(a - b))
    return f"{int((~close).sum())} of {a.size} values differ, worst {worst:.3g}"


def _are_close_summaries(a: Any, b: Any, rtol: float) -> bool:
    """Return whether two strings are summaries of the same scalars, up to rounding."""
    if a.shape or not all(isinstance(one.item(), bytes) for one in (a, b)):
        return False
    try:
        values = [list(tf.Summary.FromString(one.item()).value) for one in (a, b)]
    except DecodeError:
        return False
    if not values[0] or len(values[0]) != len(values[1]):
        return False
    return all(
        one.WhichOneof("value") == other.WhichOneof("value") == "simple_value"
        and one.tag == other.tag
        and math.isclose(one.simple_value, other.simple_value, rel_tol=rtol)
        for one, other in zip(*values, strict=True)
    )


class Replay:
    """The steps of one case.

    Args:
      folder: where the case lies.
      apart: "step N: fetch" of the one answer whose mismatch is noted in `found_apart`, not raised.
    """

    def __init__(self, folder: Path, apart: str = "") -> None:
        self.folder = folder
        self.apart = apart
        self.found_apart = ""
        self.case = read_case(folder)
        self.inputs = load_arrays(folder / "inputs.npz")
        self.expected = load_arrays(folder / "expected.npz")
        self.graph = tf.Graph()
        self._session: Any = None
        self._handles: dict[str, Any] = {}
        self._threads: list[tuple[threading.Thread, threading.Event]] = []

    def run(self) -> None:
        """Runs the case.

        Raises:
          Mismatch: an answer or an error class is not the stored one.
        """
        refused = self.case.get("expect_import_error")
        try:
            self._import()
        except Exception as error:
            if refused and type(error).__name__ == refused["class"]:
                return
            raise
        if refused:
            raise Mismatch(f"the graph was accepted; TensorFlow raises {refused['class']}")
        try:
            for number, step in enumerate(self.case["steps"]):
                self._check(number, step)
        finally:
            for _, stop in self._threads:
                stop.set()
            if self._session is not None:
                self._session.close()
            for thread, _ in self._threads:
                thread.join(60)

    def _check(self, number: int, step: Mapping[str, Any]) -> None:
        wanted = step.get("error")
        try:
            values = self._step(step)
        except Exception as error:
            if wanted and type(error).__name__ == wanted["class"]:
                return
            if wanted:
                raise Mismatch(
                    f"step {number}: {type(error).__name__}, TensorFlow raises {wanted['class']}"
                ) from error
            raise
        if wanted:
            raise Mismatch(f"step {number}: no error; TensorFlow raises {wanted['class']}")
        if step.get("nondeterministic"):
            return
        tolerance = step.get("tolerance", self.case.get("tolerance", {}))
        for name, value in zip(step.get("fetches", ["devices"]), values):
            key = (step.get("expect") or {}).get(name)
            if key is not None:
                found = difference(
                    value,
                    self.expected[key],
                    tolerance.get("rtol", 1e-4),
                    tolerance.get("atol", 1e-5),
                )
                place = f"step {number}: {name}"
                if found and place == self.apart:
                    self.found_apart = f"{place}: {found}"
                elif found:
                    raise Mismatch(f"{place}: {found}")

    def _import(self) -> None:
        with self.graph.as_default():
            tf.import_graph_def(self.graph_def(), name="")

    def graph_def(self) -> Any:
        """The graph of the case."""
        return read_graph_def(self.folder, self.case["graph"])

    @property
    def session(self) -> Any:
        """The case's session; opened on first use."""
        if self._session is None:
            described, config = self.case.get("config") or {}, tf.ConfigProto()
            for kind, count in described.get("device_count", {}).items():
                config.device_count[kind] = count
            config.allow_soft_placement = described.get("allow_soft_placement", False)
            config.operation_timeout_in_ms = described.get("operation_timeout_in_ms", 0)
            self.configure(config)
            self._session = tf.Session(graph=self.graph, config=config)
        return self._session

    def _value(self, spec: Any) -> Any:
        if isinstance(spec, dict) and "path" in spec:
            return np.array(str((self.folder / spec["path"]).resolve()).encode(), object)
        return generated_array(spec) if isinstance(spec, dict) else self.inputs[spec]

    def _elements(self, names: list[str]) -> list[Any]:
        return [self.graph.as_graph_element(name) for name in names]

    def _feeds(self, step: Mapping[str, Any]) -> dict[Any, Any]:
        return {
            self.graph.get_tensor_by_name(name if ":" in name else f"{name}:0"): self._value(spec)
            for name, spec in step.get("feeds", {}).items()
        }

    def _step(self, step: Mapping[str, Any]) -> list[Any]:
        kind = step.get("kind", "run")
        fetches = step.get("fetches", [])
        if kind == "run":
            options = None
            if "timeout_ms" in step:
                options = tf.RunOptions(timeout_in_ms=step["timeout_ms"])
            wanted = self._elements(fetches) + self._elements(step.get("targets", []))
            return self._run(wanted, self._feeds(step), options)[: len(fetches)]
        if kind == "prun_setup":
            self._handles[step["handle"]] = self.session.partial_run_setup(
                self._elements(fetches) + self._elements(step.get("targets", [])),
                [self.graph.get_tensor_by_name(n if ":" in n else f"{n}:0") for n in step["feeds"]],
            )
            return []
        if kind == "prun":
            return self.session.partial_run(
                self._handles[step["handle"]], self._elements(fetches), self._feeds(step)
            )
        if kind == "extend":
            self._extend(self.folder / step["file"])
            return []
        if kind == "spawn":
            self._spawn(step)
            return []
        if kind == "join":
            for thread, _ in self._threads:
                thread.join(step.get("timeout_s", 10))
            return []
        if kind == "close":
            self.session.close()
            self._session = None
            return []
        if kind == "closed_run":
            self.session.close()
            return self.session.run(self._elements(fetches))
        if kind == "list_devices":
            devices = self.session.list_devices()
            return [np.array(sorted(f"{d.name}|{d.device_type}".encode() for d in devices), object)]
        raise ValueError(f"unknown step {kind!r}")

    def configure(self, config: Any) -> None:
        """A place for a subclass to change the session's configuration."""

    def _run(self, wanted: list[Any], feeds: Mapping[Any, Any], options: Any) -> list[Any]:
        values: list[Any] = self.session.run(wanted, feeds, options=options)
        return values

    def _extend(self, path: Path) -> None:
        extra = tf.GraphDef()
        extra.ParseFromString(path.read_bytes())
        names = {node.name for node in extra.node}
        outside = {
            name: self.graph.as_graph_element(name.removeprefix("^"))
            if name.startswith("^")
            else self.graph.get_tensor_by_name(name if ":" in name else f"{name}:0")
            for node in extra.node
            for name in node.input
            if name.lstrip("^").split(":")[0] not in names
        }
        with self.graph.as_default():
            tf.import_graph_def(extra, input_map=outside, name="")

    def _spawn(self, step: Mapping[str, Any]) -> None:
        stop, session = threading.Event(), self.session
        targets = self._elements(step["targets"])
        last = self._elements(step.get("at_end", []))
        most = step.get("max_runs", 10**6)

        def keep_running() -> None:
            try:
                for _ in range(most):
                    if stop.is_set():
                        break
                    session.run(targets)
            except (tf.errors.OpError, RuntimeError):
                pass  # the queue was closed, or the session: what such a thread waits for
            try:
                if last:
                    session.run(last)
            except (tf.errors.OpError, RuntimeError):
                pass

        thread = threading.Thread(target=keep_running)
        thread.start()
        self._threads.append((thread, stop))
