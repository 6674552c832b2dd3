"""``tfnb run FILE``: feeds a model from arrays and writes its outputs."""

from __future__ import annotations

import io
import json
import re
import sys
import zipfile
import zlib
from dataclasses import dataclass
from tokenize import TokenError
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.client import safety
from tfnb.client.model_session import load_graph, signature_named, tensor_name
from tfnb.core import dtypes
from tfnb.core.files import file_system
from tfnb.proto import config_pb2

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.client.command_line.progress import Progress
    from tfnb.client.model_file import ModelFile
    from tfnb.client.session.session import Session
    from tfnb.core.dtypes import DType


_TRACED = config_pb2.RunOptions(trace_level=config_pb2.RunOptions.FULL_TRACE)
_OP_OF_LABEL = re.compile(r" = ([^\s(]+)\(")
_ZEROS = re.compile(r"zeros\(((?:\d{1,10}(?:,\d{1,10})*)?)\)", re.ASCII)


# The errors of NumPy, and of the modules that it calls, for a damaged file.
_NO_ARRAY = (
    *(ValueError, TypeError, KeyError, EOFError, OSError, MemoryError, RuntimeError, SyntaxError),
    *(NotImplementedError, zipfile.BadZipFile, zlib.error, TokenError),
)


class UsageError(Exception):
    """The command line is not valid."""


@dataclass(frozen=True, slots=True)
class Zeros:
    """An array of zeros, of the type of the fed tensor."""

    shape: tuple[int, ...]

    def of_type(self, dtype: DType) -> Any:
        """Return the array.

        Raises:
            UsageError: It does not fit into memory.
        """
        try:
            if dtype == dtypes.string:
                return np.full(self.shape, b"", object)
            return np.zeros(self.shape, dtype.as_numpy_dtype)
        except (MemoryError, ValueError) as error:
            raise UsageError(f"zeros({','.join(map(str, self.shape))}): {error}") from None


def feed_value(text: str) -> tuple[str, Any]:
    """Parse ``name=value`` into name and value.

    The value is ``@file.npy``, ``@file.npz[key]``, JSON: ``2.5``, ``[[1, 2]]``, ``"text"``, or an
    array of zeros (of strings: empty ones) of a shape: ``zeros(1,28,28)``.

    Raises:
        UsageError: It is none of these.
        NotFoundError: The file does not exist.

    >>> feed_value("x=[1, 2]")
    ('x', [1, 2])
    """
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"--feed {text}: say name=value, for example x=@x.npy or x=[1,2]")
    zeros = _ZEROS.fullmatch(value)
    if zeros is not None:
        return name, Zeros(tuple(int(size) for size in zeros[1].split(",") if size))
    if not value.startswith("@"):
        try:
            return name, json.loads(value)
        except ValueError:
            raise UsageError(
                f'--feed {text}: the value is no JSON; write files as @file, text as "text"'
            ) from None
        except RecursionError:
            raise UsageError(f"--feed {name}: the value is nested too deep") from None
    found = re.fullmatch(r"@(.+?)(?:\[([^\[\]]+)\])?", value)
    if found is None:
        raise UsageError(f"--feed {text}: name a file after the @")
    return name, _array(found[1], found[2], text)


def _array(path: str, key: str | None, text: str) -> Any:
    data = file_system.read_file(path)
    try:
        loaded = np.load(io.BytesIO(data), allow_pickle=False)
    except _NO_ARRAY as error:
        raise UsageError(f"--feed {text}: {path} is no array file: {error}") from None
    if isinstance(loaded, np.ndarray):
        if key is not None:
            raise UsageError(f"--feed {text}: {path} holds one array, leave out [{key}]")
        return loaded
    keys = list(loaded)
    if key is None and len(keys) == 1:
        key = keys[0]
    if key not in keys:
        raise UsageError(f"--feed {text}: choose one of {path}[{'|'.join(keys)}]")
    try:
        return loaded[key]
    except _NO_ARRAY as error:
        raise UsageError(f"--feed {text}: {path}[{key}] is no array: {error}") from None


def open_session(model: ModelFile, checkpoint: str | None, progress: Progress) -> Session:
    """Return a session on a model, with restored variables if there is a checkpoint.

    Raises:
        ModelFileError: The checkpoint does not exist, or the model is a SavedModel.
        OpError: The checkpoint does not fit.
    """
    with progress.phase(f"loading {len(model.graph_def.node)} nodes"):
        return load_graph(model, checkpoint).open(progress.note)


def run(
    model: ModelFile,
    feeds: Sequence[str],
    fetches: Sequence[str],
    output: str | None,
    progress: Progress,
    signature_key: str | None = None,
    checkpoint: str | None = None,
    allowed: Sequence[Any] = (),
    shows_times: bool = False,
) -> None:
    """Run a model once; write the fetched values to a file, or print them.

    Args:
        model: The model.
        feeds: Texts ``name=value``.
        fetches: Names of tensors; all outputs of the signature if empty.
        output: ``.npz``, or ``.npy`` for a single fetch; standard output if None.
        progress: Receives reports of long work.
        signature_key: The signature whose keys may be used as names; the only one if None.
        checkpoint: Where variables are restored from.
        allowed: Effects that the graph may have.
        shows_times: Whether to print on standard error how long each type of op took.

    Raises:
        UsageError: The arguments are not valid.
        ModelFileError: The model does not have this part.
        OpError: The run failed.
    """
    signature = signature_named(model, signature_key)
    if not fetches:
        if signature is None:
            raise UsageError("--fetch is needed: the model has no signature with outputs")
        fetches = sorted(signature.outputs)
    if output is not None and not output.endswith((".npz", ".npy")):
        raise UsageError(f"-o {output}: the name must end with .npz or .npy")
    if output is not None and output.endswith(".npy") and len(fetches) != 1:
        raise UsageError(f"-o {output}: {len(fetches)} fetches need a .npz file")
    given = dict(feed_value(text) for text in feeds)
    feed_dict = {tensor_name(n, signature, "inputs"): v for n, v in given.items()}
    wanted = [tensor_name(name, signature, "outputs") for name in fetches]
    with open_session(model, checkpoint, progress) as sess:
        for name, value in feed_dict.items():
            if isinstance(value, Zeros):
                feed_dict[name] = value.of_type(sess.graph.get_tensor_by_name(name).dtype)
        for effect in allowed:
            safety.allow(effect, graph=sess.graph)
        with progress.phase(f"running {', '.join(fetches)}"):
            traced = _TRACED if shows_times else None
            metadata = config_pb2.RunMetadata() if shows_times else None
            values = sess.run(wanted, feed_dict, options=traced, run_metadata=metadata)
        if metadata is not None:
            print(times_text(metadata.step_stats), file=sys.stderr)
    results = dict(zip(fetches, values, strict=True))
    if output is None:
        for name, value in results.items():
            print(f"{name} = {np.array2string(np.asarray(value), threshold=50)}")
        return
    with progress.phase(f"writing {output}"):
        write_arrays(output, results)
    print(f"{output}: {', '.join(results)}", file=sys.stderr)


def times_text(step_stats: Any) -> str:
    """Return how long each type of op took in a traced step, one per line, the longest first."""
    found: dict[str, list[int]] = {}  # type of op -> nanoseconds, runs
    for device in step_stats.dev_stats:
        for stats in device.node_stats:
            label = _OP_OF_LABEL.search(stats.timeline_label)
            if label is None or stats.node_name in ("_SOURCE", "_SINK"):
                continue
            row = found.setdefault(label[1], [0, 0])
            row[0] += stats.op_end_rel_nanos - stats.op_start_rel_nanos
            row[1] += 1
    total = sum(ns for ns, _ in found.values()) or 1
    lines = [f"{'time':>12}  {'share':>6}  {'runs':>8}  op"]
    for op, (ns, runs) in sorted(found.items(), key=lambda row: (-row[1][0], row[0])):
        lines.append(f"{ns / 1e6:>9,.3f} ms  {ns / total:>6.1%}  {runs:>8,}  {op}")
    return "\n".join(lines)


def write_arrays(path: str, arrays: dict[str, Any]) -> None:
    """Write arrays to a file atomically: it is complete or does not exist."""
    plain = {name: _storable(name, np.asarray(value)) for name, value in arrays.items()}
    buffer = io.BytesIO()
    if path.endswith(".npy"):
        np.save(buffer, next(iter(plain.values())), allow_pickle=False)
    else:
        # numpy.savez takes names as arguments, and some of them for its own.
        with zipfile.ZipFile(buffer, "w") as archive:
            for name, array in plain.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                    np.lib.format.write_array(file, array, allow_pickle=False)
    file_system.write_file(path, buffer.getvalue())


def _storable(name: str, array: Any) -> Any:
    """Return an array that NumPy's files can hold without pickling: strings as fixed-size bytes."""
    if array.dtype.kind == "V" or array.dtype.name == "bfloat16":
        return array.astype(np.float32)
    if array.dtype != object:
        return array
    texts = [bytes(item) for item in array.ravel()]
    if any(text.endswith(b"\0") for text in texts):
        raise UsageError(f"{name} holds strings that end with a zero byte: a .npy file loses it")
    return np.array(texts, np.bytes_).reshape(array.shape)
