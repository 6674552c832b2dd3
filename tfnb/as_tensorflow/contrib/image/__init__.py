"""``tf.contrib.image``: projective transformations, warps, colours in YIQ."""

from __future__ import annotations

from typing import Any

from tfnb.as_tensorflow.contrib.image.color import adjust_hsv_in_yiq as adjust_hsv_in_yiq
from tfnb.as_tensorflow.contrib.image.color import random_hsv_in_yiq as random_hsv_in_yiq
from tfnb.as_tensorflow.contrib.image.transforms import (
    angles_to_projective_transforms as angles_to_projective_transforms,
)
from tfnb.as_tensorflow.contrib.image.transforms import compose_transforms as compose_transforms
from tfnb.as_tensorflow.contrib.image.transforms import (
    flat_transforms_to_matrices as flat_transforms_to_matrices,
)
from tfnb.as_tensorflow.contrib.image.transforms import (
    matrices_to_flat_transforms as matrices_to_flat_transforms,
)
from tfnb.as_tensorflow.contrib.image.transforms import rotate as rotate
from tfnb.as_tensorflow.contrib.image.transforms import transform as transform
from tfnb.as_tensorflow.contrib.image.transforms import translate as translate
from tfnb.as_tensorflow.contrib.image.transforms import (
    translations_to_projective_transforms as translations_to_projective_transforms,
)
from tfnb.as_tensorflow.contrib.image.warps import dense_image_warp as dense_image_warp
from tfnb.as_tensorflow.contrib.image.warps import interpolate_spline as interpolate_spline
from tfnb.as_tensorflow.contrib.image.warps import sparse_image_warp as sparse_image_warp
from tfnb.as_tensorflow.missing_name import missing_name

_COMPILED = "it is a compiled op; compute it in tf.py_func"


def __getattr__(name: str) -> Any:
    if name in ("bipartite_match", "connected_components", "single_image_random_dot_stereograms"):
        return missing_name("tf.contrib.image", name, _COMPILED)
    raise AttributeError(f"module 'tensorflow.contrib.image' has no attribute {name!r}")
