"""Functions of upper folders that control flow calls.

``tfnb.library.provides`` imports each when it is called for the first time.
"""

from __future__ import annotations

from tfnb.core.provided import Provided

backprop = Provided("backprop")
get_variable_scope = Provided("get_variable_scope")
map_fn_of_parts = Provided("map_fn_of_parts")
