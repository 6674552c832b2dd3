"""Packs the files of a finished wheel again, as tightly as its format allows."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import zopfli
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_ITERATIONS = 3


class PackHook(BuildHookInterface):  # type: ignore[type-arg]
    """Runs after each wheel; an editable one, which holds next to nothing, is left as it is."""

    PLUGIN_NAME = "custom"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Replaces the wheel by one with the same files, whole or not at all."""
        if version != "standard":
            return
        wheel = Path(artifact_path)
        packed = wheel.with_suffix(".packed")
        with (
            zipfile.ZipFile(wheel) as loose,
            zopfli.ZipFile(packed, "w", iterations=_ITERATIONS) as tight,
        ):
            for file in loose.infolist():
                info = zopfli.ZipInfo(file.filename, file.date_time)
                info.external_attr = file.external_attr
                info.compress_type = zipfile.ZIP_DEFLATED
                tight.writestr(info, loose.read(file))
        packed.replace(wheel)
