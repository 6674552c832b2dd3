"""The plan of a run, which a session keeps so that a repeated run has almost no overhead.

A ``CallPlan`` belongs to one (fetch structure, feed keys): the converters of the feeds, the
runtime's executors for this signature, and the function that builds the results from flat values.
It is made once, with all checks, by ``Session._plan_for``; ``CallPlan.run`` then converts the
feeds, calls the runtime and builds the results.

A plan is immutable and may be used by several threads at once. It stays valid while the graph
grows, because ops are never changed or removed after they ran.
"""

from __future__ import annotations

import weakref
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from tfnb.client.session.feeds import Feed
from tfnb.client.session.tensor_handle import TensorHandle, is_handle_op
from tfnb.core import errors
from tfnb.core.process.later import later
from tfnb.framework.operation import Operation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tfnb.client.session import session_errors
    from tfnb.client.session.fetches import FetchMapper
    from tfnb.client.session.tensor_handle import HandleOwner
    from tfnb.framework.tensor import Tensor
else:
    session_errors = later("tfnb.client.session.session_errors", in_step=True)


class CallPlan:
    """One prepared run.

    Attributes:
        feeds: The fed tensors, in the order in which ``run`` takes their values.
        fetch_tensors: The tensors to fetch from the runtime; its values come in this order.
        targets: Operations that run for their effect.
        signature: The names of feeds, fetches and targets, in this order.
        executors: The runtime's executors, or None if no node has to run.
        graph: The user's graph.
        runtime: The runtime's session.
        num_marks: The number of marks against feeding or fetching in the graph when this was
            checked.
    """

    __slots__ = (
        "_answers",
        "_build_results",
        "_converters",
        "_finish",
        "_only_converter",
        "_only_operation",
        "_only_value",
        "_run_prepared",
        "executors",
        "feeds",
        "fetch_tensors",
        "graph",
        "num_marks",
        "runtime",
        "signature",
        "targets",
    )

    def __init__(self, session: HandleOwner, mapper: FetchMapper, fed: Iterable[Tensor]) -> None:
        # A plan does not reference its session, so that a session without references ends at once.
        self.runtime = runtime = session.runtime
        self.graph = session.graph
        self.num_marks = session.graph.num_access_marks
        self.feeds = [Feed(tensor, runtime) for tensor in fed]
        self._converters = [feed.convert for feed in self.feeds]
        self._only_converter = self._converters[0] if len(self._converters) == 1 else None
        positions = {feed.tensor: i for i, feed in enumerate(self.feeds)}
        self.fetch_tensors: list[Tensor] = []
        self.targets: list[Operation] = []
        # slot -> source of its value: ("value", i), ("feed", i) or None for an operation
        sources: list[tuple[str, int] | None] = []
        for element in mapper.slots:
            if isinstance(element, Operation):
                self.targets.append(element)
                sources.append(None)
            elif element in positions:
                sources.append(("feed", positions[element]))
            else:
                sources.append(("value", len(self.fetch_tensors)))
                self.fetch_tensors.append(element)
        self._build_results = mapper.build_results
        self._answers = sources if any(s is None or s[0] == "feed" for s in sources) else None
        is_single = len(sources) == 1 and isinstance(mapper.build_results, itemgetter)
        self._only_value = is_single and self._answers is None
        self._only_operation = is_single and sources[0] is None
        self._finish = _finisher(session, self.fetch_tensors)
        self.signature = (
            tuple(feed.name for feed in self.feeds),
            tuple(tensor.name for tensor in self.fetch_tensors),
            tuple(op.name for op in self.targets),
        )
        self._run_prepared = runtime.run_prepared
        self.executors: Any = None
        if self.fetch_tensors or self.targets:
            try:
                self.executors = runtime.prepare(*self.signature)
            except errors.OpError as error:
                raise session_errors.explain(error, self.graph, self) from error.__cause__
            except MemoryError as error:
                raise session_errors.out_of_memory(error) from error

    def run(self, values: Iterable[Any], options: Any = None, run_metadata: Any = None) -> Any:
        """Run one step; ``values`` are the user's values of ``feeds``, in order."""
        try:
            converters = self._converters
            converted: Sequence[Any] = ()
            if converters:
                if self._only_converter is not None:
                    (value,) = values
                    converted = [self._only_converter(value)]
                else:
                    converted = [convert(value) for convert, value in zip(converters, values)]
            results: list[Any]
            executors = self.executors
            if executors is None:
                results = []
            else:
                try:
                    if options is None and run_metadata is None and executors.quick is not None:
                        results = executors.quick(self.runtime, converted)
                    else:
                        results = self._run_prepared(executors, converted, options, run_metadata)
                except (errors.OpError, KeyboardInterrupt) as failure:
                    self._explain(failure)
                    raise
            if self._only_value:
                return results[0] if self._finish is None else self._finish(results)[0]
            if self._only_operation:
                return None
            if self._finish is not None:
                results = self._finish(results)
            if self._answers is not None:
                results = self._merge_answers(results, values)
            return self._build_results(results)
        except MemoryError as error:
            raise session_errors.out_of_memory(error) from error

    def without_feeds(self) -> Callable[[], Any]:
        """Return ``run(())`` as a function; the function is shorter if one value is fetched."""
        runtime, executors = self.runtime, self.executors
        if executors is None or not self._only_value or self._finish is not None:
            return lambda: self.run(())

        def run_alone() -> Any:
            if executors.quick is None:
                return self.run(())
            try:
                return executors.quick(runtime, ())[0]
            except (errors.OpError, KeyboardInterrupt) as failure:
                self._explain(failure)
                raise
            except MemoryError as error:
                raise session_errors.out_of_memory(error) from error

        return run_alone

    def _explain(self, failure: errors.OpError | KeyboardInterrupt) -> None:
        """Raise an error of the runtime with the user's names, or add the place to an interrupt."""
        if isinstance(failure, KeyboardInterrupt):
            session_errors.explain_interrupt(failure, self.graph)
        else:
            raise session_errors.explain(failure, self.graph, self) from failure.__cause__

    def _merge_answers(self, results: list[Any], values: Iterable[Any]) -> list[Any]:
        """Return one value per slot: fetched, taken from a feed, or None for an operation."""
        assert self._answers is not None
        given = list(values)
        return [
            None
            if source is None
            else results[source[1]]
            if source[0] == "value"
            else self.feeds[source[1]].answer(given[source[1]])
            for source in self._answers
        ]


def _finisher(
    session: HandleOwner, tensors: Sequence[Tensor]
) -> Callable[[list[Any]], list[Any]] | None:
    """Return a function that makes TensorHandles of fetched handles; None if none is fetched."""
    dtypes_of_handles = {
        i: tensor.op.get_attr("T") for i, tensor in enumerate(tensors) if is_handle_op(tensor.op)
    }
    if not dtypes_of_handles:
        return None

    session_ref = weakref.ref(session)

    def finish(values: list[Any]) -> list[Any]:
        owner = session_ref()
        assert owner is not None
        return [
            TensorHandle(value, dtypes_of_handles[i], owner) if i in dtypes_of_handles else value
            for i, value in enumerate(values)
        ]

    return finish
