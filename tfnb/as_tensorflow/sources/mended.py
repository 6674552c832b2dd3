"""The modules beside Keras' that are changed as they are loaded."""

from __future__ import annotations

from tfnb.as_tensorflow.sources import probability_mends, slim_mends, spawn_mends

MENDED = slim_mends.MENDED | probability_mends.MENDED | spawn_mends.MENDED
