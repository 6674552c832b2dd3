"""Source for a GPU that kernels write themselves, tested without a GPU.

Traced, interpreted, compiled.
"""

from __future__ import annotations

import ctypes
import itertools
import shutil
import subprocess

import ml_dtypes
import numpy as np
import pytest

import tfnb.ops.all_ops  # noqa: F401 - every op
from tests.common_runtime.device.cuda_interpreter import interpret
from tests.joined import in_batches
from tests.ops import samples
from tests.ops.kernel_runner import SampleRun
from tfnb.common_runtime.device.cpu_device import CpuDevice
from tfnb.common_runtime.lowering.support.cuda_functions import C_TYPES, literal
from tfnb.common_runtime.lowering.support.fused import (
    _Statements,
    num_functions,
    write_source,
)
from tfnb.common_runtime.lowering.support.traced import NotElementwise, TracedArray
from tfnb.core import dtypes, op_registry
from tfnb.core.op_kernel import create_kernel
from tfnb.core.resource_mgr import RefCell

F = np.dtype(np.float32)


def kernel(op, dtype=dtypes.float32, **attrs):
    """Return the kernel of a node of that op."""
    definition = op_registry.get(op)
    defaults = {one.name: one.default for one in definition.op_def.attrs if one.has_default}
    types = {one.name: dtype for one in definition.op_def.attrs if one.type == "type"}
    return create_kernel(definition, "n", defaults | types | attrs, CpuDevice("/cpu:0", 0))


def run(source, *inputs):
    """Return the result of the source for these arrays, broadcast as by CuPy."""
    with np.errstate(all="ignore"):
        found = interpret(source.operation, {f"in{i}": one for i, one in enumerate(inputs)})
    assert found.dtype == source.dtype
    return np.broadcast_to(found, source.shape)


def form(value):
    """Return the known dtype and shape of an array while source is written."""
    return value.dtype, value.shape


def test_source_of_three_nodes():
    """Each function is one statement, with CuPy's types, numbers and parameters."""
    members = [
        (kernel("Relu"), [0]),
        (kernel("Mul"), [(0,), np.float32(0.1)]),
        (kernel("AddV2"), [(1,), 1]),
    ]
    source = write_source(members, [(F, (2, 3)), (F, (3,))])
    assert source.in_params == "float32 in0, float32 in1"
    assert source.out_params == "float32 out"
    assert source.operation == (
        "const float v1 = tfnb::maximum_f(in0, float(0.0f));\n"
        "const float v2 = tfnb::multiply(v1, float(0.1f));\n"
        "const float v3 = tfnb::add(v2, in1);\n"
        "out = v3;"
    )
    assert source.preamble == (
        "namespace tfnb {\n"
        "template<class T> struct wide;\n"
        "template<> struct wide<float> { typedef float W; typedef float C; };\n"
        "template<class T> __device__ T add(T a, T b) "
        "{ typedef typename wide<T>::W W; return T(W(a) + W(b)); }\n"
        "template<class T> __device__ T maximum_f(T a, T b) "
        "{ typedef typename wide<T>::W W; return W(a) >= W(b) || W(a) != W(a) ? a : b; }\n"
        "template<class T> __device__ T multiply(T a, T b) "
        "{ typedef typename wide<T>::W W; return T(W(a) * W(b)); }\n"
        "}\n"
    )
    assert source.shape == (2, 3)


def test_types_change_inside_a_cluster():
    """A comparison, a choice and a cast change types; small integers become half precision."""
    members = [
        (kernel("Cast", SrcT=dtypes.int8, DstT=dtypes.half), [0]),
        (kernel("Less", dtypes.half), [(0,), 1]),
        (kernel("SelectV2", dtypes.half), [(1,), (0,), 1]),
    ]
    x, y = np.array([[3], [-7]], np.int8), np.array([-1, 5], np.float16)
    source = write_source(members, [form(x), form(y)])
    assert "#include <cupy/float16.cuh>" in source.preamble
    assert source.operation.startswith("const float16 v1 = tfnb::cast_half<float16>(in0);")
    np.testing.assert_array_equal(run(source, x, y), [[-1, 3], [-7, -7]])


@pytest.mark.parametrize(
    ("members", "inputs"),
    [
        ([("Sum", [0, 1])], [(F, (2, 3)), (np.dtype(np.int32), (1,))]),
        ([("MatMul", [0, 0])], [(F, (2, 2))]),
        ([("AddV2", [0, 1])], [(F, (2,)), (F, (3,))]),  # do not broadcast
        ([("Select", [0, 1, 1])], [(np.dtype(bool), ()), (F, (2,))]),  # looks at its condition
        ([("FloorDiv", [0, 0])], [(np.dtype(np.int32), (2,))]),  # looks for zeros
        ([("Mul", [0, 0])], [(np.dtype(np.complex64), (2,))]),
        ([("Shape", [0])], [(F, (2,))]),
    ],
)
def test_other_nodes_are_left_alone(members, inputs):
    """Nodes that move elements, read or refuse their inputs, or have other types are not fused."""
    types = {np.dtype(np.int32): dtypes.int32, np.dtype(np.complex64): dtypes.complex64}
    with pytest.raises(NotElementwise):
        write_source(
            [(kernel(op, types.get(inputs[-1][0], dtypes.float32)), args) for op, args in members],
            inputs,
        )


def test_only_a_shape_that_stays_is_a_reshape():
    """A reshape is fused only if the shape stays, so that elements keep their places."""
    source = _Statements()
    matrix, vector = (TracedArray(source, "in0", F, shape) for shape in ((2, 3), (3,)))
    assert matrix.reshape((2, 3)) is matrix.reshape(2, 3) is matrix
    assert vector.reshape((-1,)) is vector.reshape(-1) is vector
    for shape in ((-1,), (3, 2), (6,), (1, 2, 3)):
        with pytest.raises(NotElementwise):
            matrix.reshape(shape)


def test_a_divisor_that_is_known_is_checked_once():
    """Integers are divided by a known divisor other than zero.

    For zero the kernel raises its error.
    """
    x = np.array([7, -7, np.iinfo(np.int32).min], np.int32)
    for op, wanted in {"FloorDiv": x // 3, "FloorMod": x % 3}.items():
        source = write_source([(kernel(op, dtypes.int32), [0, np.int32(3)])], [form(x)])
        np.testing.assert_array_equal(run(source, x), wanted)
        with pytest.raises(NotElementwise, match="Integer division by zero"):
            write_source([(kernel(op, dtypes.int32), [0, np.int32(0)])], [form(x)])


@pytest.mark.parametrize(
    "value",
    [
        np.float32(0.1), np.float32(-0.0), np.float32(1e-45), np.float32(3.4028235e38),
        np.float32(np.inf), np.float32(np.nan), np.float64(0.1), np.float64(5e-324),
        np.float64(-np.inf), np.float16(0.1), np.float16(6e-8), ml_dtypes.bfloat16(0.1),
        np.int8(-128), np.uint8(255), np.int32(-(2**31)), np.uint32(2**32 - 1), np.int64(-(2**63)),
        np.int64(2**63 - 1), np.uint64(2**64 - 1), np.True_, np.False_,
    ],
)  # fmt: skip
def test_numbers_are_exact(value):
    """Numbers in the source are exact to the last bit."""
    found = interpret(f"const bool v1 = tfnb::isnan({literal(value)});\nout = v1;", {})
    assert found == np.isnan(value)
    text = f"const {C_TYPES[value.dtype.name]} v1 = tfnb::cast<{C_TYPES[value.dtype.name]}>"
    found = interpret(f"{text}({literal(value)});\nout = v1;", {})
    if value.dtype != bool:
        assert found.tobytes() == value.tobytes() or np.isnan(value)
    assert found.dtype == value.dtype


# -- every op, against its kernel


def elementwise_rows():
    """Return the stored samples of ops that can be fused, by op."""
    found = {}
    for name in samples.families():
        for row in samples.family(name):
            definition = op_registry.get(row.op)
            if row.error or not row.values or not definition.has_kernel("GPU"):
                continue
            sample = SampleRun(row)
            if any(not isinstance(one, np.ndarray) or one.dtype == object for one in sample.inputs):
                continue
            bound = create_kernel(definition, "n", sample.attrs, sample.device)
            forms = [form(one) for one in sample.inputs]
            try:
                source = write_source([(bound, range(len(forms)))], forms)
            except NotElementwise:
                continue
            found.setdefault(row.op, []).append((sample, source))
    return found


ROWS = elementwise_rows()


@in_batches("op", sorted(ROWS))
def test_the_source_gives_what_the_kernel_gives(op):
    """All stored samples of the op agree bit by bit, except for signs of zeros and NaNs."""
    for sample, source in ROWS[op]:
        assert not any(isinstance(one, RefCell) for one in sample.inputs)
        (wanted,) = sample.run()
        found = run(source, *sample.inputs)
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        wide = np.float32 if wanted.dtype == ml_dtypes.bfloat16 else wanted.dtype
        np.testing.assert_array_equal(found.astype(wide), wanted.astype(wide))


def test_the_usual_ops_can_be_written_down():
    """Arithmetic, activations and their gradients, comparisons, choices and casts can be fused."""
    usual = [
        "AddV2",
        "Sub",
        "Mul",
        "RealDiv",
        "Maximum",
        "Minimum",
        "SquaredDifference",
        "Pow",
        "Neg",
        "Abs",
        "Square",
        "Sqrt",
        "Rsqrt",
        "Exp",
        "Log",
        "Log1p",
        "Tanh",
        "TanhGrad",
        "Sigmoid",
        "SigmoidGrad",
        "Relu",
        "ReluGrad",
        "Relu6",
        "LeakyRelu",
        "Elu",
        "EluGrad",
        "Selu",
        "Softplus",
        "SoftplusGrad",
        "Sin",
        "Cos",
        "Floor",
        "Round",
        "Less",
        "Equal",
        "LogicalAnd",
        "SelectV2",
        "Select",
        "Cast",
        "AddN",
        "ClipByValue",
        "BiasAdd",
        "IsNan",
        "FloorMod",
        "BitwiseXor",
    ]
    assert [op for op in usual if op not in ROWS and op not in ("FloorMod",)] == []
    float32 = [F, F]
    counts = {op: num_functions(kernel(op), float32) for op in ("Mul", "BiasAdd", "TanhGrad")}
    assert counts == {"Mul": 1, "BiasAdd": 1, "TanhGrad": 3}
    assert num_functions(kernel("Identity"), float32[:1]) == 0
    assert num_functions(kernel("MatMul"), float32) == 0


# -- in C++

_HALVES = """
#include <cmath>
#include <cstring>
struct float16 {
  _Float16 data;
  float16() {} explicit float16(float v) : data(v) {} explicit float16(double v) : data(v) {}
  explicit float16(int v) : data(v) {} explicit float16(bool v) : data(v) {}
  explicit float16(long long v) : data(v) {} explicit float16(unsigned long long v) : data(v) {}
  operator float() const { return float(data); }
};
struct bfloat16 {
  unsigned short data;
  bfloat16() {}
  explicit bfloat16(float v) {
    unsigned bits; std::memcpy(&bits, &v, 4);
    data = v != v ? 0x7fc0 : (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  }
  explicit bfloat16(double v) : bfloat16(float(v)) {}
  operator float() const {
    unsigned bits = unsigned(data) << 16; float v; std::memcpy(&v, &bits, 4); return v;
  }
};
#define __device__ inline
"""


def c_program(sources):
    """Return a C function per source, over ``n`` elements of equally long inputs."""
    parts = [_HALVES]
    for number, source in enumerate(sources):
        # Each has a namespace of its own; CuPy's headers do not exist here.
        lines = [one for one in source.preamble.splitlines() if not one.startswith("#")]
        text = "\n".join(lines).replace(
            "namespace tfnb {", f"namespace f{number} {{ namespace tfnb {{", 1
        )
        params = [one.split() for one in source.in_params.split(", ")]
        loads = "".join(
            f"const {C_TYPES[dtype]} {name} = (({C_TYPES[dtype]}*)ins[{i}])[n];"
            for i, (dtype, name) in enumerate(params)
        )
        out = C_TYPES[source.dtype.name]
        parts.append(
            f'{text}\nextern "C" void run{number}(void** ins, {out}* outs, int count) {{\n'
            f"for (int n = 0; n < count; ++n) {{ {loads} {out} out;\n{source.operation}\n"
            "outs[n] = out; } }\n}"
        )
    return "\n".join(parts)


def compiled(sources, folder):
    """Return the compiled functions of the program."""
    (folder / "fused.cpp").write_text(c_program(sources))
    command = ["g++", "-O1", "-std=c++17", "-ffp-contract=off", "-shared", "-fPIC", "-w"]
    subprocess.run(
        [*command, "-o", str(folder / "fused.so"), str(folder / "fused.cpp")], check=True
    )
    library = ctypes.CDLL(str(folder / "fused.so"))
    return [getattr(library, f"run{number}") for number in range(len(sources))]


VALUES = [
    0.0,
    -0.0,
    1.0,
    -1.5,
    0.3,
    2.5,
    -2.5,
    7.0,
    3e38,
    1e-40,
    np.inf,
    -np.inf,
    np.nan,
    3e9,
    -1e19,
]


def operands(dtype, count):
    """Return all pairs (or triples) of ordinary and extreme numbers of a type."""
    with np.errstate(all="ignore"):
        if dtype.kind == "b":
            values = np.array([True, False])
        elif dtype.kind in "iu":
            limits = np.iinfo(dtype)
            edges = [limits.min, limits.max, 0, 1, 3, 7]
            values = np.array(edges + ([-1, -7] if limits.min else []), dtype)
        else:
            values = np.array(VALUES).astype(dtype)
    return [np.array(one, dtype) for one in zip(*itertools.product(values, repeat=count))]


@pytest.mark.slow
@pytest.mark.repeats
@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++")
def test_what_a_compiler_makes_of_it_gives_the_same(tmp_path):
    """Every function of the ops is compared, for all types, with extreme numbers."""
    cases = []
    for op, rows in ROWS.items():
        seen = set()
        for sample, source in rows:
            types = tuple(one.dtype for one in sample.inputs)
            if (source.operation, types) in seen or len(types) > 3:
                continue
            seen.add((source.operation, types))
            shapes = {one.shape for one in sample.inputs}
            inputs = [operands(one, len(types))[i] for i, one in enumerate(types)]
            least = min(len(one) for one in inputs)
            if len(shapes) == 1:
                inputs = [np.resize(one, max(len(x) for x in inputs)) for one in inputs]
                cases.append((op, source, inputs))
            assert least
    for dtype in (dtypes.int8, dtypes.uint8, dtypes.int32, dtypes.int64, dtypes.uint64):
        kind = dtype.numpy_dtype
        (x,) = operands(kind, 1)
        for op, divisor in itertools.product(("FloorDiv", "FloorMod", "TruncateDiv"), (3, -7, -1)):
            if divisor > 0 or dtype.limits[0] < 0:
                bound = kernel(op, dtype)
                source = write_source([(bound, [0, kind.type(divisor)])], [form(x)])
                cases.append((op, source, [x]))
    functions = compiled([source for _, source, _ in cases], tmp_path)
    with np.errstate(all="ignore"):
        for (op, source, inputs), function in zip(cases, functions, strict=True):
            wanted = np.asarray(
                interpret(source.operation, {f"in{i}": one for i, one in enumerate(inputs)})
            )
            found = np.empty(len(inputs[0]), source.dtype)
            pointers = (ctypes.c_void_p * len(inputs))(*[one.ctypes.data for one in inputs])
            function(pointers, ctypes.c_void_p(found.ctypes.data), len(found))
            compare(op, source, found, wanted)


def compare(op, source, found, wanted):
    """Compare exactly, or with a tolerance where no library rounds a function correctly."""
    message = f"{op}\n{source.operation}"
    if wanted.dtype.kind in "biu":
        np.testing.assert_array_equal(found, wanted, err_msg=message)
        return
    epsilon = float(ml_dtypes.finfo(wanted.dtype).eps)
    smallest = float(ml_dtypes.finfo(wanted.dtype).tiny)
    np.testing.assert_allclose(
        found.astype(np.float64),
        wanted.astype(np.float64),
        rtol=16 * epsilon,
        atol=4 * smallest,
        err_msg=message,
    )


# -- on a GPU


@pytest.mark.gpu
@in_batches("op", sorted(ROWS))
def test_a_gpu_computes_what_the_source_says(op):
    """CuPy compiles the source of every stored sample."""
    cupy = pytest.importorskip("cupy")
    for sample, source in ROWS[op]:
        inputs = [cupy.asarray(one) for one in sample.inputs]
        out = cupy.empty(source.shape, source.dtype)
        source.kernel(cupy)(*inputs, out)
        compare(op, source, out.get(), run(source, *sample.inputs))
