"""``tf.make_template``: functions that make variables in their first call and then share them."""

from __future__ import annotations

import functools
import traceback
from typing import TYPE_CHECKING, Any

from tfnb.framework.collections import GraphKeys
from tfnb.framework.default_graph import get_default_graph
from tfnb.library.variables import variable_scope as vs

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.framework.tensor_types import (
        CustomGetter,
        Nested,
        TensorLike,
        TensorResult,
        VariableLike,
    )

EXPORTS = {"tf": ["make_template"]}


def make_template(
    name_: str,
    func_: Callable[..., Any],
    create_scope_now_: bool = False,
    unique_name_: str | None = None,
    custom_getter_: Any = None,
    **kwargs: Any,
) -> Template:
    """Return a function whose variables are made once, in a scope of its own.

    Args:
      name_: the name of the scope; made unique.
      func_: the function, which gets its variables from ``tf.get_variable``.
      create_scope_now_: whether the scope is made now and not in the first call.
      unique_name_: a name that must be unused, instead of ``name_``.
      custom_getter_: the first getter for variables.
      **kwargs: arguments for every call.
    """
    if kwargs:
        func_ = functools.partial(func_, **kwargs)
    return Template(name_, func_, create_scope_now_, unique_name_, custom_getter_)


class Template:
    """A function together with its variables; see :func:`make_template`."""

    def __init__(
        self,
        name: str,
        func: Callable[..., Nested],
        create_scope_now: bool = False,
        unique_name: str | None = None,
        custom_getter: CustomGetter = None,
    ) -> None:
        if name is None:
            raise ValueError("name cannot be None.")
        self._func = func
        self._stacktrace = traceback.format_stack()[:-2]
        self._name = name
        self._unique_name = unique_name
        self._custom_getter = custom_getter
        self._scope: vs.VariableScope | None = None
        self._variables_created = False
        self._is_first_call = True
        if create_scope_now:
            # The name scope is opened by the first call.
            with vs.pure_variable_scope(unique_name, name, custom_getter) as scope:
                self._scope = scope

    def __call__(self, *args: Any, **kwargs: Any) -> TensorResult:
        """Call the function in its scope."""
        if self._scope is not None:
            with vs.variable_scope(self._scope, reuse=not self._is_first_call):
                return self._call(args, kwargs)
        with vs.variable_scope(
            self._unique_name, self._name, custom_getter=self._custom_getter
        ) as scope:
            self._scope = scope
            return self._call(args, kwargs)

    def _call(self, args: Any, kwargs: Any) -> Any:
        try:
            graph = get_default_graph()
            trained = len(graph.get_collection_ref(GraphKeys.TRAINABLE_VARIABLES))
            if self._variables_created:
                result: TensorLike = self._func(*args, **kwargs)
                if trained != len(graph.get_collection_ref(GraphKeys.TRAINABLE_VARIABLES)):
                    raise ValueError(
                        "Trainable variable created when calling a template after the first time, "
                        "perhaps you used tf.Variable when you meant tf.get_variable"
                    )
                return result
            if not self._is_first_call:
                return self._func(*args, **kwargs)  # another thread is making the variables
            self._is_first_call = False
            try:
                result = self._func(*args, **kwargs)
            except BaseException:
                # After a failure there are no variables that the next call could share.
                self._is_first_call = True
                raise
            self._variables_created = True
            return result
        except Exception as error:
            error.add_note(f"originally defined at:\n{''.join(self._stacktrace)}")
            raise

    @property
    def name(self) -> str:
        """The requested name."""
        return self._name

    @property
    def func(self) -> Callable[..., Any]:
        """The function."""
        return self._func

    @property
    def variable_scope(self) -> vs.VariableScope | None:
        """The scope of its variables; None before the first call."""
        return self._scope

    @property
    def variable_scope_name(self) -> str | None:
        """The name of that scope."""
        if self._scope is None:
            return None
        name = self._scope.name
        # With the slash at the end, it is no prefix of longer scope names.
        return name if name.endswith("/") or not name else f"{name}/"

    @property
    def var_scope(self) -> vs.VariableScope | None:
        """The old name of ``variable_scope``."""
        return self._scope

    def _collection(self, key: str) -> list[Nested]:
        if not self._variables_created:
            return []
        return get_default_graph().get_collection(key, self.variable_scope_name)

    @property
    def variables(self) -> list[VariableLike]:
        """Its global and local variables."""
        return self.global_variables + self.local_variables

    @property
    def trainable_variables(self) -> list[VariableLike]:
        """Its trainable variables."""
        return self._collection(GraphKeys.TRAINABLE_VARIABLES)

    @property
    def global_variables(self) -> list[VariableLike]:
        """Its global variables."""
        return self._collection(GraphKeys.GLOBAL_VARIABLES)

    @property
    def non_trainable_variables(self) -> list[Nested]:
        """Its global variables that are not trainable."""
        trained = self.trainable_variables
        return [v for v in self.global_variables if not any(v is one for one in trained)]

    @property
    def weights(self) -> list[TensorResult]:
        """Another name of ``variables``."""
        return self.variables

    @property
    def trainable_weights(self) -> list[Any]:
        """Another name of ``trainable_variables``."""
        return self.trainable_variables

    @property
    def non_trainable_weights(self) -> list[Any]:
        """Another name of ``non_trainable_variables``."""
        return self.non_trainable_variables

    @property
    def local_variables(self) -> list[VariableLike]:
        """Its local variables."""
        return self._collection(GraphKeys.LOCAL_VARIABLES)
