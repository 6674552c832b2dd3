"""Forces every op's inputs to the edges and says where tfnb and TensorFlow disagree.

    python -m tests.random_calls.edge_calls PYTHON [OP | FAMILY ...] [--kinds KIND,...] [--store]

PYTHON is the interpreter of an environment with TensorFlow.  FAMILY is the name of a file
calls_<family>.py or of samples_<family>.py.  The calls to start from are random ones where the op
has a maker, and its samples; edges.py changes them.  With ``--store`` some calls of each op and
kind, and TensorFlow's answers, become tests/golden/edge_calls.bin, which test_random_calls.py
checks.
"""

from __future__ import annotations

import argparse
import pickle
import re
import resource
import signal
import sys
import zlib
from collections import Counter, defaultdict
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.ops import samples
from tests.ops.golden import Golden, GoldenWriter
from tests.ops.kernel_runner import SampleRun
from tests.random_calls.__main__ import Oracle, brief, described, is_small
from tests.random_calls.checks import differences
from tests.random_calls.draws import Draw
from tests.random_calls.edges import KINDS, variants
from tests.random_calls.makers import makers
from tests.random_calls.stored import EDGES, encode
from tfnb.core import errors, op_registry
from tfnb.core.host_memory import limit_thread

if TYPE_CHECKING:
    from collections.abc import Iterator

_LIMIT_S = 30
_LIMIT_BYTES = 10 << 30


# Calls that are neither compared nor stored, as TensorFlow's answer is nothing to compare with: by
# op and kind (a kind may name the dtype of an input), the reason.
_CRASHES = "TensorFlow's process ends, or fills all memory"
_UNWRITTEN = "TensorFlow returns memory that it has not written"
_ORDER = "which sums of infinities are NaN depends on the order of an algorithm's steps"
_PACKETS = (
    "products and quotients of infinite complex numbers differ between the vectorized part of an "
    "array and its rest"
)
_GAPS = "zeros that TensorFlow puts between the gradients meet what is not finite"
_BEYOND = "TensorFlow reads memory beyond an input"
_RANGES = "steps and offsets of ranges that are not finite become integers"
_LARGEST = "what min and max make of NaN depends on the compiler"
_ENDLESS = "TensorFlow never ends drawing with an infinite rate"
_COMPLEX = {"nan complex64": _PACKETS, "nan complex128": _PACKETS}
_UNDEFINED: dict[str, dict[str, str]] = {
    "RFFT RFFT2D RFFT3D IRFFT IRFFT2D IRFFT3D": {"empty": _UNWRITTEN, "nan": _ORDER},
    "FFT FFT2D FFT3D IFFT IFFT2D IFFT3D": {"nan": _ORDER},
    "AudioSpectrogram CholeskyGrad Qr Svd": {"nan": _ORDER},
    "Cumprod Div DivNoNan Inv InvGrad Log1p MatrixTriangularSolve Mul MulNoNan RealDiv "
    "Reciprocal ReciprocalGrad RsqrtGrad SigmoidGrad SqrtGrad TanhGrad TridiagonalSolve "
    "Xdivy Xlog1py Xlogy": _COMPLEX,
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
    "RandomPoissonV2 StatelessRandomPoisson": {
        "nan": "of an infinite rate the loop never ends",
        "extreme int64": "what is accepted of such rates is decided by rounding alone",
    },
    "RandomUniformInt": {"extreme": "whether that many numbers fit depends on memory"},
    "EncodeJpegVariableQuality EncodePng": {"extreme": "bytes of other versions of libjpeg, zlib"},
    "ExtractGlimpse ExtractGlimpseV2": {"nan": "offsets that are no numbers become integers"},
    "FractionalAvgPoolGrad": {"extreme": _BEYOND},
    "FractionalMaxPool RGBToHSV": {"nan": _LARGEST},
    "FractionalMaxPoolGrad": {"nan": _LARGEST, "empty": _BEYOND, "scalar": _BEYOND},
    "QuantizeV2 QuantizedAdd QuantizedBiasAdd QuantizedConcat "
    "QuantizedConcatV2 QuantizedInstanceNorm QuantizedMul QuantizedRelu QuantizedRelu6 Requantize "
    "QuantizedMatMul QuantizedBatchNormWithGlobalNormalization": {"nan": _RANGES},
    "QuantizedConv2D": {"nan": _RANGES},
    "RequantizationRangePerChannel": {
        "extreme": "the lowest int32 has no absolute value, and the largest is it as a float",
    },
    "RequantizePerChannel": {"nan": _RANGES, "empty": "oneDNN refuses arrays without elements"},
    "BlockLSTMGrad BlockLSTMGradV2": {"empty": _BEYOND, "extreme": _BEYOND},
    "BlockLSTM BlockLSTMV2": {"extreme": _BEYOND},
    "CropAndResize": {"extreme": "arrays without elements, but longer than any can be"},
    "DataFormatDimMap": {"extreme": "axes that do not exist"},
    "NonMaxSuppressionV4 NonMaxSuppressionV5": {
        "extreme": "whether that many zeros fit depends on memory"
    },
    "QuantizeDownAndShrinkRange": {
        "nan": _RANGES,
        "extreme": "a number halfway between two levels goes as the last place of the range says",
    },
    "CropAndResizeGradBoxes CropAndResizeGradImage": {"nan": _CRASHES},
    "BatchMatMulV3": _COMPLEX,
    "Bincount": {"extreme": "whether that many bins fit depends on memory and threads"},
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
    "RandomPoisson RandomPoissonV2 StatelessRandomPoisson": {"nan": _ENDLESS},
    "NthElement ResourceScatterMax ResourceScatterMin ResourceScatterNdMax ResourceScatterNdMin "
    "ScatterMax ScatterMin ScatterNdMax ScatterNdMin SegmentMax SegmentMin TensorScatterMax "
    "TensorScatterMin TopKV2 UnsortedSegmentMax UnsortedSegmentMin": {"nan": _LARGEST},
    "BatchToSpace MatrixBandPart MatrixDiagV2 MatrixDiagV3 MirrorPadGrad Pad SpaceToBatch "
    "SpaceToBatchND": {
        "extreme": "sums of signed integers overflow",
    },
    "StatelessRandomBinomial": {"nan": "draws with a probability that is no number never end"},
    "MirrorPad": {"extreme int64": "sums of signed integers overflow"},
    "SobolSample": {"extreme": "from 2**30 on TensorFlow divides by an int that overflowed"},
    "ResourceGather": dict.fromkeys(
        ("empty", "scalar"), "with batch_dims it reads beyond indices that have other batches"
    ),
}
UNDEFINED = {op: reasons for ops, reasons in _UNDEFINED.items() for op in ops.split()}


def is_undefined(kind: str, row: samples.Sample) -> bool:
    """Whether TensorFlow's answer to the call is nothing to compare with."""
    known = UNDEFINED.get(row.op, {})
    if kind == "nan" and row.op.startswith(("MaxPool", "QuantizeAndDequantizeV")):
        # What is the largest, or the range if it is not given, depends on where NaN stand.
        is_given = row.attrs.get("range_given", "Grad" in row.op and row.op.startswith("Quant"))
        if not is_given and np.isnan(np.asarray(row.inputs[0], np.float64)).any():
            return True
    if row.op in ("QuantizedConv2D", "QuantizedMatMul") and 0 in np.shape(row.inputs[1])[:2]:
        return True  # no products, and sums that are not always written
    if row.op.startswith("ResourceScatter") and not row.op.startswith("ResourceScatterNd"):
        # Rows of updates that are shorter than the variable's are read beyond their end.
        _, indices, updates = _arrays(row)
        if np.size(indices) and not np.size(updates):
            return True
    if row.op == "OneHot" and np.asarray(row.inputs[1]).dtype == np.int64:
        return True  # its depth is an int32
    if row.op in ("_FusedConv2D", "_FusedMatMul"):
        # A bias that is shorter than the channels is read beyond its end.
        first, weights, *others = map(np.size, _arrays(row))
        if first and weights and not all(others):
            return True
    return kind in known or any(f"{kind} {np.asarray(x).dtype}" in known for x in _arrays(row))


@cache
def sampled() -> dict[str, list[samples.Sample]]:
    """The samples by op, those that must fail left out."""
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
            row = maker(Draw(zlib.crc32(name.encode()) + 7919 * (seed + number)), name)
            found += [row] if runs(row) else []
    rows = sampled().get(name, [])
    step = max(1, len(rows) // 3)
    return found + [row for row in rows[seed % step :: step][:3] if runs(row)]


def runs(row: samples.Sample) -> bool:
    """Whether the call succeeds here."""
    try:
        with np.errstate(all="ignore"):
            SampleRun(row).run()
    except (errors.OpError, ValueError, TypeError, LookupError):
        return False
    return True


def names_of(words: list[str]) -> list[str]:
    """The ops that the words name, all by default."""
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
    """The call, the outputs that TensorFlow never writes marked as undefined."""
    if row.op == "NonDeterministicInts":
        return replace(row, undefined=(0,))  # no two answers are the same
    if row.op in ("BlockLSTM", "BlockLSTMV2", "Conv2D") and not all(map(np.size, _arrays(row))):
        return replace(row, gradient=False)  # that of the weights stays unwritten
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
    """What differs; also a call that takes too long here."""

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
    """Whether the call agrees on any machine: with a gigabyte more than is in use by now."""
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
    """The calls to store of one op: of each kind two that give values and one that fails."""

    def __init__(self, writer: GoldenWriter) -> None:
        self.writer = writer
        self.counts: Counter[tuple[str, bool]] = Counter()

    def offer(self, kind: str, row: samples.Sample, answer: dict[str, Any]) -> None:
        """Stores the call if there is room for one of its sort."""
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
    """Compares; the exit status says whether all agreed."""
    parser = argparse.ArgumentParser(prog="python -m tests.random_calls.edge_calls")
    parser.add_argument("python", help="an interpreter with TensorFlow")
    parser.add_argument("words", nargs="*", metavar="OP | FAMILY")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=2, help="disagreements shown per op and kind")
    parser.add_argument("--found", type=Path, help="a file to add calls that disagree to")
    parser.add_argument("--store", action="store_true")
    options = parser.parse_args(arguments)
    resource.setrlimit(resource.RLIMIT_AS, (_LIMIT_BYTES, _LIMIT_BYTES))
    limit_thread(_LIMIT_BYTES)
    makers()
    names = names_of(options.words)
    writer = GoldenWriter(EDGES)
    if options.store and options.words and EDGES.exists():
        before = Golden(EDGES)
        for key in before.index:
            if key.split("-")[0] not in names:
                writer.add(key, before.get(key) or {})
    oracle = Oracle(options.python, limit_s=_LIMIT_S)
    sums: Counter[str] = Counter()
    for name in names:
        shown: Counter[str] = Counter()
        kept = Kept(writer)
        for kind, row in calls_of(name, options.seed, options.kinds.split(",")):
            answer = oracle.answer(row)
            if answer is None:
                sums["crashed"] += 1
                shown[f"{kind}, TensorFlow crashes"] += 1
                continue
            if re.search(r"Missing \d+-th output", answer.get("error", ["", ""])[1]):
                continue  # a kernel that forgets to answer
            lines = judged(row, answer)
            sums["disagree" if lines else "agree"] += 1
            sums["failed alike"] += not lines and "error" in answer
            if not lines:
                kept.offer(kind, row, answer)
            for line in lines:
                word = f"{kind} {line.split(':')[0]}"
                shown[word] += 1
                if shown[word] <= options.show:
                    print(f"{described(row)[:300]}\n    {kind} {brief(line)}", flush=True)
            if lines and options.found is not None:
                with options.found.open("ab") as file:
                    pickle.dump(row, file)
        if shown:
            print(f"== {name}: {dict(shown)}", flush=True)
    oracle.close()
    if options.store:
        writer.close()
    print(dict(sums))
    return int(bool(sums["disagree"]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
