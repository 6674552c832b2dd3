"""`make quick` runs the tests that cover the changed files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from scripts.quick import related_tests

if TYPE_CHECKING:
    from collections.abc import Mapping


def house(root: Path, files: Mapping[str, str]) -> Path:
    """Make a checkout with these files."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A checkout with three rooms."""
    return house(
        tmp_path,
        {
            "tfnb/core/errors.py": "",
            "tfnb/ops/relu_ops.py": '@register_op(\n    "Relu", "x: T -> y: T")',
            "tfnb/ops/other_ops.py": '@register_op("Other", "")',
            "tests/core/test_errors.py": "",
            "tests/ops/nn/test_relus.py": "from tfnb.ops import relu_ops",
            "tests/library/nn/test_relu_layers.py": "from tfnb.ops import relu_ops",
            "tests/ops/test_graphs.py": 'create_op("Relu")',
            "tests/ops/test_words.py": "Relu6, relu_ops_old",
            "tests/ops/test_samples.py": "",
            "tests/ops/nn/samples_nn.py": 'op("Other")',
            "labextension/src/a.ts": "",
        },
    )


@pytest.mark.parametrize(
    ("changed", "wanted"),
    [
        (["tfnb/core/errors.py"], ["tests/core"]),
        (["tfnb/core/errors.py", "tests/core/test_errors.py"], ["tests/core"]),
        (["tests/core/test_errors.py"], ["tests/core/test_errors.py"]),
        (
            ["tfnb/ops/relu_ops.py"],
            [
                "tests/library/nn/test_relu_layers.py",
                "tests/ops/nn/test_relus.py",
                "tests/ops/test_graphs.py",
            ],
        ),
        (["tfnb/ops/other_ops.py"], ["tests/ops/test_samples.py"]),
        (["labextension/src/a.ts"], ["tests/notebook/test_static.py"]),
        (["README.md"], []),
    ],
)
def test_tests_that_know_a_changed_file_run(
    root: Path, changed: list[str], wanted: list[str]
) -> None:
    """These are a folder's tests, or for ops the tests that name the module or its ops."""
    assert related_tests([Path(name) for name in changed], root) == wanted
