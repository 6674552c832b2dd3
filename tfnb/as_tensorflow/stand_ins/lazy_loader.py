"""``tensorflow.python.util.lazy_loader``: a module that is imported when it is first used."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any


class LazyLoader(ModuleType):
    """A module that is imported when one of its names is used."""

    def __init__(
        self,
        local_name: str,
        parent_module_globals: dict[str, Any],
        name: str,
        warning: str | None = None,
    ) -> None:
        super().__init__(name)
        self._local_name = local_name
        self._globals = parent_module_globals

    def __getattr__(self, item: str) -> Any:
        module = importlib.import_module(self.__name__)
        self._globals[self._local_name] = module
        return getattr(module, item)

    def __dir__(self) -> list[str]:
        return dir(importlib.import_module(self.__name__))
