"""The optimizers that ``RewriterConfig`` and ``OptimizerOptions`` request, read as TensorFlow does.

The fields of ``RewriterConfig`` are toggles:  DEFAULT is on, OFF is off, ON and AGGRESSIVE are on.
``optimizers`` names the ones to run, in that order, and overrides the toggles; unknown names are
ignored, as in TensorFlow.  Two things differ: ``OptimizerOptions.opt_level = L0`` turns off every
optimizer that is not requested by name, so that one switch keeps every node of a graph unchanged;
and ``loop_optimization`` must be ON, so that a conditional on a constant still shows its dead
branch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.proto import config_pb2, rewriter_config_pb2

if TYPE_CHECKING:
    from tfnb.proto.rewriter_config_pb2 import RewriterConfig

_ON = (rewriter_config_pb2.RewriterConfig.ON, rewriter_config_pb2.RewriterConfig.AGGRESSIVE)
_DEFAULT = rewriter_config_pb2.RewriterConfig.DEFAULT

DEFAULT_ITERATIONS = 2
DEFAULT_MIN_GRAPH_NODES = 4

# Optimizers in the order they run, with the toggles that must not be off; "" is always on.
ORDER: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("pruning", ()),
    ("common_subgraph_elimination", ("common_subgraph_elimination", "arithmetic_optimization")),
    ("debug_stripper", ("debug_stripper",)),
    ("constfold", ("constant_folding",)),
    ("shape", ("shape_optimization",)),
    ("arithmetic", ("arithmetic_optimization",)),
    ("loop", ("loop_optimization",)),
    ("dependency", ("dependency_optimization",)),
)
# Off unless requested: the first changes the behaviour of a graph, the second hides dead branches.
_OFF_BY_DEFAULT = frozenset(["debug_stripper", "loop_optimization"])


def level_is_on(config: config_pb2.ConfigProto) -> bool:
    """Return whether ``OptimizerOptions.opt_level`` is L1, the default, or higher."""
    return config.graph_options.optimizer_options.opt_level >= config_pb2.OptimizerOptions.L1


def is_on(config: config_pb2.ConfigProto, toggle: str) -> bool:
    """Return whether a toggle of ``RewriterConfig`` is on for this session.

    >>> config = config_pb2.ConfigProto()
    >>> is_on(config, "constant_folding"), is_on(config, "debug_stripper")
    (True, False)
    >>> config.graph_options.optimizer_options.opt_level = -1
    >>> is_on(config, "constant_folding")
    False
    """
    rewrite = config.graph_options.rewrite_options
    if rewrite.disable_meta_optimizer:
        return False
    value = getattr(rewrite, toggle)
    if value == _DEFAULT:
        return toggle not in _OFF_BY_DEFAULT and level_is_on(config)
    return value in _ON


def optimizers(config: config_pb2.ConfigProto) -> tuple[str, ...]:
    """Return the names of the optimizers to run, in order.

    >>> config = config_pb2.ConfigProto()
    >>> config.graph_options.rewrite_options.constant_folding = 2
    >>> "constfold" in optimizers(config), "arithmetic" in optimizers(config)
    (False, True)
    >>> config.graph_options.rewrite_options.optimizers.extend(["constfold", "unknown", "pruning"])
    >>> optimizers(config)
    ('constfold', 'pruning')
    """
    rewrite = config.graph_options.rewrite_options
    if rewrite.disable_meta_optimizer:
        return ()
    known = {name for name, _ in ORDER}
    if rewrite.optimizers:
        return tuple(name for name in rewrite.optimizers if name in known)
    return tuple(name for name, toggles in ORDER if _runs(config, rewrite, name, toggles))


def _runs(
    config: config_pb2.ConfigProto, rewrite: RewriterConfig, name: str, toggles: tuple[str, ...]
) -> bool:
    if name == "pruning":
        return level_is_on(config) and not rewrite.disable_model_pruning
    return all(is_on(config, toggle) for toggle in toggles)


def iterations(config: config_pb2.ConfigProto) -> int:
    """Return the maximum number of rounds of all optimizers."""
    asked = config.graph_options.rewrite_options.meta_optimizer_iterations
    return int(asked) or DEFAULT_ITERATIONS


def min_graph_nodes(config: config_pb2.ConfigProto) -> int:
    """Return the size below which graphs are not optimized; negative in the configuration: none."""
    return config.graph_options.rewrite_options.min_graph_nodes or DEFAULT_MIN_GRAPH_NODES
