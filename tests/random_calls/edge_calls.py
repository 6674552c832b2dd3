"""Replaces every op's inputs by edge values and prints disagreements with TensorFlow.

    python -m tests.random_calls.edge_calls PYTHON [OP | FAMILY ...] [--kinds KIND,...] [--store]

PYTHON is the interpreter of an environment with TensorFlow. FAMILY is the name of a file
calls_<family>.py or of samples_<family>.py. The initial calls are random ones if the op has a
maker, and its samples; edges.py changes them. With ``--store`` some calls of each op and kind, and
TensorFlow's answers, become tests/golden/edge_calls.bin, which test_random_calls.py checks.
"""

from __future__ import annotations

import resource
import signal
import sys
import zlib
from collections import Counter, defaultdict
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.ops import samples
from tests.ops.kernel_runner import SampleRun
from tests.ops.oracle import Oracle
from tests.ops.stored_calls import EDGES, encode
from tests.random_calls.__main__ import Tally, is_missing, is_small, options_of, writer_to
from tests.random_calls.checks import differences
from tests.random_calls.draws import Draw
from tests.random_calls.edges import KINDS, variants
from tests.random_calls.makers import makers
from tfnb.core import errors, op_registry
from tfnb.core.host_memory import limit_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.ops.golden import GoldenWriter

_LIMIT_S = 30
_LIMIT_BYTES = 10 << 30
# Larger answers are not compared, because whether their steps succeed depends on memory.
_LARGE_BYTES = 1 << 29


# Calls that are neither compared nor stored, because TensorFlow's answer is not usable: by op and
# kind (a kind may name the dtype of an input), the reason.
_CRASHES = "TensorFlow's process ends, or fills all memory"
_UNWRITTEN = "TensorFlow returns memory that it has not written"
_ORDER = "which sums of infinities are NaN depends on the order of an algorithm's steps"
_PACKETS = (
    "products and quotients of infinite complex numbers differ between the vectorized part of an "
    "array and its rest"
)
_GAPS = "zeros that TensorFlow puts between the gradients meet what is not finite"
_BEYOND = "TensorFlow reads memory beyond an input"
_LARGEST = "what min and max make of NaN depends on the compiler"
_COMPLEX = {"nan complex64": _PACKETS, "nan complex128": _PACKETS}
_UNDEFINED: dict[str, dict[str, str]] = {
    "RFFT RFFT2D RFFT3D IRFFT IRFFT2D IRFFT3D": {"empty": _UNWRITTEN, "nan": _ORDER},
    "FFT FFT2D FFT3D IFFT IFFT2D IFFT3D": {"nan": _ORDER},
    "AudioSpectrogram CholeskyGrad Qr Svd": {"nan": _ORDER},
    "Cumprod Div DivNoNan Inv InvGrad Log1p MatMul MatrixTriangularSolve Mul MulNoNan RealDiv "
    "Reciprocal ReciprocalGrad ResourceScatterDiv RsqrtGrad ScatterDiv SigmoidGrad SqrtGrad "
    "TanhGrad TridiagonalSolve Xdivy Xlog1py Xlogy": _COMPLEX,
    "Conv2DBackpropFilter DepthwiseConv2dNative DepthwiseConv2dNativeBackpropFilter FusedBatchNorm "
    "FusedBatchNormV2 FusedBatchNormV3": {"empty": _UNWRITTEN},
    "AdjustHue AdjustSaturation": {"nan": _LARGEST},
    "DrawBoundingBoxes DrawBoundingBoxesV2": {"nan": "corners that are no numbers become integers"},
    "Conv3DBackpropInputV2": {"empty": _UNWRITTEN, "nan": _GAPS},
    "Conv3DBackpropFilterV2 DepthwiseConv2dNativeBackpropInput": {"nan": _GAPS},
    "Cholesky LogMatrixDeterminant MatrixDeterminant MatrixInverse MatrixSolve SelfAdjointEigV2": {
        "nan": _ORDER
    },
    "MatrixSolveLs": {"nan": _ORDER, "empty": _UNWRITTEN},
    "RandomPoisson RandomPoissonV2 StatelessRandomPoisson": {
        "nan": "of an infinite rate the loop never ends",
        "extreme int64": "what is accepted of such rates is decided by rounding alone",
    },
    "Multinomial RandomUniformInt": {
        "extreme": "whether that many numbers fit depends on memory",
    },
    "EncodeJpegVariableQuality EncodePng": {"extreme": "bytes of other versions of libjpeg, zlib"},
    "ExtractGlimpse ExtractGlimpseV2": {"nan": "offsets that are no numbers become integers"},
    "FractionalAvgPoolGrad": {"extreme": _BEYOND},
    "FractionalMaxPool RGBToHSV": {"nan": _LARGEST},
    "FractionalMaxPoolGrad": {"nan": _LARGEST, "empty": _BEYOND, "scalar": _BEYOND},
    "QuantizedInstanceNorm": {"nan": _LARGEST},
    "RequantizePerChannel": {"empty": "oneDNN refuses arrays without elements"},
    "BlockLSTM BlockLSTMV2": {"extreme": _BEYOND},
    "BlockLSTMGrad BlockLSTMGradV2": {"empty": _BEYOND},
    "ImageProjectiveTransformV2 ImageProjectiveTransformV3": {
        "nan": "places that are no numbers become integers"
    },
    "CombinedNonMaxSuppression": {"nan": "which of equal scores comes first is a heap's choice"},
    "CropAndResize": {"extreme": "arrays without elements, but longer than any can be"},
    "DataFormatDimMap": {"extreme": "axes that do not exist"},
    "NonMaxSuppressionV4 NonMaxSuppressionV5": {
        "extreme": "whether that many zeros fit depends on memory"
    },
    "CropAndResizeGradBoxes CropAndResizeGradImage": {"nan": _CRASHES},
    "BatchMatMul BatchMatMulV2 BatchMatMulV3": _COMPLEX,
    "Bincount SparseBincount": {
        "extreme": "whether that many bins fit depends on memory and threads"
    },
    "CumulativeLogsumexp": {"nan": _LARGEST},
    "DenseBincount HistogramFixedWidth LinSpace Range": {"extreme": _CRASHES},
    "Erf": {"nan float64": "the vectorized part of an array has NaN for infinities, the rest 1"},
    "BandedTriangularSolve Lu": {
        "nan": "whether the smallest of numbers with NaN is NaN depends on the compiler"
    },
    "Cast": dict.fromkeys(_COMPLEX, "whole numbers of infinite ones are undefined in C++"),
    "NearestNeighbors ResourceApplyAdamWithAmsgrad SparseReduceMax SparseReduceMaxSparse": {
        "nan": _LARGEST
    },
    "KmeansPlusPlusInitialization": {"nan": _BEYOND},
    "Eig": {"nan": "whether the iteration ends on a matrix that is not finite is chance"},
    "SparseSegmentMean SparseSegmentMeanGrad SparseSegmentMeanWithNumSegments SparseSegmentSqrtN "
    "SparseSegmentSqrtNGrad SparseSegmentSqrtNWithNumSegments SparseSegmentSum "
    "SparseSegmentSumGrad SparseSegmentSumWithNumSegments": {"empty": _UNWRITTEN},
    "Empty": {"empty": _UNWRITTEN},
    "NthElement ResourceScatterMax ResourceScatterMin ResourceScatterNdMax ResourceScatterNdMin "
    "ScatterMax ScatterMin ScatterNdMax ScatterNdMin SegmentMax SegmentMin TensorScatterMax "
    "TensorScatterMin TopKV2 UnsortedSegmentMax UnsortedSegmentMin": {"nan": _LARGEST},
    "StatelessRandomBinomial": {"nan": "draws with a probability that is no number never end"},
    "SobolSample": {"extreme": "from 2**30 on TensorFlow divides by an int that overflowed"},
}
UNDEFINED = {op: reasons for ops, reasons in _UNDEFINED.items() for op in ops.split()}


def _overflows(*terms: Any) -> bool:
    """Return whether a sum of numbers overflows their signed type."""
    try:
        wide = sum(np.asarray(term).astype(object) for term in terms)
    except ValueError:
        return False  # of other shapes: refused before they are added
    info = np.iinfo(np.asarray(terms[0]).dtype)
    return any(not info.min <= value <= info.max for value in np.asarray(wide).flat)


def _padded(row: samples.Sample) -> bool:
    """Return whether TensorFlow overflows when it adds sizes and paddings or crops."""
    pads = row.inputs[-1 if row.op.startswith(("Space", "Batch")) else 1]
    if pads.ndim != 2 or pads.shape[1] != 2:
        return False
    sizes = np.array(np.shape(row.inputs[0]), np.int64)
    sign = -1 if row.op == "MirrorPadGrad" else 1
    terms = [sign * column for column in pads.astype(object).T]
    return _overflows(*pads.T) or (len(pads) == len(sizes) and _overflows(sizes, *terms))


def _least_band(row: samples.Sample) -> bool:
    """MatrixBandPart: the absolute value of the least number of a type overflows."""
    return any(np.any(bound == np.iinfo(bound.dtype).min) for bound in row.inputs[1:])


def _wide_diagonal(row: samples.Sample) -> bool:
    """Diagonals so far from the main one that the sizes of the matrix overflow."""
    numbers = np.append(row.inputs[1], np.int32(0))
    length = np.int32(np.shape(row.inputs[0])[-1] if np.ndim(row.inputs[0]) else 1)
    return _overflows(length, numbers.max()) or _overflows(length, -int(numbers.min()))


def _beyond_splits(row: samples.Sample) -> bool:
    """RaggedTensorToTensor.

    There are no values for the splits, or the rows of a scalar are counted.
    """
    values, partitions = row.inputs[1], row.inputs[3]
    kinds = row.attrs["row_partition_types"]
    last = partitions[-1]
    count = last.size if kinds[-1] == "VALUE_ROWIDS" else int(last.flat[-1]) if last.size else 0
    scalars = [not p.ndim for p, kind in zip(partitions, kinds) if kind != "FIRST_DIM_SIZE"]
    return any(scalars) or (values.ndim > 0 and values.shape[0] < count)


def _beyond_inner_splits(row: samples.Sample) -> bool:
    """RaggedGather: splits lead beyond the inner ones."""
    splits = [np.ravel(part) for part in row.inputs[0]]
    return any(len(o) and o[-1] >= len(i) for o, i in pairwise(splits))


def _beyond_indices(row: samples.Sample) -> bool:
    """RaggedCross: the indices are not columns, or fewer than the values."""
    pairs = zip(*row.inputs[2:4], strict=True)
    return any(not all(i.shape[1:2]) or i.ndim < 2 or len(i) < np.size(v) for i, v in pairs)


def _wide_ranges(row: samples.Sample) -> bool:
    """RaggedRange: whether the numbers fit depends on the memory, in both libraries."""
    starts, limits, deltas = (np.asarray(part, np.float64) for part in row.inputs)
    with np.errstate(all="ignore"):
        try:
            total = np.maximum(0, (limits - starts) / deltas).sum()
        except ValueError:
            return False  # of other shapes: refused
    return bool(1 << 28 < total < 1 << 36)


def _beyond_weights(row: samples.Sample) -> bool:
    """Bins of a ragged or sparse matrix: fewer weights than values, or a shape without rows."""
    _, values, *shape, _, weights = row.inputs
    if any(part.size < 2 for part in shape):
        return not shape[0].size
    return 0 < weights.size < values.size and not row.attrs.get("binary_output")


def _other_batches(row: samples.Sample) -> bool:
    """ResourceGather: TensorFlow does not check that the batches are equal."""
    batch = row.attrs.get("batch_dims", 0)
    value = getattr(row.inputs[0], "value", None)
    return batch and np.shape(value)[:batch] != np.shape(row.inputs[1])[:batch]


def _beyond_updates(row: samples.Sample) -> bool:
    """Scattered rows shorter than the variable's are read beyond their end."""
    variable, indices, updates = _arrays(row)
    rows = np.size(indices) * int(np.prod(np.shape(getattr(variable, "value", None))[1:]))
    return bool(np.ndim(updates) and np.size(updates) < rows)


def _without_products(row: samples.Sample) -> bool:
    """Filters without cells: uninitialized memory, memory beyond the array, or a oneDNN error."""
    return 0 in np.shape(row.inputs[1])[:2]


def _beyond_bias(row: samples.Sample) -> bool:
    """A bias that is shorter than the channels is read beyond its end."""
    first, weights, *others = map(np.size, _arrays(row))
    return bool(first and weights and not all(others))


def _unsorted_rows(row: samples.Sample) -> bool:
    """The result for unsorted rows depends on the steps of the search."""
    rows = np.asarray(row.inputs[0])
    return bool(rows.ndim and not (rows[..., 1:] >= rows[..., :-1]).all())


def _packets_of_nan(row: samples.Sample) -> bool:
    """NaNs become the lowest number in the vectorized part of an array, and 0 in the rest."""
    is_finite = all(np.isfinite(entry).all() for entry in row.inputs)
    return row.attrs["T"] in ("qint8", "qint16") and not is_finite


def _wide_depth(row: samples.Sample) -> bool:
    """The op's depth is an int32, the sample's is an int64."""
    return bool(np.asarray(row.inputs[1]).dtype == np.int64)


def _other_gradients(row: samples.Sample) -> bool:
    """AvgPoolGrad: gradients of other channels or of more images lead beyond the images."""
    sizes, shape = np.ravel(row.inputs[0]), np.shape(row.inputs[1])
    return sizes.size == len(shape) == 4 and (shape[0] > sizes[0] or shape[3] != sizes[3])


def _overflowing_window(row: samples.Sample) -> bool:
    """A window whose end overflows an int32: TensorFlow treats it as inside."""
    window = row.inputs[1]
    return window.shape == (4,) and _overflows(window[:2], window[2:])


def _overflowing_roll(row: samples.Sample) -> bool:
    """Shifts along the same axis, whose sum overflows an int32."""
    return row.inputs[1].size > 1 and int(np.abs(row.inputs[1].astype(object)).max()) > 1 << 30


def _unwritten_fingerprints(row: samples.Sample) -> bool:
    """Rows without strings, whose fingerprints are not written."""
    data = np.asarray(row.inputs[0])
    return data.dtype == object and not data.size and bool(np.ndim(data)) and len(data) > 0


# Predicates for groups of these calls.
_UNDEFINED_CALLS: dict[str, Callable[[samples.Sample], bool]] = {
    "Pad PadV2 MirrorPad MirrorPadGrad BatchToSpace BatchToSpaceND SpaceToBatch SpaceToBatchND": (
        _padded
    ),
    "AvgPoolGrad": _other_gradients,
    "Empty": lambda row: not row.attrs.get("init"),  # what is not written
    "Fingerprint": _unwritten_fingerprints,
    "LowerBound UpperBound": _unsorted_rows,
    "Slice": lambda row: _overflows(*row.inputs[1:]),
    "SplitV": lambda row: row.inputs[1].size and _overflows(*row.inputs[1].flat),
    "Roll": _overflowing_roll,
    "DecodeAndCropJpeg": _overflowing_window,
    "OneHot": _wide_depth,
    "QuantizeV2": _packets_of_nan,
    "MatrixBandPart": _least_band,
    "MatrixDiagV2 MatrixDiagV3": _wide_diagonal,
    "RaggedTensorToTensor": _beyond_splits,
    "RaggedGather": _beyond_inner_splits,
    "RaggedRange": _wide_ranges,
    "RaggedTensorToSparse": lambda row: not row.inputs[0][0].ndim,
    "RaggedBincount SparseBincount": _beyond_weights,
    "RaggedCross": _beyond_indices,
    "ResourceGather": _other_batches,
    "Conv2DBackpropInput Dilation2D Dilation2DBackpropFilter Dilation2DBackpropInput "
    "QuantizedConv2D QuantizedMatMul": _without_products,
    "_FusedConv2D _FusedMatMul": _beyond_bias,
    "ResourceScatterAdd ResourceScatterDiv ResourceScatterMax ResourceScatterMin "
    "ResourceScatterMul ResourceScatterSub ResourceScatterUpdate": _beyond_updates,
}
UNDEFINED_CALLS = {op: rule for ops, rule in _UNDEFINED_CALLS.items() for op in ops.split()}


def is_undefined(kind: str, row: samples.Sample) -> bool:
    """Return whether TensorFlow's answer to the call is not usable."""
    known = UNDEFINED.get(row.op, {})
    rule = UNDEFINED_CALLS.get(row.op)
    if rule is not None and rule(row):
        return True
    if kind == "nan" and row.op.startswith(("MaxPool", "QuantizeAndDequantizeV")):
        # The largest number, or the range if it is not given, depends on the places of NaNs.
        is_given = row.attrs.get("range_given", "Grad" in row.op and row.op.startswith("Quant"))
        if not is_given and np.isnan(np.asarray(row.inputs[0], np.float64)).any():
            return True
    return kind in known or any(f"{kind} {np.asarray(x).dtype}" in known for x in _arrays(row))


@cache
def sampled() -> dict[str, list[samples.Sample]]:
    """Return the samples by op, without those that must fail."""
    found: dict[str, list[samples.Sample]] = defaultdict(list)
    for family in samples.families():
        for row in samples.family(family):
            if row.error is None:
                found[row.op].append(row)
    return found


def starts(name: str, seed: int) -> list[samples.Sample]:
    """Calls of the op that succeed: up to three random ones and three samples."""
    found: list[samples.Sample] = []
    maker = makers().get(name)
    for number in range(12 if maker else 0):
        if len(found) < 3:
            row = typed(maker(Draw(zlib.crc32(name.encode()) + 7919 * (seed + number)), name))
            found += [row] if runs(row) else []
    rows = sampled().get(name, [])
    step = max(1, len(rows) // 3)
    return found + [typed(row) for row in rows[seed % step :: step][:3] if runs(row)]


def typed(row: samples.Sample) -> samples.Sample:
    """Return the call with numbers of the dtypes that the op declares."""
    inputs = [
        entry.astype(arg.type.as_numpy_dtype)
        if arg.type is not None and isinstance(entry, np.ndarray) and entry.dtype.kind in "iu"
        else entry
        for arg, entry in zip(op_registry.get(row.op).op_def.inputs, row.inputs, strict=True)
    ]
    return replace(row, inputs=tuple(inputs))


def runs(row: samples.Sample) -> bool:
    """Return whether the call succeeds in tfnb."""
    try:
        with np.errstate(all="ignore"):
            SampleRun(row).run()
    except (errors.OpError, ValueError, TypeError, LookupError):
        return False
    return True


def names_of(words: list[str]) -> list[str]:
    """Return the ops that the words name; by default all."""
    table = makers()
    every = sorted({*table, *sampled()} & set(op_registry.all_ops()))
    if not words:
        return every
    found = [word for word in words if word in every]
    for word in words:
        found += [n for n, maker in table.items() if maker.__module__.endswith(f"calls_{word}")]
        if word in samples.families():
            found += [row.op for row in samples.family(word) if row.op not in table]
    return sorted(set(found))


def calls_of(name: str, seed: int, kinds: list[str]) -> Iterator[tuple[str, samples.Sample]]:
    """Kinds and calls of one op, each once."""
    random = np.random.RandomState((zlib.crc32(name.encode()) + seed) % 2**32)
    seen: set[str] = set()
    for start in starts(name, seed):
        for kind, changed in variants(start, random):
            row = unset(changed)
            if kind in kinds and row.key() not in seen and not is_undefined(kind, row):
                seen.add(row.key())
                yield kind, row


def unset(row: samples.Sample) -> samples.Sample:
    """Return the call, with outputs that TensorFlow never writes marked as undefined."""
    if row.op == "NonDeterministicInts":
        return replace(row, undefined=(0,))  # no two answers are the same
    if row.op in ("BlockLSTM", "BlockLSTMV2", "Conv2D") and not all(map(np.size, _arrays(row))):
        return replace(row, gradient=False)  # that of the weights stays unwritten
    if row.op in ("Conv3D", "DepthwiseConv2dNative") and not all(
        np.isfinite(np.asarray(x, np.float64)).all() for x in _arrays(row)
    ):
        return replace(row, gradient=False)  # as for the ops that compute it: the gaps
    if row.op == "ParseSequenceExampleV2" and not np.ndim(row.inputs[0]):
        # The (outer) row splits of a single example.
        attrs = row.attrs
        ragged = len(attrs["context_ragged_value_types"])
        lists = len(attrs["feature_list_ragged_value_types"])
        first = 3 * attrs["Ncontext_sparse"] + len(attrs["Tcontext_dense"]) + ragged
        last = first + ragged + 3 * attrs["Nfeature_list_sparse"] + lists
        last += 2 * len(attrs["feature_list_dense_types"])
        return replace(row, undefined=(*range(first, first + ragged), *range(last, last + lists)))
    return row


def judged(row: samples.Sample, answer: dict[str, Any]) -> list[str]:
    """Return the differences; a call that takes too long in tfnb is one."""

    def late(*_: Any) -> None:
        raise TimeoutError(f"longer than {_LIMIT_S} s")

    signal.signal(signal.SIGALRM, late)
    signal.alarm(_LIMIT_S)
    try:
        with np.errstate(all="ignore"):
            return differences(row, answer)
    finally:
        signal.alarm(0)


def is_light(row: samples.Sample, answer: dict[str, Any]) -> bool:
    """Return whether the call agrees on any machine: with a gigabyte above the memory in use."""
    if answer.get("error", [""])[0] == "ResourceExhaustedError":
        return False
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (1 << 30), hard))
    try:
        return not judged(row, answer)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


class Kept:
    """The calls to store of one op: two with values and one with an error for each kind."""

    def __init__(self, writer: GoldenWriter) -> None:
        self.writer = writer
        self.counts: Counter[tuple[str, bool]] = Counter()

    def offer(self, kind: str, row: samples.Sample, answer: dict[str, Any]) -> None:
        """Store the call if there is room for one of its kind."""
        fails = "error" in answer
        if "no_kernel" in answer or not is_small(answer):
            return
        if sum(np.size(item) for item in _arrays(row)) > 600 or not is_light(row, answer):
            return
        if self.counts[kind, fails] < (1 if fails else 2):
            self.counts[kind, fails] += 1
            key = f"{row.op}-{kind}-{zlib.crc32(row.key().encode()):08x}"
            self.writer.add(key, {"call": encode(row), "answer": answer})


def _arrays(row: samples.Sample) -> list[Any]:
    return [
        item for entry in row.inputs for item in (entry if isinstance(entry, list) else [entry])
    ]


def main(arguments: list[str]) -> int:
    """Compare; the exit status says whether all agree."""
    parser = options_of("tests.random_calls.edge_calls", "OP | FAMILY", show=2)
    parser.add_argument("--kinds", default=",".join(KINDS))
    options = parser.parse_args(arguments)
    resource.setrlimit(resource.RLIMIT_AS, (_LIMIT_BYTES, _LIMIT_BYTES))
    limit_thread(_LIMIT_BYTES)
    makers()
    names = names_of(options.words)
    writer: GoldenWriter | None = None
    if options.store:
        others = bool(options.words)
        writer = writer_to(EDGES, lambda key: others and key.split("-")[0] not in names)
    oracle = Oracle(options.python, limit_s=_LIMIT_S)
    tally = Tally(options.show, options.found)
    for name in names:
        kept = Kept(writer) if writer else None
        for kind, row in calls_of(name, options.seed, options.kinds.split(",")):
            answer = oracle.answer(row)
            if answer is None:
                tally.sums["crashed"] += 1
                tally.shown[f"{kind}, TensorFlow crashes"] += 1
                continue
            if sum(np.asarray(v).nbytes for v in answer.get("values", ())) >= _LARGE_BYTES:
                tally.sums["too large"] += 1
                continue
            if is_missing(answer):
                continue
            lines = judged(row, answer)
            tally.add(row, answer, lines, kind, f"{kind} ")
            if kept and not lines:
                kept.offer(kind, row, answer)
        tally.end_op(name)
    oracle.close()
    if writer:
        writer.close()
    return tally.end()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
