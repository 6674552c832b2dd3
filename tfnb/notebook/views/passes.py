"""The graph before and after each optimisation pass."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from tfnb.core.process.collector_pause import without_collector
from tfnb.notebook.kernel.shell import TextPicture, current_shell, is_notebook
from tfnb.notebook.pictures.table_svg import passes_svg
from tfnb.notebook.scenes.pass_scenes import pass_pictures, passes_text
from tfnb.notebook.steps.view_group import view_group
from tfnb.notebook.views.graph import HEIGHT
from tfnb.notebook.views.targets import TargetError, find_signature

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tfnb.client.session.session import BaseSession
    from tfnb.framework.graph import Graph
    from tfnb.notebook.scenes.pass_scenes import PassPicture
    from tfnb.notebook.views.targets import SignatureViews
    from tfnb.notebook.views.widget import SceneWidget


def passes(
    fetch: Any = None,
    *,
    session: BaseSession | None = None,
    height: int = HEIGHT,
    namespace: Mapping[str, Any] | None = None,
) -> SceneWidget | TextPicture:
    """Show the changes of each pass to the graph of the last run, or of a fetch; nothing is run.

    Args:
      fetch: a Tensor, an Operation, a list of these or a name; by default the last run.
      session: the session of the passes; by default the default session.
      height: height of the drawing, in CSS pixels.
      namespace: variables by name, which a text may also refer to.

    Raises:
      TargetError: nothing ran yet, there is no such fetch, or the session does not run in this
        process.
    """
    views, pictures = pictures_of(fetch, namespace, session)
    if not pictures or not is_notebook(current_shell()):
        return TextPicture(passes_text(pictures))
    return _widget(views, pictures, height)


def passes_widget(views: SignatureViews, height: int) -> SceneWidget:
    """Return the widget of the changes by passes to a signature.

    Raises:
      TargetError: there are no changes, or the session does not run in this process.
    """
    pictures = _pictures(views)
    if not pictures:
        raise TargetError("No pass has changed this signature's graph.")
    return _widget(views, pictures, height)


def _widget(views: SignatureViews, pictures: Sequence[PassPicture], height: int) -> SceneWidget:
    from tfnb.notebook.views.widget import SceneWidget

    graph = views.session.graph
    told = told_passes(pictures, graph)
    widget = SceneWidget(
        None,
        view="passes",
        colour_by="change",
        height=height,
        group=view_group(graph),
        picture=lambda: passes_svg(told),
    )
    widget.show_passes(told, passes_text(pictures))
    return widget


def told_passes(pictures: Sequence[PassPicture], graph: Graph | None) -> list[dict[str, Any]]:
    """Return the passes' data for ``labextension/src/render/passes_view.ts``."""
    with without_collector(sum(len(one.before) for one in pictures)):
        return [
            {
                "name": one.name,
                "where": one.where,
                "summary": one.summary,
                "actions": list(one.actions),
                "before": base64.b64encode(one.scene(graph, is_after=False).encode()).decode(),
                "after": base64.b64encode(one.scene(graph, is_after=True).encode()).decode(),
            }
            for one in pictures
        ]


def passes_text_of(fetch: Any = None, *, namespace: Mapping[str, Any] | None = None) -> str:
    """Return the changes of :func:`passes` as text, also in a notebook."""
    return passes_text(pictures_of(fetch, namespace, None)[1])


def pictures_of(
    fetch: Any, namespace: Mapping[str, Any] | None, session: BaseSession | None
) -> tuple[SignatureViews, list[PassPicture]]:
    """Return the passes of a signature, and the signature.

    Raises:
      TargetError: as :func:`passes`.
    """
    views = find_signature(fetch, namespace, session)
    return views, _pictures(views)


def _pictures(views: SignatureViews) -> list[PassPicture]:
    stages_of = getattr(views.session.runtime, "optimization_stages", None)
    if stages_of is None:
        raise TargetError("The session does not tell what passes do to its graphs.")
    signature = views.partitioned
    with without_collector(views.session.graph.version):
        return pass_pictures(stages_of(signature.fetches, signature.feeds, signature.targets))
