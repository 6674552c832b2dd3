"""``tf.contrib.quantize``: a module that programs import for an option; its functions refuse."""

from __future__ import annotations

from tfnb.as_tensorflow.missing_name import missing_name

_ADVICE = "train without it, and convert the weights afterwards"


def _missing(name: str) -> type:
    return missing_name("tf.contrib.quantize", name, _ADVICE)


create_eval_graph = _missing("create_eval_graph")
create_training_graph = _missing("create_training_graph")
experimental_create_eval_graph = _missing("experimental_create_eval_graph")
experimental_create_training_graph = _missing("experimental_create_training_graph")
