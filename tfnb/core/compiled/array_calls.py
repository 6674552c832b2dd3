"""Calls of machine code with arrays, as cheap as those of NumPy's own functions.

A compiled kernel is a function of Python's C interface (``METH_FASTCALL``): it gets the objects
themselves and reads type, shape and address of an array where NumPy's C interface has them, which
is part of that interface.  :func:`check_layout` compares these places with what Python says about
an array; where they differ nothing is compiled.
"""

from __future__ import annotations

import ctypes
import sys
import sysconfig
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

HEAD = object.__basicsize__
"""Bytes before the fields of an object."""
DATA, RANK, DIMENSIONS, STRIDES = HEAD, HEAD + 8, HEAD + 16, HEAD + 24
"""Where an array has its address, its rank, its shape and its strides."""
DESCR, FLAGS = HEAD + 40, HEAD + 48
"""Where an array has its dtype and its flags."""
CONTIGUOUS, ALIGNED = 0x0001, 0x0100
"""Bits of the flags: whether it is in C order, and at addresses that its dtype requires."""
_FASTCALL = 0x0080


class _MethodDef(ctypes.Structure):
    """Python's description of a function in C."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_kept: list[_MethodDef] = []  # functions refer to them


def is_supported() -> bool:
    """Return whether this Python's objects are laid out as kernels expect."""
    return (
        sys.implementation.name == "cpython"
        and sys.byteorder == "little"
        and ctypes.sizeof(ctypes.c_void_p) == 8
        and HEAD == 16
        and not sysconfig.get_config_var("Py_GIL_DISABLED")
    )


def check_layout() -> None:
    """Compare the places of an array's fields with the array.

    Raises:
      RuntimeError: an array has another layout.
    """
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    place = id(array)

    def read(offset: int) -> int:
        return ctypes.c_int64.from_address(place + offset).value

    shape = (ctypes.c_int64 * 2).from_address(read(DIMENSIONS))
    strides = (ctypes.c_int64 * 2).from_address(read(STRIDES))
    flags = ctypes.c_int.from_address(place + FLAGS).value
    if not (
        ctypes.c_int64.from_address(place + 8).value == id(np.ndarray)
        and read(DATA) == array.ctypes.data
        and ctypes.c_int.from_address(place + RANK).value == 2
        and tuple(shape) == array.shape
        and tuple(strides) == array.strides
        and read(DESCR) == id(array.dtype)
        and flags == array.flags.num
    ):
        raise RuntimeError("arrays have an unknown layout in memory")


def as_function(address: int, data: np.ndarray[Any, Any]) -> Callable[..., Any]:
    """Return machine code as a function of Python.

    Args:
      address: the code of a ``METH_FASTCALL`` function.
      data: an array that the code reads through its first argument.
    """
    method = _MethodDef(b"compiled_kernel", address, _FASTCALL, None)
    _kept.append(method)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = (
        ctypes.py_object,
        [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p],
    )
    function: Callable[..., Any] = make(ctypes.addressof(method), data, None)
    return function


def address_of(name: str) -> int:
    """Return the address of a function of Python's C interface."""
    address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    assert address is not None
    return address
