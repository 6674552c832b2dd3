"""Assertions and printing: Assert, Print, PrintV2; ``tf.Print`` and ``tf.print``.

The kernels print to Python's ``sys.stderr`` or ``sys.stdout``, so that a notebook shows the output
below its cell.
"""

from __future__ import annotations

import collections
import logging
import os
import pprint
import random
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.files import file_system
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import (
    SCALAR_SHAPE,
    InferenceContext,
    no_outputs,
    unchanged_shape,
)
from tfnb.framework.convert import is_tensor
from tfnb.framework.sparse_tensor import SparseTensor
from tfnb.framework.structures import nest
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.base.tensor_text import summarize as summarize_tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.kernel_types import Array, Xp
    from tfnb.core.op_kernel import OpKernelContext
    from tfnb.core.tensor_shape import TensorShape
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients, TensorLike, TensorResult

EXPORTS = {"tf": ["Print", "print:print_", "timestamp"]}

# Returns the prefix of a line that a node prints, given its name and its iteration, -1 outside of
# loops; set by the code that shows the lines.
tag_of_line: Callable[[str, int], str] | None = None


def _tag(ctx: OpKernelContext) -> str:
    if tag_of_line is None:
        return ""
    return tag_of_line(ctx.node_name, ctx.iteration if ctx.frame_id else -1)


# ------------------------------------------------------------------------------------------- Assert


@register_op(
    "Assert",
    "condition: bool, data: T ->",
    "T: list(type) >= 1",
    "summarize: int = 3",
    stateful=True,
    shape=no_outputs,
    host_memory=("condition", "data"),
    traits="reports",
)
def assert_op(xp: Xp, condition: Array, data: list[Array], *, summarize: int) -> None:
    """Raise an error with the data if the condition is false."""
    if condition.ndim:
        raise errors.invalid_argument(f"In[0] should be a scalar: {shape_text(condition.shape)}")
    if not condition:
        shown = " ".join(f"[{summarize_tensor(value, summarize)}]" for value in data)
        raise errors.invalid_argument(f"assertion failed: {shown}")


assert_op.not_differentiable()

# -------------------------------------------------------------------------------------------- Print


@register_op(
    "Print",
    "input: T, data: U -> output: T",
    "T: type",
    "U: list(type) >= 0",
    "message: string = ''",
    "first_n: int = -1",
    "summarize: int = 3",
    stateful=True,
    shape=unchanged_shape,
    host_memory=("data",),
    traits="reports",
)
def print_op(
    ctx: OpKernelContext,
    input: Array,
    data: list[Array],
    *,
    message: str,
    first_n: int,
    summarize: int,
) -> Array:
    """Return the input; print the data in the first ``first_n`` runs."""
    if first_n >= 0:
        count = ctx.kernel_state.get("count", 0)
        if count >= first_n:
            return input
        ctx.kernel_state["count"] = count + 1
    shown = "".join(f"[{summarize_tensor(value, summarize)}]" for value in data)
    text = f"{_tag(ctx)}{message}{shown}\n"
    # Some streams refuse bytes that are not UTF-8.
    sys.stderr.write(text.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))
    return input


@print_op.gradient
def _(op: Operation, *grads: Tensor) -> Gradients:
    return [*grads, *[None] * (len(op.inputs) - 1)]


def _scalar_input(c: InferenceContext) -> list[TensorShape]:
    c.with_rank(0, 0)
    return []


_LOG_LEVELS = {
    "log(info)": logging.INFO,
    "log(warning)": logging.WARNING,
    "log(error)": logging.ERROR,
}


@register_op(
    "PrintV2",
    "input: string ->",
    "output_stream: string = 'stderr'",
    "end: string = '\\n'",
    stateful=True,
    shape=_scalar_input,
    host_memory=("input",),
    effects="write output_stream file://",
    traits="reports",
)
def print_v2(ctx: OpKernelContext, input: Array, *, output_stream: str, end: str) -> None:
    """Write a string to a stream, to the log, or to a file (``file://...``)."""
    if input.ndim:
        raise errors.invalid_argument("Input is expected to be scalar, but got {}")
    text = input.item().decode("utf-8", "replace") + end
    if end.endswith("\n") and output_stream in ("stderr", "stdout"):
        text = _tag(ctx) + text
    if output_stream == "stderr":
        sys.stderr.write(text)
        sys.stderr.flush()
    elif output_stream == "stdout":
        sys.stdout.write(text)
        sys.stdout.flush()
    elif output_stream in _LOG_LEVELS:
        logging.getLogger("tfnb").log(_LOG_LEVELS[output_stream], "%s", text.removesuffix("\n"))
    elif output_stream.startswith("file://"):
        with file_system.open_file(output_stream, "ab") as file:
            file.write(input.item() + end.encode())
    else:
        raise errors.invalid_argument(
            f"Unknown output stream: {output_stream}, valid streams are: log(info), log(warning), "
            "log(error), stderr, stdout, file://<filepath>"
        )


print_v2.not_differentiable()


@register_op(
    "Timestamp",
    "-> ts: double",
    stateful=True,
    shape=lambda c: SCALAR_SHAPE,
    host_memory=("ts",),
)
def timestamp(xp: Xp) -> Array:
    """Return the seconds since the epoch at the time when the op runs."""
    return np.float64(time.time())


timestamp.not_differentiable()

# --------------------------------------------------------------------------------- public functions


def Print(
    input_: TensorLike,
    data: TensorLike,
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> TensorResult:
    """Return a tensor equal to ``input_`` that prints the data when computed."""
    return print_op(input_, data, message, first_n, summarize, name=name)


def print_(*inputs: Any, **kwargs: Any) -> TensorResult:
    """Return an operation that prints tensors and other objects, like Python's ``print``.

    Args:
      *inputs: the objects to print; tensors may be inside lists, tuples and dicts.
      **kwargs: ``output_stream`` (``sys.stderr``, ``sys.stdout``, a logging function or level, or
        ``"file://..."``), ``summarize`` (elements at each end of a dimension, 3), ``sep``, ``end``
        and ``name``.

    Raises:
      ValueError: an unknown keyword or stream.
    """
    output_stream = kwargs.pop("output_stream", sys.stderr)
    name = kwargs.pop("name", None)
    summarize = kwargs.pop("summarize", 3)
    sep = kwargs.pop("sep", " ")
    end = kwargs.pop("end", os.linesep)
    if kwargs:
        raise ValueError(f"Unrecognized keyword arguments for tf.print: {kwargs}")
    stream = _stream_name(output_stream)
    first: Any = inputs[0] if len(inputs) == 1 else None
    if (
        is_tensor(first)
        and not isinstance(first, SparseTensor)
        and first.shape.ndims == 0
        and first.dtype == dtypes.string
    ):
        text = first
    else:
        text = _formatted(inputs, sep, summarize, f"{name}_format" if name else None)
    return print_v2(text, output_stream=stream, name=name, end=end)


def _stream_name(stream: Any) -> str:
    if isinstance(stream, str) and stream.startswith("file://"):
        return stream
    if stream is sys.stdout:
        return "stdout"
    if stream is sys.stderr:
        return "stderr"
    # The name of a logging module's function, or a level.
    word = getattr(stream, "__name__", None)
    if isinstance(stream, int):
        word = {v: k for k, v in _LOG_LEVELS.items()}.get(stream, "")
        word = word.removeprefix("log(").removesuffix(")")
    word = {"warn": "warning"}.get(str(word), word)
    if f"log({word})" not in _LOG_LEVELS:
        raise ValueError(
            f"Unsupported output stream, logging level, or file.{stream}. Supported streams are "
            "sys.stdout, sys.stderr, tf.logging.info, tf.logging.warning, tf.logging.error. File "
            "needs to be in the form of 'file://<filepath>'."
        )
    return f"log({word})"


def _formatted(
    inputs: tuple[TensorLike, ...], sep: str, summarize: int, name: str | None
) -> TensorResult:
    """Return the text of the inputs as a string tensor."""
    from tfnb.ops.strings.string_ops import string_format

    ordered = [
        collections.OrderedDict(sorted(value.items()))
        if isinstance(value, collections.OrderedDict)
        else value
        for value in inputs
    ]
    without_tensors = nest.map_structure(lambda x: "" if is_tensor(x) else x, ordered)
    placeholder = _unused_placeholder(" ".join(pprint.pformat(x) for x in without_tensors))
    tensors: list[TensorLike] = []
    templates = []
    for value in inputs:
        marked: list[Any] = []
        for one in nest.flatten(value):
            if isinstance(one, SparseTensor):
                tensors += [one.indices, one.values, one.dense_shape]
                marked.append(
                    f"SparseTensor(indices={placeholder}, values={placeholder}, "
                    f"shape={placeholder})"
                )
            elif is_tensor(one):
                tensors.append(one)
                marked.append(placeholder)
            else:
                marked.append(one)
        if isinstance(value, str):
            templates.append(value)
        else:
            templates.append(pprint.pformat(nest.pack_sequence_as(value, marked)))
    template = sep.join(templates).replace(f"'{placeholder}'", placeholder)
    return string_format(
        inputs=tensors,
        template=template,
        placeholder=placeholder,
        summarize=summarize,
        name=name,
    )


def _unused_placeholder(text: str) -> str:
    placeholder = "{}"
    digits = random.Random(5)
    while placeholder in text:
        placeholder += str(digits.randint(0, 9))
    return placeholder
