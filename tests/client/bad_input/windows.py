"""Windows, strides and filters that do not fit their inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.client.bad_input.writing import (
    CASES,
    FLOAT,
    Case,
    case,
    floats,
    ints,
    numbers,
    run_kernel,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def _pool(
    op: str, ksize: Sequence[int], strides: Sequence[int], shape: Sequence[int] = (1, 4, 4, 1)
) -> Callable[[Any, Any], Any]:
    def do(tf: Any, sess: Any) -> Any:
        return run_kernel(
            tf,
            sess,
            op,
            [floats(*shape)],
            T=FLOAT,
            padding=text("VALID"),
            ksize=numbers(*ksize),
            strides=numbers(*strides),
        )

    return do


_ONES = (1, 1, 1, 1)
for _op in ("MaxPool", "AvgPool"):
    CASES[f"{_op}_window_zero"] = Case(_pool(_op, (1, 0, 1, 1), _ONES), "bad")
    CASES[f"{_op}_window_negative"] = Case(_pool(_op, (1, -1, 1, 1), _ONES), "bad")
    CASES[f"{_op}_stride_zero"] = Case(_pool(_op, _ONES, (1, 0, 0, 1)), "bad")
    CASES[f"{_op}_stride_negative"] = Case(_pool(_op, _ONES, (1, -1, 1, 1)), "bad")
    CASES[f"{_op}_short_list_of_strides"] = Case(_pool(_op, _ONES, (1, 1)), "bad")
    CASES[f"{_op}_long_list_of_strides"] = Case(_pool(_op, _ONES, (1, 1, 1, 1, 1)), "bad")
    CASES[f"{_op}_window_larger_than_input"] = Case(_pool(_op, (1, 9, 9, 1), _ONES), "bad")
    CASES[f"{_op}_of_rank_3"] = Case(_pool(_op, _ONES, _ONES, (4, 4, 1)), "bad")
    CASES[f"{_op}_window_in_batch"] = Case(_pool(_op, (2, 1, 1, 1), _ONES, (4, 4, 4, 1)), "bad")


def _conv(
    strides: Sequence[int],
    image: Sequence[int] = (1, 4, 4, 1),
    kernel: Sequence[int] = (2, 2, 1, 1),
    **attrs: str,
) -> Callable[[Any, Any], Any]:
    def do(tf: Any, sess: Any) -> Any:
        values = [floats(*image), floats(*kernel)]
        attrs.setdefault("padding", text("VALID"))
        return run_kernel(tf, sess, "Conv2D", values, T=FLOAT, strides=numbers(*strides), **attrs)

    return do


CASES["conv_stride_zero"] = Case(_conv((1, 0, 0, 1)), "bad")
CASES["conv_stride_negative"] = Case(_conv((1, -1, 1, 1)), "bad")
CASES["conv_short_list_of_strides"] = Case(_conv((1, 1)), "bad")
CASES["conv_stride_in_batch"] = Case(_conv((2, 1, 1, 1)), "bad")
CASES["conv_of_rank_3"] = Case(_conv(_ONES, (4, 4, 1)), "bad")
CASES["conv_channels_differ"] = Case(_conv(_ONES, (1, 4, 4, 3), (2, 2, 2, 1)), "bad")
CASES["conv_filter_empty"] = Case(_conv(_ONES, kernel=(0, 2, 1, 1)), "bad")
CASES["conv_filter_without_channels"] = Case(_conv(_ONES, kernel=(2, 2, 0, 1)), "bad")
CASES["conv_filter_larger_than_input"] = Case(_conv(_ONES, kernel=(9, 9, 1, 1)), "bad")
CASES["conv_dilation_zero"] = Case(_conv(_ONES, dilations=numbers(1, 0, 1, 1)), "bad")
CASES["conv_unknown_format"] = Case(_conv(_ONES, data_format=text("WHCN")), "bad")
CASES["conv_padding_missing"] = Case(_conv(_ONES, padding=text("EXPLICIT")), "bad")
CASES["conv_padding_negative"] = Case(
    _conv(_ONES, padding=text("EXPLICIT"), explicit_paddings=numbers(0, 0, -1, 0, 0, 0, 0, 0)),
    "bad",
)


@case("bad")
def lrn_of_rank_2(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "LRN", [floats(2, 2)], T=FLOAT)


@case("bad")
def resize_to_zero(tf: Any, sess: Any) -> Any:
    return run_kernel(tf, sess, "ResizeBilinear", [floats(1, 2, 2, 1), ints(0, 0)], T=FLOAT)


@case("bad")
def patches_of_stride_zero(tf: Any, sess: Any) -> Any:
    return run_kernel(
        tf,
        sess,
        "ExtractImagePatches",
        [floats(1, 2, 2, 1)],
        T=FLOAT,
        ksizes=numbers(*_ONES),
        strides=numbers(1, 0, 0, 1),
        rates=numbers(*_ONES),
        padding=text("VALID"),
    )
