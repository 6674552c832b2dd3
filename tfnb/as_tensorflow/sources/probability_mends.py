"""What of TensorFlow Probability is changed as it is loaded."""

from __future__ import annotations

from tfnb.as_tensorflow.sources.mending import Mend

_MENDS = (
    Mend(
        "equal signatures",
        "functions of tf have arguments that came after that version",
        ("tensorflow_probability.python.internal.prefer_static",),
        ((r"^  if original_spec != \w+_spec:$", "  if False:"),),
    ),
)
# Module of TensorFlow Probability -> its changes.
MENDED: dict[str, tuple[Mend, ...]] = {
    module: tuple(mend for mend in _MENDS if module in mend.modules)
    for module in {module for mend in _MENDS for module in mend.modules}
}
