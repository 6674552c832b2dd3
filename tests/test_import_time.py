"""`import tfnb` imports only what every user needs."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

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


# A frozen graph: y = x + 2.
LOADED = """
import tfnb as tf
definition = tf.GraphDef()
for name, op in (("x", "Placeholder"), ("two", "Const"), ("y", "AddV2")):
    node = definition.node.add(name=name, op=op)
    node.attr["T" if op == "AddV2" else "dtype"].type = 1
node.input.extend(["x", "two"])
definition.node[1].attr["value"].tensor.CopyFrom(tf.make_tensor_proto(2.0))
with tf.Graph().as_default() as graph:
    tf.import_graph_def(definition, name="")
"""
ANSWERED = f"""{LOADED}
with tf.Session(graph=graph) as session:
    assert session.run("y:0", {{"x:0": 3.0}}) == 5
"""


def own_modules(loaded: set[str]) -> list[str]:
    """Return the names of tfnb's files and folders, without the namespaces of public names."""
    places = (Path(*name.split(".")) for name in loaded if name.startswith("tfnb"))
    return [str(one) for one in places if (ROOT / one).is_dir() or (ROOT / f"{one}.py").is_file()]


@pytest.mark.slow
@pytest.mark.parametrize(("script", "most"), [("import tfnb", 105), (LOADED, 105), (ANSWERED, 210)])
def test_the_first_answer_imports_few_modules(script: str, most: int) -> None:
    """Each module is 0.15 ms and more of the time to the first answer of a process."""
    assert len(own_modules(modules_after(script))) <= most


@pytest.mark.slow
def test_a_loaded_graph_imports_the_families_of_its_ops_only() -> None:
    """Gradients, operators and functions of graphs that are built need more."""
    loaded = modules_after(LOADED)

    assert "tfnb.ops.math.cwise_binary_ops" in loaded
    for name in ("math.math_ops", "math.cwise_unary_ops", "math.reduction_ops", "array.slice_ops"):
        assert f"tfnb.ops.{name}" not in loaded


@pytest.mark.slow
@pytest.mark.parametrize(
    ("use", "op"),
    [
        ("y + 1.0", "AddV2"),
        ("1.0 - y", "Sub"),
        ("np.ones(3, np.float32) * y", "Mul"),
        ("-y", "Neg"),
        ("y < 2.0", "Less"),
        ("y[0]", "StridedSlice"),
        ("tf.convert_to_tensor([y, 1.0])", "Pack"),
        ("tf.convert_to_tensor(range(3))", "Range"),
        ("tf.raw_ops.Pack(values=[y, y])", "Pack"),
        ("tf.gradients(y, graph.get_tensor_by_name('x:0'))[0]", "Reshape"),
    ],
)
def test_operators_and_conversions_work_in_a_process_that_only_loaded_a_graph(
    use: str, op: str
) -> None:
    """The first use imports the ops that it needs."""
    script = (
        f"{LOADED}\nimport numpy as np\ny = graph.get_tensor_by_name('y:0')\n"
        f"with graph.as_default():\n    assert ({use}).op.type == {op!r}, ({use}).op.type"
    )

    assert modules_after(script) > modules_after(LOADED)


@pytest.mark.slow
def test_sessions_accept_sparse_tensors_of_a_process_that_imported_them_later() -> None:
    """The conversions of SparseTensor and IndexedSlices are added once their modules are there."""
    assert modules_after(
        f"{ANSWERED}\n"
        "with graph.as_default(), tf.Session() as session:\n"
        "    sparse = tf.sparse_placeholder(tf.int32)\n"
        "    fed = session.run(sparse, {sparse: ([[1]], [8], [2])})\n"
        "    assert (fed.values[0], fed.indices[0, 0]) == (8, 1)\n"
        "    part = tf.constant([7])\n"
        "    slices = tf.IndexedSlices(part, part)\n"
        "    assert session.run(slices).indices[0] == 7\n"
    )


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
