"""``tf.estimator.WarmStartSettings``: which variables begin with values of a checkpoint."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from tfnb.client.public.api import tf
from tfnb.library.training.init_from_checkpoint import VocabInfo as VocabInfo

if TYPE_CHECKING:
    from collections.abc import Mapping

EXPORTS = {"estimator": ["VocabInfo", "WarmStartSettings"]}


class _Settings(NamedTuple):
    ckpt_to_initialize_from: str
    vars_to_warm_start: Any
    var_name_to_vocab_info: Any
    var_name_to_prev_var_name: Any


class WarmStartSettings(_Settings):
    """The variables that begin with the values of a checkpoint.

    Args:
        ckpt_to_initialize_from: A checkpoint, or a folder with checkpoints.
        vars_to_warm_start: A regular expression for trainable variables; a list of regular
            expressions for all variables, or of variables; None for those with a vocabulary.
        var_name_to_vocab_info: Name -> the vocabularies of the variable then and now.
        var_name_to_prev_var_name: Name -> the name in the checkpoint.

    Raises:
        ValueError: There is no checkpoint.
    """

    def __new__(
        cls,
        ckpt_to_initialize_from: str,
        vars_to_warm_start: Any = ".*",
        var_name_to_vocab_info: Mapping[str, Any] | None = None,
        var_name_to_prev_var_name: Mapping[str, str] | None = None,
    ) -> Self:
        """See the class."""
        if not ckpt_to_initialize_from:
            raise ValueError("`ckpt_to_initialize_from` MUST be set in WarmStartSettings")
        return super().__new__(
            cls,
            ckpt_to_initialize_from,
            vars_to_warm_start,
            var_name_to_vocab_info or {},
            var_name_to_prev_var_name or {},
        )


def warm_start_settings(given: Any) -> WarmStartSettings | None:
    """Return the settings that the argument ``warm_start_from`` means.

    Args:
        given: Settings, a checkpoint, a folder with checkpoints, the folder of an exported model,
            or None.

    Raises:
        ValueError: It is something else.
    """
    if given is None or isinstance(given, WarmStartSettings):
        return given
    if not isinstance(given, str | bytes | os.PathLike):
        raise ValueError(
            f"warm_start_from must be a string or a WarmStartSettings, instead got {type(given)}"
        )
    path = os.fsdecode(given)
    variables = os.path.join(path, "variables", "variables")
    if tf.gfile.Exists(f"{variables}.index"):
        tf.logging.info("Warm-starting from a SavedModel")
        return WarmStartSettings(variables)
    return WarmStartSettings(path)
