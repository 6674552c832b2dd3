"""Store TensorFlow's public names, and the parameters of its functions and classes.

    python scripts/oracle/public_names.py     # in an environment with TensorFlow

Writes ``tests/golden/public_names.txt``, from which the table of docs/compatibility.md comes, and
``tests/golden/signatures.txt``: a line per function, class and method, with its parameters in the
form of ``tests/client/public/signature_text.py``.
"""

from __future__ import annotations

import inspect
import os
import sys
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.client.public.signature_text import parameters_of  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

# Not part of TensorFlow 1's Python API, or compared elsewhere.
_NOT_ENTERED = frozenset(
    (
        "compat",
        "keras",
        "estimator",
        "raw_ops",
        "layers",
        "lite",
        "mock",
        "tf_decorator",
        "rnn_cell",
    )
)
# Functions and classes of these are not compared: they are for several machines or other devices,
# or aliases.
_NOT_COMPARED = ("tf.app.flags.", "tf.distribute.", "tf.tpu.", "tf.mixed_precision.")


def namespaces(tf: Any) -> Iterator[tuple[str, Any, list[str]]]:
    """Yield every namespace with its object and its public names."""
    waiting = [("tf", tf)]
    while waiting:
        full, namespace = waiting.pop(0)
        names = []
        for name in sorted(_dir(namespace)):
            if name.startswith("_") or name == "v1":
                continue
            try:
                value = getattr(namespace, name)
            except (AttributeError, ImportError):  # it needs a package that is not there
                continue
            names.append(name)
            if isinstance(value, types.ModuleType) and name not in _NOT_ENTERED:
                waiting.append((f"{full}.{name}", value))
        if names:
            yield full, namespace, names


def _dir(namespace: Any) -> list[str]:
    # A lazy module without its package has no names at all.
    try:
        return dir(namespace)
    except ImportError:
        return []


def signatures(full: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield (name, parameters) of a function, or of a class and its methods."""
    from tensorflow.python.util import tf_inspect

    def text_of(function: Any, skip: int = 0) -> str | None:
        try:
            found = list(tf_inspect.signature(function).parameters.values())
        except (TypeError, ValueError):
            return None
        return parameters_of(found[skip:])

    if not inspect.isclass(value):
        text = text_of(value) if callable(value) else None
        if text is not None:
            yield full, text
        return
    if issubclass(value, tuple) or type(value).__name__ == "GeneratedProtocolMessageType":
        return
    text = text_of(value.__init__, 1)
    if text is not None:
        yield full, text
    for name in sorted(dir(value)):
        member = inspect.getattr_static(value, name)
        if name.startswith("_") or isinstance(member, property) or inspect.isclass(member):
            continue
        if callable(getattr(value, name, None)):
            text = text_of(getattr(value, name))
            if text is not None:
                yield f"{full}.{name}", text


def main() -> None:
    """Write both files."""
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    tf.logging.set_verbosity(tf.logging.ERROR)
    names, lines = [], {}
    for full, namespace, found in namespaces(tf):
        names.append(f"{full}: {' '.join(found)}")
        for name in found:
            lines.update(signatures(f"{full}.{name}", getattr(namespace, name)))
    target = ROOT / "tests" / "golden" / "public_names.txt"
    target.write_text("\n".join(sorted(names)) + "\n")
    target = ROOT / "tests" / "golden" / "signatures.txt"
    lines = {full: text for full, text in lines.items() if not full.startswith(_NOT_COMPARED)}
    target.write_text("".join(f"{full}({lines[full]})\n" for full in sorted(lines)))
    sys.stdout.write(f"{len(names)} namespaces, {len(lines)} signatures\n")


if __name__ == "__main__":
    main()
