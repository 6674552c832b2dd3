"""LLVM, which turns the source of a kernel into machine code in this process.

Only the helper thread of :mod:`tfnb.core.compiled.helper` imports this module and uses an engine.
"""

from __future__ import annotations

import hashlib
import platform
from typing import TYPE_CHECKING

import llvmlite
import llvmlite.binding as llvm

from tfnb.core.compiled.array_calls import check_layout

if TYPE_CHECKING:
    from tfnb.core.compiled.object_cache import ObjectCache

# A change of it keeps old files of the cache unused.
_FORMAT = 2
KERNEL = "@KERNEL"
"""Stands for the name of a kernel in its source; the names of its parts begin with it."""


class Engine:
    """Compiles kernels for the processor of this machine."""

    def __init__(self, cache: ObjectCache) -> None:
        """Prepare LLVM.

        Raises:
          RuntimeError: arrays have another layout here, or LLVM does not know the processor.
        """
        check_layout()
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        processor = llvm.get_host_cpu_name()
        features = llvm.get_host_cpu_features().flatten()
        self._machine = llvm.Target.from_default_triple().create_target_machine(
            cpu=processor, features=features, opt=3, jit=True
        )
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), self._machine)
        self._cache = cache
        version = ".".join(map(str, llvm.llvm_version_info))
        self._version = " ".join(
            [str(_FORMAT), llvmlite.__version__, version, platform.machine(), processor, features]
        )

    def addresses(self, source: str, parts: tuple[str, ...], compiles: bool) -> tuple[int, ...]:
        """Return the addresses of functions of a kernel; none if it would have to be compiled.

        Args:
          source: the text of the kernel, in which ``@KERNEL`` stands for its name.
          parts: what follows the name in the names of the functions.
          compiles: whether a kernel is compiled that the cache does not have.

        Raises:
          RuntimeError: LLVM does not take the source, or the code lacks one of the functions.
        """
        key = hashlib.sha256(f"{self._version}\n{source}".encode()).hexdigest()
        name = f"kernel_{key[:32]}"
        code = self._cache.read(key)
        if code is None:
            if not compiles:
                return ()
            code = self._compile(source.replace(KERNEL, f"@{name}"))
            self._cache.write(key, code)
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()
        found = tuple(self._engine.get_function_address(f"{name}{part}") for part in parts)
        if not all(found):
            raise RuntimeError(f"the object code of {name} lacks a function")
        return found

    def keep(self) -> None:
        """Leave all machine code in memory: threads may still run it when the process ends."""
        self._engine.detach()

    def _compile(self, text: str) -> bytes:
        module = llvm.parse_assembly(text)
        module.verify()
        options = llvm.create_pipeline_tuning_options(speed_level=3)
        options.loop_vectorization = options.slp_vectorization = True
        builder = llvm.create_pass_builder(self._machine, options)
        builder.getModulePassManager().run(module, builder)
        code: bytes = self._machine.emit_object(module)
        return code
