"""``tf.contrib.tfprof.model_analyzer``: what a graph costs, printed."""

from __future__ import annotations

from typing import Any

from tfnb.client.public.api import tf

_BUILDER = tf.profiler.ProfileOptionBuilder
TRAINABLE_VARS_PARAMS_STAT_OPTIONS = _BUILDER.trainable_variables_parameter()
FLOAT_OPS_OPTIONS = _BUILDER.float_operation()
PRINT_ALL_TIMING_MEMORY = _BUILDER.time_and_memory()


def print_model_analysis(
    graph: Any,
    run_meta: Any = None,
    op_log: Any = None,
    tfprof_cmd: str = "scope",
    tfprof_options: dict[str, Any] | None = None,
) -> Any:
    """Print a view of a graph's costs and return it as a message, as ``tf.profiler.profile``."""
    options = TRAINABLE_VARS_PARAMS_STAT_OPTIONS if tfprof_options is None else tfprof_options
    return tf.profiler.profile(graph, run_meta, op_log, tfprof_cmd, options)
