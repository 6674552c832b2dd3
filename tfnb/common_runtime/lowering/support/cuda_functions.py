"""The functions in generated CUDA source: NumPy's elementwise functions, type for type.

Each returns the result of NumPy's function of that name: integers wrap around, and division by zero
does not trap; NaN passes through ``maximum``; halves are rounded after each function; a float that
does not fit an integer becomes the lowest one.  The text is also valid C++, so that a test can
compile it for a CPU.

A function that depends on the kind of numbers has the kind at the end of its name: ``absolute_f``.
"""

from __future__ import annotations

import numpy as np

C_TYPES = {
    "bool": "bool",
    "int8": "signed char",
    "uint8": "unsigned char",
    "int16": "short",
    "uint16": "unsigned short",
    "int32": "int",
    "uint32": "unsigned int",
    "int64": "long long",
    "uint64": "unsigned long long",
    "float16": "float16",
    "bfloat16": "bfloat16",
    "float32": "float",
    "float64": "double",
}
"""Element types by NumPy's name, as CuPy calls them."""

# The type in which a type computes: unsigned for integers, whose overflow is then defined; float
# for halves.
_WIDE = dict.fromkeys(C_TYPES, "unsigned long long") | {
    "bool": "int",
    "float16": "float",
    "bfloat16": "float",
    "float32": "float",
    "float64": "double",
}

_ONE = "template<class T> __device__ T {name}(T a) {{ {text} }}"
_TWO = "template<class T> __device__ T {name}(T a, T b) {{ {text} }}"
_ASK = "template<class T> __device__ bool {name}(T a) {{ {text} }}"
_COMPARE = "template<class T> __device__ bool {name}(T a, T b) {{ {text} }}"
_CAST = "template<class R, class T> __device__ R {name}(T a) {{ {text} }}"

# By name and kind of number ("f" floats, "i" signed, "u" unsigned, "b" bools; "" all).
_TEXTS: dict[tuple[str, str], tuple[str, str]] = {
    ("add", ""): (_TWO, "return T(W(a) + W(b));"),
    ("subtract", ""): (_TWO, "return T(W(a) - W(b));"),
    ("multiply", ""): (_TWO, "return T(W(a) * W(b));"),
    ("divide", "f"): (_TWO, "return T(W(a) / W(b));"),
    ("negative", ""): (_ONE, "return T(-W(a));"),
    ("absolute", "f"): (_ONE, "return T(fabs(W(a)));"),
    ("absolute", "i"): (_ONE, "return a < 0 ? T(-W(a)) : a;"),
    ("absolute", "u"): (_ONE, "return a;"),
    ("sign", "f"): (
        _ONE,
        "W x = W(a); return T(x > 0 ? W(1) : x < 0 ? W(-1) : x == 0 ? W(0) : x);",
    ),
    ("sign", "i"): (_ONE, "return T((a > 0) - (a < 0));"),
    ("sign", "u"): (_ONE, "return T(a > 0);"),
    ("square", ""): (_ONE, "return T(W(a) * W(a));"),
    ("reciprocal", "f"): (_ONE, "return T(W(1) / W(a));"),
    ("floor_divide", "i"): (
        _TWO,
        "if (b == 0) return T(0); if (b == T(-1)) return T(-W(a)); "
        "T q = T(a / b); return a % b != 0 && (a < 0) != (b < 0) ? T(q - 1) : q;",
    ),
    ("floor_divide", "u"): (_TWO, "return b == 0 ? T(0) : T(a / b);"),
    ("remainder", "i"): (
        _TWO,
        "if (b == 0 || b == T(-1)) return T(0); "
        "T r = T(a % b); return r != 0 && (r < 0) != (b < 0) ? T(r + b) : r;",
    ),
    ("remainder", "u"): (_TWO, "return b == 0 ? T(0) : T(a % b);"),
    ("fmod", "i"): (_TWO, "return b == 0 || b == T(-1) ? T(0) : T(a % b);"),
    ("fmod", "u"): (_TWO, "return b == 0 ? T(0) : T(a % b);"),
    ("maximum", "f"): (_TWO, "return W(a) >= W(b) || W(a) != W(a) ? a : b;"),
    ("minimum", "f"): (_TWO, "return W(a) <= W(b) || W(a) != W(a) ? a : b;"),
    ("maximum", ""): (_TWO, "return a >= b ? a : b;"),
    ("minimum", ""): (_TWO, "return a <= b ? a : b;"),
    ("less", ""): (_COMPARE, "return C(a) < C(b);"),
    ("less_equal", ""): (_COMPARE, "return C(a) <= C(b);"),
    ("greater", ""): (_COMPARE, "return C(a) > C(b);"),
    ("greater_equal", ""): (_COMPARE, "return C(a) >= C(b);"),
    ("equal", ""): (_COMPARE, "return C(a) == C(b);"),
    ("not_equal", ""): (_COMPARE, "return C(a) != C(b);"),
    ("isnan", "f"): (_ASK, "return W(a) != W(a);"),
    ("isfinite", "f"): (_ASK, "return W(a) - W(a) == 0;"),
    ("isinf", "f"): (_ASK, "return W(a) == W(a) && W(a) - W(a) != 0;"),
    ("logical_not", ""): (_ASK, "return C(a) == C(0);"),
    ("logical_and", ""): (_COMPARE, "return C(a) != C(0) && C(b) != C(0);"),
    ("logical_or", ""): (_COMPARE, "return C(a) != C(0) || C(b) != C(0);"),
    ("bitwise_and", ""): (_TWO, "return T(W(a) & W(b));"),
    ("bitwise_or", ""): (_TWO, "return T(W(a) | W(b));"),
    ("bitwise_xor", ""): (_TWO, "return T(W(a) ^ W(b));"),
    ("invert", "b"): (_ONE, "return !a;"),
    ("invert", ""): (_ONE, "return T(~W(a));"),
    ("left_shift", ""): (
        _TWO,
        "return W(b) >= sizeof(T) * 8 ? T(0) : T(W(a) << W(b));",
    ),
    ("right_shift", ""): (
        _TWO,
        "return W(b) >= sizeof(T) * 8 ? T(-(a < T(1) && a != 0)) : T(a >> b);",
    ),
    ("where", ""): (
        "template<class T> __device__ T {name}(bool c, T a, T b) {{ {text} }}",
        "return c ? a : b;",
    ),
    # Through float, as in NumPy; a double is rounded only once.
    ("cast", "f"): (_CAST, "return R(W(a));"),
    ("cast", ""): (_CAST, "return R(a);"),
    ("cast_half", ""): (_CAST, "return R(float(a));"),
    ("cast_bool", ""): (_CAST, "return C(a) != C(0);"),
    ("cast_int32", "f"): (
        _CAST,
        "return C(a) >= C(-2147483648.0) && C(a) < C(2147483648.0) ? R(C(a)) : R(-2147483647 - 1);",
    ),
    ("cast_int64", "f"): (
        _CAST,
        "return C(a) >= C(-9223372036854775808.0) && C(a) < C(9223372036854775808.0) "
        "? R(C(a)) : R(-9223372036854775807LL - 1);",
    ),
}
_TEXTS |= {
    (name, "f"): (_ONE, f"return T({called}(W(a)));")
    for called in [
        "sqrt",
        "exp",
        "expm1",
        "log",
        "log1p",
        "sin",
        "cos",
        "tan",
        "sinh",
        "cosh",
        "tanh",
        "asin",
        "acos",
        "atan",
        "asinh",
        "acosh",
        "atanh",
        "floor",
        "ceil",
        "trunc",
        "rint",
    ]
    for name in [called if called[0] != "a" else called.replace("a", "arc", 1)]
}
_TEXTS |= {
    (name, "f"): (_TWO, f"return T({called}(W(a), W(b)));")
    for name, called in {
        "power": "pow",
        "fmod": "fmod",
        "arctan2": "atan2",
    }.items()
}

_KINDS = {"i": "i", "u": "u", "b": "b"}


def kind_of(dtype: np.dtype) -> str:
    """Return the kind of numbers of a type, as at the end of names in this module."""
    return _KINDS.get(dtype.kind, "f")


def c_function(name: str, dtype: np.dtype) -> str | None:
    """Return the C name of NumPy's function for arguments of a type; None if there is none."""
    kind = kind_of(dtype)
    if (name, kind) in _TEXTS:
        return f"{name}_{kind}"
    return name if (name, "") in _TEXTS else None


def preamble(functions: set[str], dtypes: set[str]) -> str:
    """Return the source of these functions, and of what the types need."""
    # If CuPy has no such file, either the type is known anyway, or the kernel is not compiled.
    lines = [
        f"#if __has_include(<cupy/{one}.cuh>)\n#include <cupy/{one}.cuh>\n#endif"
        for one in ("float16", "bfloat16")
        if one in dtypes
    ]
    lines.append("namespace tfnb {")
    lines.append("template<class T> struct wide;")
    lines += [
        f"template<> struct wide<{C_TYPES[one]}> {{ typedef {_WIDE[one]} W; typedef "
        f"{_WIDE[one] if 'float' in one else C_TYPES[one]} C; }};"
        for one in sorted(dtypes)
    ]
    for function in sorted(functions):
        name, _, kind = function.rpartition("_")
        key = (name, kind) if (name, kind) in _TEXTS else (function, "")
        head, text = _TEXTS[key]
        types = [f"typedef typename wide<T>::{one} {one}; " for one in "WC" if f"{one}(" in text]
        lines.append(head.format(name=function, text="".join(types) + text))
    lines.append("}")
    return "\n".join(lines) + "\n"


def literal(value: np.generic) -> str:
    """Return a number in C, exact to the last bit.

    >>> literal(np.float32(0.1)), literal(np.int8(-128)), literal(np.float64("-inf"))
    ('float(0.1f)', '(signed char)(-128)', 'double(-1.0/0.0)')
    """
    name = value.dtype.name
    c_type = C_TYPES[name]
    if name == "bool":
        return "true" if value else "false"
    if value.dtype.kind in "iu":
        number = int(value)
        if number == -(1 << 63):
            text = "-9223372036854775807LL - 1"
        elif name == "uint64":
            text = f"{number}ULL"
        else:
            text = f"{number}LL" if abs(number) > 0x7FFFFFFF else str(number)
    else:
        suffix = "" if name == "float64" else "f"
        real = float(value)
        if np.isnan(real):
            text = f"0.0{suffix}/0.0{suffix}"
        elif np.isinf(real):
            text = f"{'-' if real < 0 else ''}1.0{suffix}/0.0{suffix}"
        else:
            # The shortest decimal that reads back as the same number.
            text = repr(real if name == "float64" else float(str(np.float32(real)))) + suffix
    # Parentheses around a type of two words make the cast valid C++.
    return f"({c_type})({text})" if " " in c_type else f"{c_type}({text})"
