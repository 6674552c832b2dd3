"""A step in several calls.

``partial_run_setup`` declares the step, each ``partial_run`` feeds and fetches a part of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.client.session import conversions
from tfnb.client.session.feeds import Feed, expand_feed_dict, fed_tensor
from tfnb.client.session.fetches import FetchMapper
from tfnb.client.session.session_errors import explain, explain_interrupt, out_of_memory
from tfnb.core import errors
from tfnb.core.resource_mgr import owned
from tfnb.framework.operation import Operation
from tfnb.framework.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tfnb.client.session.open_session import OpenSession


def setup(session: OpenSession, fetches: Any, feeds: Any) -> str:
    """Declare what the calls of one handle will feed and fetch, and start its executors."""
    session.check_runnable("partial_run_setup")
    graph = session.graph
    fed = [fed_tensor(graph, part) for key in _as_list(feeds) for part in _parts(key)]
    mapper = FetchMapper(graph, fetches)
    session.extend_graph([*mapper.slots, *fed])
    fetched = [element.name for element in mapper.slots if isinstance(element, Tensor)]
    targets = [element.name for element in mapper.slots if isinstance(element, Operation)]
    handle: str
    try:
        handle = session.runtime.partial_run_setup(
            [tensor.name for tensor in fed], fetched, targets
        )
    except errors.OpError as error:
        raise explain(error, graph, None) from error.__cause__
    except MemoryError as error:
        raise out_of_memory(error) from error
    return handle


def run(
    session: OpenSession, handle: str, fetches: Any, feed_dict: Mapping[Any, Any] | None
) -> Any:
    """Feed and fetch a part of the step."""
    try:
        return _run(session, handle, fetches, feed_dict)
    except MemoryError as error:
        raise out_of_memory(error) from error


def _run(
    session: OpenSession, handle: str, fetches: Any, feed_dict: Mapping[Any, Any] | None
) -> Any:
    session.check_runnable("partial_run")
    graph = session.graph
    given = expand_feed_dict(graph, feed_dict) if feed_dict else {}
    mapper = FetchMapper(graph, fetches)
    targets = [element.name for element in mapper.slots if isinstance(element, Operation)]
    if targets:
        raise RuntimeError(
            f"partial_run() requires empty `target_list`. Received: target_list={targets} "
            "(non-empty). Name operations in partial_run_setup; they run by themselves there."
        )
    feeds = {tensor: Feed(tensor, session.runtime) for tensor in given}
    unfed = [e for e in mapper.slots if isinstance(e, Tensor) and e not in feeds]
    wanted = [tensor.name for tensor in unfed]
    results: list[Any] = []
    if wanted or feeds:
        session.extend_graph([*unfed, *feeds])
        # The step continues after this call, so it needs its own copies of the values.
        values = {feed.name: owned(feed.convert(given[tensor])) for tensor, feed in feeds.items()}
        try:
            results = session.runtime.partial_run(handle, values, wanted)
        except errors.OpError as error:
            raise explain(error, graph, None) from error.__cause__
        except KeyboardInterrupt as interrupt:
            explain_interrupt(interrupt, graph)
            raise
    by_name = dict(zip(wanted, results))
    return mapper.build_results(
        [
            feeds[element].answer(given[element]) if element in feeds else _scalar(by_name, element)
            for element in mapper.slots
            if isinstance(element, Tensor)
        ]
    )


def _scalar(values: dict[str, Any], tensor: Tensor) -> Any:
    value = values[tensor.name]
    return value[()] if getattr(value, "ndim", None) == 0 else value


def _as_list(feeds: Any) -> list[Any]:
    if feeds is None:
        return []
    return list(feeds) if isinstance(feeds, list | tuple) else [feeds]


def _parts(key: Any) -> list[Any]:
    """Return the tensors of a key that was declared for feeding."""
    if isinstance(key, tuple | list):
        return [part for item in key for part in _parts(item)]
    conversion = None if isinstance(key, Tensor | str) else conversions.find(key)
    if conversion is None:
        return [key]
    if conversion.feed_for_partial_run is None:
        raise TypeError(
            f'"{type(key).__name__}" was registered without a function for feeding partial runs.'
        )
    return list(conversion.feed_for_partial_run(key))
