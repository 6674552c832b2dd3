"""`import tfnb` imports only what every user needs."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys

import pytest

OPTIONAL = [
    "IPython",
    "ipykernel",
    "ipywidgets",
    "anywidget",
    "graphviz",
    "PIL",
    "cupy",
    "grpc",
    "aiohttp",
    "dask",
    "distributed",
    "pandas",
    "tensorflow",
]
SELDOM_USED = [
    "summary_pb2",
    "event_pb2",
    "example_pb2",
    "saved_model_pb2",
    "saved_object_graph_pb2",
]


@functools.cache
def modules_after(statement: str) -> set[str]:
    """Return the names in sys.modules after a fresh interpreter has run a statement."""
    script = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=True
    )
    return set(json.loads(run.stdout))


@pytest.mark.slow
def test_importing_tfnb_imports_no_optional_package() -> None:
    """Jupyter, CuPy, gRPC, aiohttp and Dask are optional, and imported on first use."""
    loaded = modules_after("import tfnb")

    assert [name for name in OPTIONAL if name in loaded] == []


@pytest.mark.slow
def test_importing_tfnb_leaves_seldom_used_messages_alone() -> None:
    """Messages of summaries, examples and SavedModels are imported on first use."""
    loaded = modules_after("import tfnb")

    assert [name for name in SELDOM_USED if f"tfnb.proto.{name}" in loaded] == []


@pytest.mark.slow
def test_importing_tfnb_leaves_estimators_alone() -> None:
    """They are imported on first use; the names are known before."""
    names = "import tfnb; dir(tfnb.estimator)"

    assert not [name for name in modules_after(names) if "client.estimator" in name]
    loaded = modules_after("import tfnb; tfnb.estimator.ModeKeys")
    assert "tfnb.client.estimator.model_fn" in loaded
    assert "tfnb.client.estimator.canned.linear" not in loaded


@pytest.mark.slow
def test_an_op_imports_its_own_family_only() -> None:
    """Ops that a loop registers are found as the others are: no other families are imported."""
    finds = "import tfnb; from tfnb.core import op_registry; op_registry.get('{}')"
    for op, module in (("ApplyAdam", "state.training_ops"), ("FFT2D", "signal.fft_ops")):
        loaded = modules_after(finds.format(op))

        assert f"tfnb.ops.{module}" in loaded
        assert not [name for name in loaded if name.startswith(("tfnb.ops.image", "tfnb.ops.nn"))]


@pytest.mark.slow
def test_messages_need_the_compiled_implementation_only() -> None:
    """That in plain Python, and the reader of text, are imported where they are used."""
    loaded = modules_after("from tfnb.proto import graph_pb2; graph_pb2.GraphDef().node.add()")

    if "google._upb._message" in loaded:
        assert "google.protobuf.internal.python_message" not in loaded
        assert "google.protobuf.text_format" not in loaded


@pytest.mark.slow
def test_the_first_answer_imports_what_it_needs() -> None:
    """A frozen graph runs without logs, partial runs, callables, servers, unrelated families."""
    loaded = modules_after(
        "import tfnb as tf\n"
        "with tf.Graph().as_default() as graph:\n"
        "    tf.matmul(tf.placeholder(tf.float32, [1, 1], name='x'), [[2.0]], name='y')\n"
        "with tf.Session(graph=graph) as session:\n"
        "    assert session.run('y:0', {'x:0': [[3.0]]}) == 6\n"
    )

    assert "tfnb.ops.math.matmul_ops" in loaded
    rooms = ("client.session.partial_run", "client.session.callable", "core.cluster_spec")
    folders = ("common_runtime.session.callables", "distributed_runtime.grpc_channel")
    families = ("ops.array.matrix_diag_ops", "ops.array.space_ops", "ops.array.scatter_nd_ops")
    for name in ("logging", "ml_dtypes", *(f"tfnb.{one}" for one in (*rooms, *folders, *families))):
        assert name not in loaded


@pytest.mark.slow
@pytest.mark.parametrize("chosen", [{}, {"OPENBLAS_THREAD_TIMEOUT": "26"}])
def test_importing_tfnb_leaves_the_environment_alone(chosen: dict[str, str]) -> None:
    """NumPy's BLAS reads a variable, which is set only while NumPy is imported."""
    script = "import os; old = dict(os.environ); import tfnb; assert dict(os.environ) == old"
    environment = {key: value for key, value in os.environ.items() if "OPENBLAS" not in key}
    subprocess.run([sys.executable, "-c", script], env=environment | chosen, check=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "statement",
    [
        "import ml_dtypes; assert dt.as_dtype(ml_dtypes.int4) is dt.int4",
        "import ml_dtypes, numpy as np; assert dt.as_dtype(np.dtype(ml_dtypes.int4)) is dt.int4",
        "import ml_dtypes, numpy as np; assert dt.as_dtype(np.zeros(1, ml_dtypes.int4)) is dt.int4",
        "import ml_dtypes; assert dt.int4 == ml_dtypes.int4 and dt.int4 != ml_dtypes.uint4",
        "import numpy as np; assert np.dtype(dt.int4.as_numpy_dtype) == dt.int4.numpy_dtype",
        "assert dt.bfloat16.numpy_dtype.itemsize == dt.bfloat16.size == 2",
        "assert (dt.bfloat16.max > 1e38, dt.int4.min, dt.int4._as_ref.size) == (True, -8, 1)",
        "assert dt.int4._as_ref.as_numpy_dtype is dt.int4.as_numpy_dtype",
    ],
)
def test_types_that_numpy_lacks_are_added_when_they_are_used(statement: str) -> None:
    """The types of ml_dtypes are tfnb's, if it is imported before tfnb or after it."""
    before = "from tfnb.core import dtypes as dt; dt.as_dtype('bfloat16'); hasattr(dt.int4, 'none')"

    assert "ml_dtypes" not in modules_after(before)
    assert "ml_dtypes" in modules_after(f"{before}; {statement}")
