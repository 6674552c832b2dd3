"""Functions of upper files that the specs of datasets call.

``tfnb.library.provides`` imports each when it is called for the first time.
"""

from __future__ import annotations

from tfnb.core.provided import Provided

dataset_class = Provided("dataset_class")
variant_dataset = Provided("variant_dataset")
