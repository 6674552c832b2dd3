"""Prepared calls: ``Session.make_callable``, and callables from a ``CallableOptions`` message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.client.session.call_plan import CallPlan
from tfnb.client.session.feeds import Feed, fed_tensor
from tfnb.client.session.fetches import FetchMapper, structure_key
from tfnb.client.session.session_errors import explain, explain_interrupt, out_of_memory
from tfnb.core import errors
from tfnb.core.process.collector_pause import without_collector
from tfnb.proto.config_pb2 import CallableOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.client.session.open_session import OpenSession
    from tfnb.framework.graph import Graph
    from tfnb.framework.operation import Operation


def make_callable(
    session: OpenSession, fetches: Any, feed_list: Sequence[Any] | None, accept_options: bool
) -> Callable[..., Any]:
    """Return the result of ``Session.make_callable``."""
    if feed_list is not None and not isinstance(feed_list, list | tuple):
        raise TypeError(
            "Argument `feed_list` must be a list or tuple, in the order in which the values will "
            f'be passed, but got "{type(feed_list).__name__}".'
        )
    if feed_list:
        keys = tuple(feed_list)
        key = (structure_key(fetches), *keys)
        graph = session.graph

        def run_with_feeds(*values: Any, **options: Any) -> Any:
            plan = session.plans.get(key)
            if (
                plan is None
                or options
                or len(values) != len(keys)
                or plan.num_marks != graph.num_access_marks
            ):
                return session.run(fetches, dict(zip(keys, values)), **options)
            return plan.run(values)

        return run_with_feeds

    session.check_runnable("make_callable")
    mapper = FetchMapper(session.graph, fetches)
    with without_collector(session.graph.version):
        session.extend_graph(mapper.slots)
        plan = CallPlan(session, mapper, ())
    if accept_options:

        def run_with_options(options: Any = None, run_metadata: Any = None) -> Any:
            if options is None and run_metadata is None:
                return plan.run(())
            return session.run_with_options(plan, (), options, run_metadata)

        return run_with_options

    run_plan = plan.without_feeds()
    # A plan does not keep its session alive; a callable does.
    run_plan.__dict__["session"] = session
    return run_plan


class CallableFromOptions:
    """A call prepared in the runtime from a ``CallableOptions`` message.

    It takes one value per feed of the message, and returns a list with one value per fetch.
    """

    def __init__(self, session: OpenSession, callable_options: CallableOptions | bytes) -> None:
        if isinstance(callable_options, bytes):
            callable_options = CallableOptions.FromString(callable_options)
        self._session = session
        self._handle: int | None = None
        graph = session.graph
        session.extend_graph(_elements_of(graph, callable_options))
        # The runtime replaces a connected tensor, so that its placeholder takes no value here.
        tensors = [fed_tensor(graph, _with_port(name)) for name in callable_options.feed]
        self._feeds = [Feed(tensor, session.runtime) for tensor in tensors]
        try:
            self._handle = session.runtime.make_callable(callable_options)
        except errors.OpError as error:
            raise explain(error, graph, None) from error.__cause__

    def __call__(self, *values: Any, run_metadata: Any = None) -> list[Any]:
        """Run the step; ``run_metadata`` is filled according to the message's run options."""
        try:
            return self._run(values, run_metadata)
        except MemoryError as error:
            raise out_of_memory(error) from error

    def _run(self, values: Sequence[Any], run_metadata: Any) -> list[Any]:
        if len(values) == len(self._feeds):
            converted = [feed.convert(value) for feed, value in zip(self._feeds, values)]
        else:
            # The runtime checks the number of values.
            converted = [np.asarray(value) for value in values]
        try:
            results = self._session.runtime.run_callable(self._handle, converted, run_metadata)
        except errors.OpError as error:
            raise explain(error, self._session.graph, None) from error.__cause__
        except KeyboardInterrupt as interrupt:
            explain_interrupt(interrupt, self._session.graph)
            raise
        return [
            value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value
            for value in results
        ]

    def __del__(self) -> None:
        if self._handle is not None and not self._session.is_closed:
            self._session.runtime.release_callable(self._handle)


def _elements_of(graph: Graph, options: CallableOptions) -> list[Operation]:
    """Return the operations that a message names; the runtime reports unknown names."""
    names = [*options.feed, *options.fetch, *options.target]
    for connection in options.tensor_connection:
        names += [connection.from_tensor, connection.to_tensor]
    nodes = graph._nodes_by_name
    ops = [name.split(":")[0].removeprefix("^") for name in names]
    return [nodes[name] for name in ops if name in nodes]


def _with_port(name: str) -> str:
    return name if ":" in name else f"{name}:0"
