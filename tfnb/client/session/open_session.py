"""The interface of a session for those of its parts that are in separate files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from tfnb.client.session.tensor_handle import HandleOwner

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tfnb.client.session.call_plan import CallPlan
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor


class OpenSession(HandleOwner, Protocol):
    """A session that prepares and runs steps.

    Attributes:
        plans: (fetch structure, feed keys) -> the plan of an earlier run.
    """

    plans: dict[Any, CallPlan]

    def check_runnable(self, method: str) -> None:
        """Refuse to run in a closed session or an empty graph."""

    def extend_graph(self, needed: Sequence[Operation | Tensor] | None = None) -> None:
        """Send the ops that the runtime does not have yet, all or those that a run needs."""

    def run_with_options(
        self, plan: CallPlan, values: Iterable[Any], options: Any, run_metadata: Any
    ) -> Any:
        """Run a plan with the options of one run."""
