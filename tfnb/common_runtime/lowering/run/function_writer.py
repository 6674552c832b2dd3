"""Writes the functions of partitions: all that ``step_way.py`` needs of it, behind one door.

``step_way.py`` imports this file when the first function is needed, since it brings in all that
recognises, rewrites and writes.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from tfnb.common_runtime.lowering.recognise.join import join
from tfnb.common_runtime.lowering.recognise.program import Unrecognised
from tfnb.common_runtime.lowering.rewrite.clusters import compute_over_input
from tfnb.common_runtime.lowering.run.lowered_step import LoweredStep
from tfnb.common_runtime.lowering.write.journal_writer import can_keep

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.common_runtime.device.device import Device
    from tfnb.common_runtime.executor.immutable_executor_state import (
        ImmutableExecutorState,
        NodeItem,
    )
    from tfnb.common_runtime.lowering.run.step_way import FunctionWriter
    from tfnb.common_runtime.lowering.support.journal import JournalKind

_log = logging.getLogger("tfnb")


class _Writer:
    def lower(
        self, immutable: ImmutableExecutorState, *, counts: bool, journal: JournalKind | None
    ) -> LoweredStep | None:
        try:
            return LoweredStep(immutable, counts=counts, journal=journal)
        except (Unrecognised, RecursionError, SyntaxError) as reason:
            _log.debug("A partition stays with the reference executor: %s", reason)
            return None

    def join(
        self, states: Sequence[ImmutableExecutorState], devices_to_sync: Sequence[Device]
    ) -> ImmutableExecutorState | None:
        return join(states, devices_to_sync)

    def can_keep(self, immutable: ImmutableExecutorState, keeps: tuple[str, ...]) -> bool:
        return can_keep(immutable, keeps)

    def compute_over_input(self, item: NodeItem, args: list[Any]) -> Any:
        return compute_over_input(item, args)


WRITER: FunctionWriter = _Writer()
