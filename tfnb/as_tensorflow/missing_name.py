"""Names of TensorFlow that tfnb does not have: refused where they are used, not where imported.

Programs import much that they never use. A missing name is a class: a module can import it, derive
from it, catch it and ask ``isinstance``. A call, an attribute or an item of it raises.
"""

from __future__ import annotations

from typing import Any, NoReturn


class _Refusing(type):
    """The class of missing names."""

    reason: str

    def _refuse(cls) -> NoReturn:
        raise NotImplementedError(cls.reason)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        cls._refuse()

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        cls._refuse()

    def __getitem__(cls, key: Any) -> Any:
        cls._refuse()

    def __repr__(cls) -> str:
        return f"<missing: {cls.reason}>"


def missing_name(module: str, name: str, advice: str = "") -> type:
    """Return what stands for a name of a module.

    Args:
      module: where TensorFlow has it.
      name: the name.
      advice: what to do; by default that the name is internal to TensorFlow.
    """
    why = advice or (
        "it is internal to TensorFlow, and tfnb has no name for it. Use a public name "
        "(tf.…) that does the same"
    )
    reason = f"'{module}.{name}' is not there: {why}."
    return _Refusing(name, (), {"reason": reason, "__module__": module, "__doc__": reason})


def is_missing(value: object) -> bool:
    """Return whether a value stands for a missing name."""
    return isinstance(value, _Refusing)


def reason_of(value: object) -> str:
    """Return why a missing name is missing."""
    assert isinstance(value, _Refusing)
    return value.reason.partition(": ")[2].rstrip(".")
