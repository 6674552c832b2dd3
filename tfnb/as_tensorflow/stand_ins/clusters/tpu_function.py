"""``tensorflow.python.tpu.tpu_function``: whether a graph is built for TPUs."""


def get_tpu_context() -> None:
    """Return None: no graph is built for TPUs."""
