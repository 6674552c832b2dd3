"""`import tfnb` imports only what every user needs."""

from __future__ import annotations

import functools
import json
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
