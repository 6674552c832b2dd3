"""Rows for variables: assignment, scattering, gathering."""

from __future__ import annotations

import numpy as np

from tests.ops.samples import (
    NUMBERS,
    Resource,
    Sample,
    Uninitialized,
    checked,
    normal,
    op,
    sweep,
)

I64 = np.int64
F = {"dtype": "float32"}
_OUT_OF_RANGE = "indices\\[1\\] = 5 is not in \\[0, 4\\)"
SAMPLES: list[Sample | list[Sample]] = []


def _add(*rows: Sample | list[Sample]) -> None:
    SAMPLES.extend(rows)


def _assignment() -> None:
    x, y = normal(2, 3), normal(2, 3, seed=1)
    _add(
        sweep(f"{NUMBERS} bool string", "Assign", [1, 2], [3, 4]),
        # The graph of the gradient has no uninitialized variable.
        checked(op("Assign", Uninitialized("float32", (2, 3)), x), gradient=False),
        op("Assign", np.float32(1), np.float32(2)),
        op("Assign", x, normal(3), error="lhs shape= \\[2,3\\] rhs shape= \\[3\\]|rank"),
        checked(op("Assign", x, normal(3), validate_shape=False), gradient=False),
        op("Assign", x, y, use_locking=False),
        sweep(NUMBERS, "AssignAdd", [1, 2], [3, 4]),
        sweep(NUMBERS, "AssignSub", [1, 2], [3, 4]),
        op("AssignAdd", np.float32(1), np.float32(2)),
        op("AssignAdd", x, normal(3), error="same size|rank"),
        op("IsVariableInitialized", x),
        op("IsVariableInitialized", Uninitialized("float32", (2,))),
        op("CountUpTo", np.int32(3), limit=5),
        op("CountUpTo", np.int64(3), limit=5),
        op("CountUpTo", np.int32(5), limit=5, error="Reached limit of 5"),
        op("AssignVariableOp", Resource(x), y),
        op("AssignVariableOp", Resource(x), y, validate_shape=True),
        op("AssignAddVariableOp", Resource(x), y),
        op("AssignSubVariableOp", Resource(x), y),
        op("AssignAddVariableOp", Resource(np.float32(1)), np.float32(2)),
        op("AssignAddVariableOp", Resource(x), normal(3), error="Cannot update variable|rank"),
        op("ReadVariableOp", Resource(x), dtype="float32"),
        op("VarIsInitializedOp", Resource(x)),
        op("VariableShape", Resource(x)),
        op("VariableShape", Resource(x), out_type="int64"),
        op("ResourceCountUpTo", Resource(np.int32(3)), limit=5, T="int32"),
    )


def _scattering() -> None:
    x = normal(4, 3)
    kinds = {
        "Update": f"{NUMBERS} bool",
        "Add": NUMBERS,
        "Sub": NUMBERS,
        "Mul": NUMBERS,
        "Div": "float double int32 int64 half bfloat16",
        "Min": "float double int32 int64 half bfloat16",
        "Max": "float double int32 int64 half bfloat16",
    }
    for kind, types in kinds.items():
        for prefix in ("Scatter", "ResourceScatter"):

            def held(value: object, prefix: str = prefix) -> object:
                return value if prefix == "Scatter" else Resource(value)

            name = prefix + kind
            few = types if prefix == "Scatter" else "float int32"
            _add(
                sweep(few, name, held([8, 9, 7]), np.array([2, 0], np.int32), [3, 2], fixed=(1,)),
                op(name, held(x), [0, 2], normal(2, 3, seed=1)),
                op(name, held(x), np.array([[0], [1]], I64), normal(2, 1, 3, seed=1)),
                op(name, held(x), [3], np.float32(2)),
                op(name, held(x), 1, normal(3, seed=1)),
                op(name, held(x), np.zeros(0, np.int32), np.zeros((0, 3), np.float32)),
                op(name, held(x), [1, 1, 1, 0, 1], normal(5, 3, seed=1)),
                op(name, held(x), [0, 5], normal(2, 3), error=_OUT_OF_RANGE),
            )
        _add(op(f"Scatter{kind}", x, [0], normal(1, 2), error="Must have updates.shape|equal"))
    _add(op("ScatterAdd", np.float32(1), [0], normal(1), error="at least (1-D|rank 1)"))
    gathered = Resource(x)
    for kind in ("Update", "Add", "Sub", "Min", "Max"):
        _add(
            op(f"ScatterNd{kind}", x, [[0], [2]], normal(2, 3, seed=1)),
            op(f"ScatterNd{kind}", x, [[0, 1], [2, 2], [3, 0]], normal(3, seed=1)),
            op(f"ResourceScatterNd{kind}", Resource(x), [[0, 1], [2, 2]], normal(2, seed=1)),
        )
    _add(
        op("ScatterNdAdd", x, [[0, 0], [0, 0], [1, 1]], normal(3, seed=1)),
        op(
            "ScatterNdUpdate",
            x,
            [[0, 5]],
            normal(1),
            error="indices\\[0\\] = \\[0, 5\\] does not index into shape \\[4,3\\]",
        ),
        op("ScatterNdUpdate", x, [[0]], normal(1, 2), error="must match"),
        op("ResourceGather", gathered, [[0, 2], [3, 0]], **F),
        op("ResourceGather", gathered, 1, **F),
        op("ResourceGather", gathered, np.array([[0], [1], [2], [1]], I64), **F, batch_dims=1),
        op(
            "ResourceGather", gathered, [0, 4], **F, error="indices\\[1\\] = 4 is not in \\[0, 4\\)"
        ),
        op("ResourceGatherNd", gathered, [[0, 1], [3, 2]], **F),
        op("ResourceGatherNd", gathered, [[1], [2]], **F),
    )


_assignment()
_scattering()
