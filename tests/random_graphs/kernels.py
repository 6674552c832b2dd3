"""Ops with exactly defined results: the same bits in any order of computation.

Floats stay within a thousand of zero and are never summed by a kernel; integers wrap around.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.random_graphs.scopes import T32

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from tests.random_graphs.case import Value
    from tests.random_graphs.scopes import Scope, Tensor

SHAPES: list[tuple[int, ...]] = [(), (), (3,), (2, 2)]
NUMBERS = ["int32", "int32", "float32", "int64"]
LIMIT = 1000.0


def random_value(rng: random.Random, dtype: str, shape: tuple[int, ...]) -> Value:
    """Return small numbers, booleans, or short words."""
    count = 1
    for size in shape:
        count *= size
    make: dict[str, Callable[[], object]] = {
        "int32": lambda: rng.randint(-9, 9),
        "int64": lambda: rng.randint(-9, 9),
        "float32": lambda: rng.randint(-36, 36) / 4,
        "bool": lambda: rng.random() < 0.5,
        "string": lambda: rng.choice(["", "a", "bc", "déf"]),
    }
    return [dtype, list(shape), [make[dtype]() for _ in range(count)]]


def add_kernel(scope: Scope) -> None:
    """Adds one random node that the scope's tensors allow, or a constant."""
    rng = scope.graph.rng
    x = _pick(scope, lambda t: t.shape is not None)
    if x is None:
        scope.const(random_value(rng, rng.choice(NUMBERS), rng.choice(SHAPES)))
        return
    if rng.random() < 0.12:
        _any_type(scope, x)
    elif x.dtype == "bool":
        _logical(scope, x)
    elif x.dtype == "string":
        _string(scope, x)
    else:
        rng.choice([_unary, _binary, _binary, _binary, _compare, _cast, _shaped, _shaped])(scope, x)


def _pick(scope: Scope, fits: Callable[[Tensor], bool]) -> Tensor | None:
    found = [t for t in scope.tensors if fits(t)]
    # Recent tensors are the most interesting ones.
    found = found[-12:] if len(found) > 12 and scope.graph.rng.random() < 0.7 else found
    return scope.graph.rng.choice(found) if found else None


def clipped(scope: Scope, x: Tensor) -> Tensor:
    """Return a float within the limit; other types unchanged."""
    if x.dtype != "float32":
        return x
    scope.tensors.remove(x)
    low, high = (scope.const(["float32", [], [bound]], keep=False) for bound in (-LIMIT, LIMIT))
    return scope.add("ClipByValue", [x, low, high], [("float32", x.shape)], T=["type", "float32"])[
        0
    ]


def _any_type(scope: Scope, x: Tensor) -> None:
    rng = scope.graph.rng
    kind = ["type", x.dtype]
    op = rng.choice(["Identity", "IdentityN", "StopGradient", "Shape", "Size", "Rank", "Equal"])
    if op in ("Identity", "StopGradient"):
        scope.add(op, [x], [(x.dtype, x.shape)], T=kind)
    elif op == "IdentityN":
        inputs = [x, *rng.sample(scope.tensors, min(2, len(scope.tensors)))]
        types = [t.dtype for t in inputs]
        scope.add(op, inputs, [(t.dtype, t.shape) for t in inputs], T=["types", types])
    elif op in ("Size", "Rank"):
        scope.add(op, [x], [("int32", ())], T=kind)
    elif op == "Shape":
        scope.add(op, [x], [("int32", (len(x.shape or ()),))], T=kind)
    else:
        scope.add(op, [x, x], [("bool", x.shape)], T=kind)


def _logical(scope: Scope, x: Tensor) -> None:
    rng = scope.graph.rng
    op = rng.choice(["LogicalNot", "LogicalAnd", "LogicalOr", "All", "Select"])
    if op == "LogicalNot":
        scope.add(op, [x], [("bool", x.shape)])
    elif op == "Select":
        a = _pick(scope, lambda t: t.shape == x.shape)
        b = a and _pick(scope, lambda t: t.shape == x.shape and t.dtype == a.dtype)
        if a and b:
            scope.add(op, [x, a, b], [(a.dtype, a.shape)], T=["type", a.dtype])
    elif op == "All":
        if x.shape:
            axis = scope.const(["int32", [1], [0]], keep=False)
            scope.add(op, [x, axis], [("bool", x.shape[1:])], keep_dims=["bool", False])
    else:
        y = _pick(scope, lambda t: t.dtype == "bool" and t.shape in (x.shape, ())) or x
        scope.add(op, [x, y], [("bool", x.shape)])


def _string(scope: Scope, x: Tensor) -> None:
    op = scope.graph.rng.choice(["StringLength", "Equal", "StringToHashBucketFast"])
    if op == "StringLength":
        scope.add(op, [x], [("int32", x.shape)], unit=["text", "BYTE"])
    elif op == "Equal":
        y = _pick(scope, lambda t: t.dtype == "string" and t.shape == x.shape) or x
        scope.add(op, [x, y], [("bool", x.shape)], T=["type", "string"])
    else:
        scope.add(op, [x], [("int64", x.shape)], num_buckets=["int", 97])


def _unary(scope: Scope, x: Tensor) -> None:
    op = scope.graph.rng.choice(["Neg", "Abs", "Sign", "ZerosLike", "OnesLike", "Square"])
    made = scope.add(op, [x], [(x.dtype, x.shape)], T=["type", x.dtype])[0]
    if op == "Square":
        clipped(scope, made)


def _binary(scope: Scope, x: Tensor) -> None:
    rng = scope.graph.rng
    y = _pick(scope, lambda t: t.dtype == x.dtype and t.shape in (x.shape, ())) or x
    op = rng.choice(["Add", "AddV2", "Sub", "Maximum", "Minimum", "Mul", "SquaredDifference"])
    inputs = [x, y] if rng.random() < 0.5 else [y, x]
    if rng.random() < 0.08:
        # A divisor that is never zero.
        op, inputs = "FloorDiv", [x, scope.const([x.dtype, [], [rng.choice([-2, 1, 4])]], False)]
    made = scope.add(op, inputs, [(x.dtype, x.shape)], T=["type", x.dtype])[0]
    clipped(scope, made)


def _compare(scope: Scope, x: Tensor) -> None:
    y = _pick(scope, lambda t: t.dtype == x.dtype and t.shape in (x.shape, ())) or x
    op = scope.graph.rng.choice(["Less", "LessEqual", "Greater", "GreaterEqual", "NotEqual"])
    scope.add(op, [x, y], [("bool", x.shape)], T=["type", x.dtype])


def _cast(scope: Scope, x: Tensor) -> None:
    rng = scope.graph.rng
    to = rng.choice(["int32", "int64", "float32", "bool", "string"])
    if to == "string":
        if x.dtype != "float32":
            scope.add("AsString", [x], [("string", x.shape)], T=["type", x.dtype])
        return
    attrs = {"SrcT": ["type", x.dtype], "DstT": ["type", to]}
    clipped(scope, scope.add("Cast", [x], [(to, x.shape)], **attrs)[0])


def _shaped(scope: Scope, x: Tensor) -> None:
    """Ops that change the shape, with several inputs or outputs."""
    rng = scope.graph.rng
    kind = {"T": ["type", x.dtype]}
    index = {"Tidx": ["type", "int32"]}
    if x.shape == ():
        if rng.random() < 0.5:
            others = [_pick(scope, lambda t: (t.dtype, t.shape) == (x.dtype, ())) or x] * 2
            attrs = {"N": ["int", 3], "axis": ["int", 0]}
            scope.add("Pack", [x, *others], [(x.dtype, (3,))], **kind, **attrs)
        else:
            dims = scope.const(["int32", [2], [2, 2]], keep=False)
            scope.add("Fill", [dims, x], [(x.dtype, (2, 2))], **kind, index_type=["type", "int32"])
    elif x.shape == (3,):
        op = rng.choice(["Unpack", "TopKV2", "Unique", "ReverseV2", "GatherV2", "StridedSlice"])
        if op == "Unpack":
            outputs = [(x.dtype, ())] * 3
            scope.add(op, [x], outputs, **kind, num=["int", 3], axis=["int", 0])
        elif op == "TopKV2":
            k = scope.const(["int32", [], [3]], keep=False)
            outputs = [(x.dtype, (3,)), ("int32", (3,))]
            scope.add(op, [x, k], outputs, **kind, sorted=["bool", True])
        elif op == "Unique":
            outputs = [(x.dtype, None), ("int32", (3,))]
            scope.add(op, [x], outputs, **kind, out_idx=["type", "int32"])
        elif op == "ReverseV2":
            axis = scope.const(["int32", [1], [0]], keep=False)
            scope.add(op, [x, axis], [(x.dtype, (3,))], **kind, **index)
        elif op == "GatherV2":
            indices = scope.const(["int32", [3], [rng.randint(0, 2) for _ in range(3)]], False)
            axis = scope.const(["int32", [], [0]], keep=False)
            attrs = {"Tparams": ["type", x.dtype], "Tindices": ["type", "int32"]}
            attrs["Taxis"] = ["type", "int32"]
            scope.add(op, [x, indices, axis], [(x.dtype, (3,))], **attrs)
        else:
            begin = scope.const(["int32", [1], [rng.randint(0, 2)]], keep=False)
            one = scope.const(["int32", [1], [1]], keep=False)
            end = scope.add("AddV2", [begin, one], [("int32", (1,))], keep=False, **T32)[0]
            attrs = {**kind, "Index": ["type", "int32"], "shrink_axis_mask": ["int", 1]}
            scope.add(op, [x, begin, end, one], [(x.dtype, ())], **attrs)
    elif x.shape == (2, 2):
        op = rng.choice(["Transpose", "MatMul", "Split", "Max", "Reshape"])
        if op == "Transpose":
            perm = scope.const(["int32", [2], [1, 0]], keep=False)
            scope.add(op, [x, perm], [(x.dtype, (2, 2))], **kind, Tperm=["type", "int32"])
        elif op == "MatMul":
            if x.dtype == "int32":
                scope.add(op, [x, x], [(x.dtype, (2, 2))], **kind)
        elif op == "Split":
            axis = scope.const(["int32", [], [0]], keep=False)
            scope.add(op, [axis, x], [(x.dtype, (1, 2))] * 2, **kind, num_split=["int", 2])
        elif op == "Max":
            axis = scope.const(["int32", [2], [0, 1]], keep=False)
            scope.add(op, [x, axis], [(x.dtype, ())], **kind, **index)
        else:
            to = scope.const(["int32", [1], [4]], keep=False)
            scope.add(op, [x, to], [(x.dtype, (4,))], **kind, Tshape=["type", "int32"])
