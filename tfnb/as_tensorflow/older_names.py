"""Names of before TensorFlow 1.0 in the modules that the finder serves.

The first use of a name prints its newer name, once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from tfnb.as_tensorflow.public_api import tf
from tfnb.client import public

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class NewerName:
    """What an old name is today.

    Attributes:
      path: the public name, "nn.conv2d_transpose".
      adapt: makes the old form of it; None where both are the same.
    """

    path: str
    adapt: Callable[[Any], Any] | None = None

    def value(self) -> Any:
        """Return the object."""
        namespace, _, last = self.path.rpartition(".")
        found = public.resolve(namespace or "tf", last)
        return found if self.adapt is None else self.adapt(found)


@cache
def note_newer_name(namespace: str, name: str, newer: NewerName) -> None:
    """Print an old name's newer name, the first time."""
    full = name if namespace == "tf" else f"{namespace}.{name}"
    tf.logging.warning("tf.%s is from before TensorFlow 1.0: it is tf.%s now.", full, newer.path)


def _summary_of(summary: Any) -> Any:
    """Return the form of a summary whose first argument is the tag."""

    def of_tag(
        tag: Any, *given: Any, collections: Any = None, name: str | None = None, **more: Any
    ) -> Any:
        label = tag if isinstance(tag, str) else tf.get_static_value(tag)
        if isinstance(label, bytes):
            label = label.decode()
        if not isinstance(label, str):
            raise TypeError(f"the tag of a summary has to be one text, not {tag!r}")
        return summary(label, *given, collections=collections, **more)

    of_tag.__name__ = of_tag.__qualname__ = f"{summary.__name__}_summary"
    return of_tag


def _matmul_of_batches(matmul: Any) -> Any:
    def batch_matmul(
        x: Any, y: Any, adj_x: bool = False, adj_y: bool = False, name: str | None = None
    ) -> Any:
        return matmul(x, y, adjoint_a=adj_x, adjoint_b=adj_y, name=name)

    return batch_matmul


def _same(names: dict[str, str]) -> dict[str, NewerName]:
    return {old: NewerName(path) for old, path in names.items()}


_BATCH_FORMS = {
    f"batch_{name}": name
    for name in (
        "cholesky", "matrix_band_part", "matrix_determinant", "matrix_diag", "matrix_diag_part",
        "matrix_inverse", "matrix_set_diag", "matrix_solve", "matrix_solve_ls",
        "matrix_triangular_solve", "matrix_transpose", "self_adjoint_eig", "svd", "fft2d", "fft3d",
        "ifft2d", "ifft3d", "fft", "ifft",
    )
}  # fmt: skip

OLDER_NAMES: dict[str, dict[str, NewerName]] = {
    "tf": {
        **_same(_BATCH_FORMS),
        **_same(
            {
                "mul": "multiply",
                "sub": "subtract",
                "neg": "negative",
                "inv": "reciprocal",
                "pack": "stack",
                "unpack": "unstack",
                "select": "where",
                "listdiff": "setdiff1d",
                "complex_abs": "abs",
                "merge_summary": "summary.merge",
                "merge_all_summaries": "summary.merge_all",
                "initialize_all_tables": "tables_initializer",
                "random_crop": "image.random_crop",
            }
        ),
        "batch_matmul": NewerName("matmul", _matmul_of_batches),
        "scalar_summary": NewerName("summary.scalar", _summary_of),
        "histogram_summary": NewerName("summary.histogram", _summary_of),
        "image_summary": NewerName("summary.image", _summary_of),
        "audio_summary": NewerName("summary.audio", _summary_of),
    },
    "nn": _same(
        {
            "deconv2d": "nn.conv2d_transpose",
            "rnn": "nn.static_rnn",
            "bidirectional_rnn": "nn.static_bidirectional_rnn",
            "state_saving_rnn": "nn.static_state_saving_rnn",
        }
    ),
    "image": _same(
        {
            "per_image_whitening": "image.per_image_standardization",
            "random_crop": "image.random_crop",
        }
    ),
    "train": _same({"SummaryWriter": "summary.FileWriter"}),
    "summary": _same({"scalar_summary": "summary.scalar"}),
}
