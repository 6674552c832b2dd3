"""What of Python's ``multiprocessing.spawn`` is changed as it is loaded."""

from __future__ import annotations

from tfnb.as_tensorflow.sources.mending import Mend

MODULE = "multiprocessing.spawn"
MENDED = {
    MODULE: (
        Mend(
            "children",
            "a process that is spawned starts without the finder",
            (MODULE,),
            ending=(
                "from tfnb.as_tensorflow.children import with_finder; "
                "get_preparation_data = with_finder(get_preparation_data)"
            ),
        ),
    )
}
