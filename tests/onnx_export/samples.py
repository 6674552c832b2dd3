"""Converts the op samples of ``tests/ops``, each as a graph, and compares onnxruntime.

    python -m tests.onnx_export.samples [--rows N] [--opset N] [OPS]

Each op gets the rows that TensorFlow computes, of types that ONNX runtimes have. A row is
converted with all its inputs fed; if that is refused, with the small integers (axes, shapes,
sizes) as constants, as in most graphs.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

import tfnb as tf
from tests.ops import samples
from tests.ops.kernel_runner import SampleRun
from tfnb.core import dtypes
from tfnb.core.attr_value import encode_attr
from tfnb.onnx_export.check import difference, run_in_onnxruntime
from tfnb.onnx_export.export import export
from tfnb.onnx_export.writing.converters import has_onnx_type
from tfnb.onnx_export.writing.problems import ConversionError
from tfnb.proto import graph_pb2

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tfnb.core.dtypes import DType

FED = "agrees"
"""All inputs are fed."""
WITH_CONSTANTS = "agrees with constants"
REFUSED = "refused"
DIFFERS = "differs"
CRASHES = "crashes"

_TOLERANCE = {dtypes.float16: 4e-3, dtypes.bfloat16: 3e-2}


def rows_of(ops: Iterable[str] = ()) -> dict[str, list[samples.Sample]]:
    """Return the rows of each op that may be converted.

    Args:
        ops: The ops; all if empty.
    """
    wanted = list(ops)
    found = _all_rows()
    return {op: found[op] for op in wanted if op in found} if wanted else found


@cache
def _all_rows() -> dict[str, list[samples.Sample]]:
    found: dict[str, list[samples.Sample]] = {}
    for name in samples.families():
        for row in samples.family(name):
            if row.error is None and row.values:
                found.setdefault(row.op, []).append(row)
    return found


def chosen(rows: list[samples.Sample], number: int) -> Iterator[samples.Sample]:
    """Return the rows that differ most in their attributes, then in their types."""
    seen: Counter[str] = Counter()
    order = []
    for place, row in enumerate(rows):
        key = repr(sorted((k, repr(v)) for k, v in row.attrs.items() if k not in ("T", "dtype")))
        order.append((seen[key], place, row))
        seen[key] += 1
    return (row for _, _, row in sorted(order, key=lambda one: one[:2])[:number])


def outcome(row: samples.Sample, opset: int = 18) -> tuple[str, str]:
    """Return what becomes of a row, and why; ("", why) if it does not count."""
    try:
        run = SampleRun(row)
    except (tf.errors.OpError, ValueError, TypeError) as error:
        return "", f"{type(error).__name__}: {error}"
    if run.cells or any(isinstance(one, samples.Resource) for one in row.inputs):
        return "", "state"
    types = [*run.input_types, *run.output_types]
    if not run.output_types or any(one.is_ref_dtype or _no_value(one) for one in types):
        return "", "no values"
    if {dtypes.string, dtypes.bfloat16} & set(types) or not all(map(has_onnx_type, types)):
        return "", "types"
    if not run.inputs:
        return "", "no inputs"
    reason = ""
    for as_constants in (False, True):
        with tf.Graph().as_default() as graph:
            fed: dict[Any, Any] = {}
            try:
                outputs = _applied(run, as_constants, fed)
            except (ValueError, TypeError, tf.errors.OpError) as error:
                if as_constants:
                    return "", str(error)
                reason = str(error)
                continue
            if not outputs or not fed:
                continue
            with tf.Session(graph=graph) as session:
                try:
                    wanted = session.run(outputs, fed)
                except tf.errors.OpError as error:
                    return "", f"{type(error).__name__}: {error.message[:80]}"
                names = {f"out{number}": one for number, one in enumerate(outputs)}
                try:
                    model = export(session, list(fed), names, opset=opset)
                except ConversionError as error:
                    reason = "; ".join(sorted({one.reason for one in error.problems}))
                    continue
        feeds = {
            one.op.name: np.asarray(value, one.dtype.as_numpy_dtype) for one, value in fed.items()
        }
        try:
            got = run_in_onnxruntime(model, feeds)
        except Exception as error:  # reported
            return CRASHES, f"{'constants: ' * as_constants}{str(error)[:200]}"
        text = _compared(names, wanted, got, run, row)
        if text:
            return DIFFERS, f"{'constants: ' * as_constants}{text}"
        return (WITH_CONSTANTS if as_constants else FED), reason
    return (REFUSED, reason) if reason else ("", "nothing is fed")


def _no_value(dtype: DType) -> bool:
    return dtype in (dtypes.resource, dtypes.variant)


def _applied(run: SampleRun, as_constants: bool, fed: dict[Any, Any]) -> list[Any]:
    """Build the op on placeholders; fill ``fed``; return its outputs."""
    given = []
    for number, value in enumerate(run.inputs):
        array = np.asarray(value)
        is_number = array.ndim == 0 and array.dtype.kind == "f"
        is_whole = array.dtype.kind in "iub" and array.ndim <= 2 and array.size <= 16
        is_form = is_whole and run.op_def.name in _FORMS
        if as_constants and (is_form or ((is_number or is_whole) and number)):
            given.append(tf.constant(array, run.input_types[number]))
            continue
        one = tf.placeholder(run.input_types[number], array.shape, name=f"in{number}")
        fed[one] = array
        given.append(one)
    definition = graph_pb2.GraphDef()
    definition.versions.producer = tf.GRAPH_DEF_VERSION
    node = definition.node.add(name="op", op=run.sample.op)
    for number in range(len(given)):
        definition.node.add(name=f"given{number}", op="Placeholder").attr[
            "dtype"
        ].type = run.input_types[number].as_datatype_enum
        node.input.append(f"given{number}")
    for attr in run.op_def.attrs:
        node.attr[attr.name].CopyFrom(encode_attr(run.attrs[attr.name], attr.type))
    names = {f"given{number}:0": one for number, one in enumerate(given)}
    [found] = tf.import_graph_def(definition, names, ["op"], name="")
    return list(found.outputs)


# Ops whose first input is an axis or a shape.
_FORMS = frozenset(
    ["AvgPoolGrad", "AvgPool3DGrad", "Concat", "ConcatOffset", "Fill", "Range", "Split"]
)


def _compared(
    names: Iterable[str], wanted: Any, got: dict[str, Any], run: SampleRun, row: samples.Sample
) -> str:
    for number, (name, one) in enumerate(zip(names, wanted)):
        if number in row.undefined:
            continue
        expected, found = np.asarray(one), np.asarray(got[name])
        if found.dtype != expected.dtype:
            return f"{name} has type {found.dtype}, not {expected.dtype}"
        scale, is_float = 0.0, run.output_types[number].is_floating
        if is_float:
            plain = expected.astype(np.float64)
            scale = float(np.abs(plain[np.isfinite(plain)]).max(initial=1.0))
        try:
            apart = difference(expected, found, name)
        except tf.errors.OpError as error:
            return error.message
        if apart > _TOLERANCE.get(run.output_types[number], 1e-4) * scale:
            return f"{name} by {apart:.3g} of {scale:.3g}: {found!r:.120} not {expected!r:.120}"
    return ""


def main(arguments: list[str]) -> None:
    """Print a line for each op, and the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ops", nargs="*")
    parser.add_argument("--rows", type=int, default=6)
    parser.add_argument("--opset", type=int, default=18)
    options = parser.parse_args(arguments)
    counts: Counter[str] = Counter()
    for op, rows in sorted(rows_of(options.ops).items()):
        results: Counter[str] = Counter()
        reasons: Counter[tuple[str, str]] = Counter()
        for row in chosen(rows, options.rows):
            found, reason = outcome(row, options.opset)
            results[found] += 1
            if found not in ("", FED):
                reasons[found, f"{row.types} {row.attrs!s:.80} {reason}".replace("\n", " ")] += 1
        del results[""]
        if not results:
            continue
        worst = next(
            one for one in (CRASHES, DIFFERS, REFUSED, WITH_CONSTANTS, FED) if results[one]
        )
        counts[worst] += 1
        print(f"{op:36} {worst:22} {dict(results)}", flush=True)
        if worst != FED:
            for (found, reason), number in reasons.items():
                if found != FED:
                    print(f"      {number} {found}: {reason[:420]}", flush=True)
    print(dict(counts))


if __name__ == "__main__":
    main(sys.argv[1:])
