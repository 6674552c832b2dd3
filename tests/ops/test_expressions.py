"""An op's expression gives the bits of its kernel, and raises where the kernel does."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tfnb.ops.all_ops  # noqa: F401 - every op with an expression
from tests.joined import in_batches, in_one_test
from tfnb.common_runtime.device.cpu_device import CpuDevice
from tfnb.core import dtypes, op_registry
from tfnb.core.kernel_expressions import expressions_of, tile_of
from tfnb.core.op_kernel import create_kernel

_DTYPES = {
    "float16": dtypes.float16,
    "bfloat16": dtypes.bfloat16,
    "float32": dtypes.float32,
    "float64": dtypes.float64,
    "int8": dtypes.int8,
    "int32": dtypes.int32,
    "int64": dtypes.int64,
    "uint8": dtypes.uint8,
    "complex64": dtypes.complex64,
    "bool": dtypes.bool,
}
_FLOATS = [0.0, -0.0, 1.0, -1.5, 0.3, 7.0, 3e38, -3e38, 1e-40, np.inf, -np.inf, np.nan]
_WRITTEN = {name: one for name, one in op_registry.all_ops().items() if one.expressions}
_EXACT = {
    name: one
    for name, one in _WRITTEN.items()
    if all(expression.is_elementwise for expression in one.expressions)
}


def values_of(dtype):
    """Return ordinary and extreme numbers of a type, as scalars."""
    kind = dtype.numpy_dtype
    if dtype is dtypes.bool:
        return [np.True_, np.False_]
    if dtype.is_integer:
        limits = np.iinfo(kind)
        numbers = [0, 1, 2, 3, 7, limits.max, limits.min, limits.max - 1]
        return [kind.type(number) for number in numbers + ([] if limits.min == 0 else [-1, -7])]
    with np.errstate(all="ignore"):
        found = [kind.type(number) for number in _FLOATS]
        return [*found, -found[-1]]


def kernel_of(definition, dtype):
    """Return the op's kernel for a type, or None."""
    attrs = {"T": dtype, "incompatible_shape_error": True, "data_format": "NHWC"}
    types = {one.name: one for one in definition.op_def.attrs}
    if "T" in types:
        allowed = types["T"].allowed
        if allowed and dtype not in allowed:
            return None
    elif dtype is not dtypes.bool:
        return None
    return create_kernel(definition, "node", attrs, CpuDevice("/device:CPU:0", 0))


def function_of(expression, kernel):
    """Return the expression as a function of the op's inputs."""
    names = [one.name for one in kernel.definition.op_def.inputs]
    text = expression.write(
        {name: name for name in names},
        f"kernel({', '.join(names)})",
        {n: n for n in expression.names},
    )
    space = {**expression.names, "kernel": kernel.compute}
    return eval(f"lambda {', '.join(names)}: {text}", space)


def answer(function, args):
    """Return dtype, shape and bits; or that it raised."""
    try:
        with np.errstate(all="ignore"):
            found = function(*args)
    except Exception:
        return "an error"
    return str(np.asarray(found).dtype), np.shape(found), np.asarray(found).tobytes()


@in_batches("name", sorted(_EXACT))
@in_one_test("dtype", _DTYPES.values())
def test_an_expression_of_scalars_gives_the_kernels_bits(name, dtype):
    """All pairs of numbers are compared, with zeros of both signs, infinities and NaN."""
    kernel = kernel_of(_EXACT[name], dtype)
    if kernel is None:
        return
    count = len(kernel.definition.op_def.inputs)
    for expression in expressions_of(kernel):
        function = function_of(expression, kernel)
        for args in itertools.product(values_of(dtype), repeat=count):
            assert (args, answer(function, args)) == (args, answer(kernel.compute, args))


@in_batches("name", sorted(_EXACT))
@in_one_test("dtype", _DTYPES.values())
def test_an_expression_for_all_ranks_gives_the_kernels_bits(name, dtype):
    """Arrays, arrays with scalars, and arrays that do not fit are compared."""
    kernel = kernel_of(_EXACT[name], dtype)
    if kernel is None:
        return
    count = len(kernel.definition.op_def.inputs)
    flat = np.array(values_of(dtype), dtype.numpy_dtype)
    forms = [flat, flat[::-1].copy(), flat[:1].reshape(1, 1), flat[1], np.resize(flat, (2, 3))]
    for expression in expressions_of(kernel):
        if expression.scalars_only:
            continue
        function = function_of(expression, kernel)
        for args in itertools.product(forms, repeat=count):
            assert answer(function, args) == answer(kernel.compute, args)


_MATRICES = [(2, 3), (3, 2), (3, 3), (1, 1), (3,), (), (0, 3), (3, 0), (2, 3, 3), (60, 60)]
_MATRICES += [(3, 999), (999, 3)]


@pytest.mark.parametrize("dtype", _DTYPES.values(), ids=_DTYPES)
@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize("transpose_a", [False, True])
def test_a_product_of_matrices_gives_the_kernels_bits(transpose_a, transpose_b, dtype):
    """Matching, mismatching and invalid matrices, and larger ones, are compared."""
    definition = _WRITTEN["MatMul"]
    if dtype not in {one.name: one for one in definition.op_def.attrs}["T"].allowed:
        return
    attrs = {"T": dtype, "transpose_a": transpose_a, "transpose_b": transpose_b}
    kernel = create_kernel(definition, "node", attrs, CpuDevice("/device:CPU:0", 0))
    rng = np.random.default_rng(3)
    forms = [rng.integers(0, 9, shape).astype(dtype.numpy_dtype)[()] for shape in _MATRICES]
    expressions = expressions_of(kernel)
    assert len(expressions) == (dtype.is_floating and dtype.size > 2) + dtype.is_complex
    for expression in expressions:
        function = function_of(expression, kernel)
        for args in itertools.product(forms, repeat=2):
            assert answer(function, args) == answer(kernel.compute, args)


@pytest.mark.parametrize("dtype", _DTYPES.values(), ids=_DTYPES)
def test_a_sum_with_a_bias_gives_the_kernels_bits(dtype):
    """Matching and mismatching biases, values of every rank, and larger ones are compared."""
    kernel = kernel_of(_WRITTEN["BiasAdd"], dtype)
    if kernel is None:
        return
    rng = np.random.default_rng(3)
    values, biases = (
        [rng.integers(0, 9, shape).astype(dtype.numpy_dtype)[()] for shape in shapes]
        for shapes in (
            [(), (3,), (2, 3), (2, 1), (0, 3), (2, 2, 3), (3, 2), (999, 9)],
            [(), (3,), (1,), (9,), (0,), (1, 3)],
        )
    )
    (expression,) = expressions_of(kernel)
    function = function_of(expression, kernel)
    for args in itertools.product(values, biases):
        assert answer(function, args) == answer(kernel.compute, args)


def _kernel_with(name, **attrs):
    """Return an op's kernel for float32 and further attributes."""
    attrs = {"T": dtypes.float32, **attrs}
    return create_kernel(_WRITTEN[name], "node", attrs, CpuDevice("/device:CPU:0", 0))


_SHAPES = [(), (3,), (1, 3), (2, 3), (0, 3), (2, 1, 3), (3, 2)]


@pytest.mark.parametrize("index", [dtypes.int32, dtypes.int64], ids=["int32", "int64"])
def test_expressions_about_shapes_give_the_kernels_results(index):
    """Shape, Reshape to equal and other shapes, and sums over some axes or none are compared."""
    values = [np.arange(np.prod(one), dtype=np.float32).reshape(one)[()] for one in _SHAPES]
    values[1][0] = np.nan
    shape = _kernel_with("Shape", out_type=index)
    # The second array has the same sizes as the first, which the kernel keeps.
    sizes = [shape.compute(one) for one in values]
    sizes += [one.copy() for one in sizes] + [np.array([-1], index.numpy_dtype), sizes[3][None]]
    axes = [np.array(one, index.numpy_dtype) for one in ([], [0], [0, -1], 1, [5])]
    for kernel, others in (
        (shape, None),
        (_kernel_with("Reshape", Tshape=index), sizes),
        (_kernel_with("Sum", Tidx=index, keep_dims=True), axes),
        (_kernel_with("Sum", Tidx=index, keep_dims=False), axes),
    ):
        (expression,) = expressions_of(kernel)
        assert not expression.is_new
        function = function_of(expression, kernel)
        rest = [] if others is None else [others]
        for args in itertools.product(values, *rest):
            assert answer(function, args) == answer(kernel.compute, args)


def test_a_tensor_whose_shape_needs_more_bits_is_reshaped():
    """Its own shape is no int32, but others may be."""
    kernel = _kernel_with("Reshape", Tshape=dtypes.int32)
    (expression,) = expressions_of(kernel)
    function = function_of(expression, kernel)
    args = np.zeros((0, 2**31), np.float32), np.array([2, 0], np.int32)
    assert answer(function, args) == answer(kernel.compute, args)
    assert function(*args).shape == (2, 0)


_TILED = {name: one for name, one in op_registry.all_ops().items() if one.tile_expression}


@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("name", sorted(_TILED))
def test_a_tile_of_a_large_result_has_the_kernels_bits(name, dtype):
    """Tiles of arrays, scalars and vectors are compared; a tile may overwrite an input."""
    kernel = kernel_of(_TILED[name], dtype)
    expression = tile_of(kernel)
    names = [one.name for one in kernel.definition.op_def.inputs]
    text = expression.write(
        {one: one for one in [*names, "out"]}, "", {n: n for n in expression.names}
    )
    function = eval(f"lambda {', '.join(names)}, out: {text}", dict(expression.names))
    rng = np.random.default_rng(0)
    large = np.concatenate(
        [np.array(_FLOATS), rng.normal(0, 3, 300_000), np.array(_FLOATS)]
    ).astype(dtype.numpy_dtype)
    other = rng.permutation(large)
    number = dtype.numpy_dtype.type(0.0)
    rows = large[: large.size // 100 * 100].reshape(-1, 100)
    vector = other[:100]
    forms = [(large, other), (large, number), (number, large), (rows, vector), (vector, rows)]
    if expression.vector:
        forms = [(rows, vector)]
    if len(names) == 1:
        forms = [(large,)]
    for args in forms:
        size = max(args, key=np.size).shape
        with np.errstate(all="ignore"):
            wanted = kernel.compute(*args)
            for over in [None, *(i for i, arg in enumerate(args) if arg.shape == size)]:
                got = np.empty(size, large.dtype)
                for start in range(0, size[0], 65_536):
                    here = slice(start, start + 65_536)
                    tiles = [arg[here].copy() if arg.shape == size else arg for arg in args]
                    out = got[here] if over is None else tiles[over]
                    function(*tiles, out)
                    got[here] = out
                assert got.tobytes() == wanted.tobytes()


def test_there_are_expressions():
    """The table of expressions is not empty."""
    assert {"AddV2", "Less", "FloorMod", "LogicalNot", "Maximum"} <= set(_EXACT)
