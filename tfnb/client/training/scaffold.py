"""``tf.train.Scaffold``: the ops with which a training session begins, saves and reports."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Self

from tfnb.framework.collections import GraphKeys
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.scopes import add_to_collection, get_collection
from tfnb.library.control_flow.control_flow import group
from tfnb.library.tables.lookup import tables_initializer
from tfnb.library.training.resources import (
    initialize_resources,
    local_resources,
    report_uninitialized_resources,
    shared_resources,
)
from tfnb.library.training.saver import Saver
from tfnb.library.variables.variables import (
    global_variables,
    global_variables_initializer,
    local_variables_initializer,
    report_uninitialized_variables,
)
from tfnb.ops.array.concat_ops import concat
from tfnb.ops.io.summary_ops import merge_all

if TYPE_CHECKING:
    from collections.abc import Callable

EXPORTS = {"train": ["Scaffold"]}

_log = logging.getLogger("tensorflow")


class Scaffold:
    """Ops for a training session; missing ones are taken from collections, or made.

    Args:
        init_op: Initializes the variables.
        init_feed_dict: The feeds for the run of ``init_op``.
        init_fn: ``init_fn(scaffold, session)`` is called after ``init_op``.
        ready_op: Returns the names of variables that are not initialized.
        ready_for_local_init_op: Returns the names of global variables that are not initialized.
        local_init_op: Initializes local variables and tables.
        summary_op: Returns the summaries.
        saver: Saves and restores.
        copy_from_scaffold: Another scaffold, from which missing arguments are taken.
        local_init_feed_dict: The feeds for the run of ``local_init_op``.

    Raises:
        TypeError: ``copy_from_scaffold`` is not a scaffold.
    """

    def __init__(
        self,
        init_op: Any = None,
        init_feed_dict: Any = None,
        init_fn: Callable[[Scaffold, Any], Any] | None = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        local_init_op: Any = None,
        summary_op: Any = None,
        saver: Any = None,
        copy_from_scaffold: Scaffold | None = None,
        local_init_feed_dict: Any = None,
    ) -> None:
        other = copy_from_scaffold
        if other is not None and not isinstance(other, Scaffold):
            raise TypeError("copy_from_scaffold is not a Scaffold instance.")

        def chosen(given: Any, attribute: str) -> Any:
            return getattr(other, attribute) if given is None and other is not None else given

        self._user_init_fn = chosen(init_fn, "_user_init_fn")
        self._init_op = chosen(init_op, "_init_op")
        self._init_feed_dict = chosen(init_feed_dict, "_init_feed_dict")
        self._ready_op = chosen(ready_op, "_ready_op")
        self._ready_for_local_init_op = chosen(ready_for_local_init_op, "_ready_for_local_init_op")
        self._local_init_op = chosen(local_init_op, "_local_init_op")
        self._local_init_feed_dict = chosen(local_init_feed_dict, "_local_init_feed_dict")
        self._summary_op = chosen(summary_op, "_summary_op")
        self._saver = chosen(saver, "_saver")

    def finalize(self) -> Self:
        """Make the missing ops, and finalize the graph."""
        default = Scaffold.get_or_default
        if self._init_op is None:
            self._init_op = default("init_op", GraphKeys.INIT_OP, _default_init_op)
        if self._ready_op is None:
            self._ready_op = default("ready_op", GraphKeys.READY_OP, _default_ready_op)
        if self._ready_for_local_init_op is None:
            self._ready_for_local_init_op = default(
                "ready_for_local_init_op",
                GraphKeys.READY_FOR_LOCAL_INIT_OP,
                _default_ready_for_local_init_op,
            )
        if self._local_init_op is None:
            self._local_init_op = default(
                "local_init_op", GraphKeys.LOCAL_INIT_OP, Scaffold.default_local_init_op
            )
        if self._summary_op is None:
            self._summary_op = default("summary_op", GraphKeys.SUMMARY_OP, merge_all)
        if self._saver is None:
            self._saver = default("saver", GraphKeys.SAVERS, _default_saver)
        self._saver.build()
        get_default_graph().finalize()
        _log.info("Graph was finalized.")
        return self

    @property
    def init_fn(self) -> Callable[[Any], Any] | None:
        """The function that is called with the session after ``init_op``."""
        init_fn = self._user_init_fn
        return None if init_fn is None else lambda sess: init_fn(self, sess)

    @property
    def init_op(self) -> Any:
        """The op that initializes the variables."""
        return self._init_op

    @property
    def ready_op(self) -> Any:
        """The op that returns the names of variables that are not initialized."""
        return self._ready_op

    @property
    def ready_for_local_init_op(self) -> Any:
        """The op that returns the names of global variables that are not initialized."""
        return self._ready_for_local_init_op

    @property
    def local_init_op(self) -> Any:
        """The op that initializes local variables and tables."""
        return self._local_init_op

    @property
    def local_init_feed_dict(self) -> Any:
        """The feeds for the run of ``local_init_op``."""
        return self._local_init_feed_dict

    @property
    def summary_op(self) -> Any:
        """The op that returns the summaries."""
        return self._summary_op

    @property
    def saver(self) -> Any:
        """The saver."""
        return self._saver

    @property
    def init_feed_dict(self) -> Any:
        """The feeds for the run of ``init_op``."""
        return self._init_feed_dict

    @staticmethod
    def get_or_default(
        arg_name: str, collection_key: str, default_constructor: Callable[[], Any]
    ) -> Any:
        """Return the one element of a collection; if there is none, a new one, which is added.

        Raises:
            RuntimeError: The collection has several elements.
        """
        elements = get_collection(collection_key)
        if len(elements) > 1:
            raise RuntimeError(
                f'More than one item in the collection "{collection_key}". Please indicate which '
                "one to use by passing it to the tf.Scaffold constructor as:  "
                f"tf.Scaffold({arg_name}=item to use)"
            )
        if elements:
            return elements[0]
        made = default_constructor()
        if made is not None:
            add_to_collection(collection_key, made)
        return made

    @staticmethod
    def default_local_init_op() -> Any:
        """Initialize local variables, tables and local resources."""
        return group(
            local_variables_initializer(),
            tables_initializer(),
            initialize_resources(local_resources()),
        )


def _default_init_op() -> Any:
    return group(
        global_variables_initializer(),
        initialize_resources(shared_resources()),
        get_collection("saved_model_initializers"),
    )


def _default_ready_op() -> Any:
    return concat([report_uninitialized_variables(), report_uninitialized_resources()], 0)


def _default_ready_for_local_init_op() -> Any:
    of_variables = report_uninitialized_variables(global_variables())
    return concat([of_variables, report_uninitialized_resources(shared_resources())], 0)


def _default_saver() -> Saver:
    return Saver(sharded=True, allow_empty=True)
