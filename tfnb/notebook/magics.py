"""``%tfnb`` and ``%%tfnb``: one method per subcommand, each with its own argument parser.

The parsers provide the help and the usage errors; the completion (``completion.py``) uses them too.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import traitlets
from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class

from tfnb.client.debugger.run_difference import RunValues
from tfnb.client.model_file import ModelFileError
from tfnb.client.model_summary import summary
from tfnb.client.session.session import BaseSession, live_sessions
from tfnb.core.errors import OpError
from tfnb.framework.default_session import get_default_session
from tfnb.framework.traceback_of_user import register_cell
from tfnb.notebook import views
from tfnb.notebook.graph_difference import compare_nodes
from tfnb.notebook.kernel.replaced_cells import ReplacedCells
from tfnb.notebook.kernel.shell import TextPicture, is_notebook, show
from tfnb.notebook.steps.step_publisher import UPDATES_PER_SECOND
from tfnb.notebook.subcommands import (
    HelpShown,
    asks_for_help,
    option,
    parse,
    print_help,
    subcommand,
)
from tfnb.notebook.views.formatters import session_text
from tfnb.notebook.views.targets import TargetError, nodes_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.notebook.error_view import ErrorView
    from tfnb.notebook.kernel.cells import CellRegistrar
    from tfnb.notebook.kernel.graph_growth import GraphGrowth
    from tfnb.proto.graph_pb2 import NodeDef

_HELP = """\
%tfnb graph [target]       the graph: of a variable, a session, a file, or the default graph
%tfnb placement [fetch]    the device of each node, and why: of the last run, or for a fetch
%tfnb partitions [fetch]   the graph of each device, and what is sent between them
%tfnb passes [fetch]       the graph before and after each optimisation pass
%tfnb dot [target]         the graph for Graphviz, on a page: by scope, --by device or frame
%tfnb export file [target] writes a view as .html (needs no kernel), .svg, .png, .pdf, .dot, .txt
%tfnb summary [file]       inputs, outputs and needs of a model: a file, a folder, the default graph
%tfnb devices              the default session and its devices
%tfnb cluster [target]     servers and tasks: whether they answer, devices, memory, who is missing
%tfnb tensorflow           `import tensorflow as tf` is tfnb, for programs of TensorFlow 1
%tfnb diff [a] [b]         what differs: a kept state, two graphs, or two runs of a cell
%tfnb compare [a b]        two recorded runs side by side: nodes, devices, times, values
%tfnb times [target]       which types of ops took the time of the step recorded last
%tfnb partial              partial runs in flight: what was fed, which fetches are ready
%tfnb error                the traceback of the last error, unfolded
%tfnb source               the Python functions that the default session's graphs run as
%tfnb running              which nodes run now, or wait: of steps in other threads
%%tfnb watch               runs the cell and shows its steps while they run; --sample: at full speed
%%tfnb debug               runs the cell and stops its steps where you choose, to look inside
%%tfnb values x            runs the cell and shows each value of x, also inside loops
%%tfnb cell                runs the cell so that it replaces what its run before made
%%tfnb record              runs the cell and keeps its last step, to replay it over time

%tfnb graph -h             the options of a subcommand; Tab completes them, and names of nodes
The same from Python: tfnb.notebook.graph, placement, partitions, compare, times, watch, record,
debug."""

LINE_COMMANDS = (
    "graph", "dot", "placement", "partitions", "passes", "diff", "devices", "running", "source",
    "summary", "error", "partial", "compare", "times", "export", "cluster", "tensorflow", "help",
)  # fmt: skip
CELL_COMMANDS = ("watch", "record", "debug", "cell", "values")


@magics_class
class TfnbMagics(Magics):
    """The magics that show graphs and the steps that run them."""

    height = traitlets.Int(views.HEIGHT, help="Height of the drawings, in CSS pixels.").tag(
        config=True
    )
    updates_per_second = traitlets.Float(
        UPDATES_PER_SECOND, help="How often a watched step's picture changes."
    ).tag(config=True)

    folds_errors = traitlets.Bool(
        True, help="Whether errors of tfnb are shown in a few lines, their traceback folded."
    ).tag(config=True)

    tags_prints = traitlets.Bool(
        True, help="Whether the output of tf.print and tf.Print names its node and the time."
    ).tag(config=True)

    shows_growth = traitlets.Bool(
        True, help="Whether a cell that adds operations to the graph reports their number."
    ).tag(config=True)

    def __init__(self, shell: Any, cells: CellRegistrar) -> None:
        super().__init__(shell=shell)
        self._shell = shell
        self._cells = cells
        self._replaced = ReplacedCells()
        self._kept: dict[str, list[NodeDef]] = {}
        self.growth: GraphGrowth | None = None
        self.errors: ErrorView | None = None

    @property
    def namespace(self) -> dict[str, Any]:
        """The variables of the user's namespace."""
        namespace: dict[str, Any] = self._shell.user_ns
        return namespace

    @line_cell_magic
    def tfnb(self, line: str, cell: str | None = None) -> None:
        """Show graphs, placements, partitions, and steps while they run."""
        __tracebackhide__ = True
        command, _, rest = line.strip().partition(" ")
        if command in ("", "help", "-h", "--help"):
            print(_HELP)
            return
        if command in CELL_COMMANDS and asks_for_help(rest.split()):
            print_help(getattr(self, command))
            return
        if cell is not None:
            if command not in CELL_COMMANDS:
                raise UsageError(
                    f"%%tfnb has no '{command}'; before a cell there are {', '.join(CELL_COMMANDS)}"
                )
            getattr(self, command)(rest.strip(), cell)
            return
        if command in CELL_COMMANDS:
            raise UsageError(
                f"{command} needs a cell: write %%tfnb {command} on its first line, code below it"
            )
        if command not in LINE_COMMANDS:
            raise UsageError(
                f"%tfnb has no '{command}'; there are {', '.join(LINE_COMMANDS)}, "
                f"and before a cell %%tfnb {' and %%tfnb '.join(CELL_COMMANDS)}"
            )
        try:
            getattr(self, command)(rest.strip())
        except HelpShown:
            return
        except TargetError as error:
            raise UsageError(str(error)) from None
        except OpError as error:
            raise UsageError(f"{type(error).__name__}: {error.message}") from None

    # Shown by `%tfnb?`.
    tfnb.__doc__ = f"{tfnb.__doc__}\n\n{_HELP}"

    @subcommand(
        "tfnb graph",
        option("target", nargs="?", default="", help="variable, file, node or scope to show"),
        option("--colour", choices=views.COLOURS, default="kind", help="meaning of colours"),
        option("--height", type=int, help="height in pixels"),
        option("--dot", action="store_true", help="draw it with Graphviz, by the program dot"),
    )
    def graph(self, line: str) -> None:
        """Show a graph whose scopes open and close."""
        options = parse(self.graph, line)
        if options.dot:
            self._show(views.dot(options.target, namespace=self.namespace))
            return
        self._show(
            views.graph(
                options.target,
                colour_by=options.colour,
                height=options.height or self.height,
                namespace=self.namespace,
            )
        )

    @subcommand(
        "tfnb dot",
        option("target", nargs="?", default="", help="variable, file, node, scope or fetch"),
        option("--view", choices=views.DOT_VIEWS, default="graph", help="what to draw"),
        option("--by", choices=views.DOT_GROUPS, help="boxes around nodes (default: scope)"),
        option("--depth", type=int, help="levels of scopes to open (default: small scopes)"),
        option("--no-legend", action="store_true", help="no explanation of colours and shapes"),
    )
    def dot(self, line: str) -> None:
        """Draw a graph with Graphviz; without its program, show the view's own picture."""
        options = parse(self.dot, line)
        self._show(
            views.dot(
                options.target,
                view=options.view,
                by=options.by,
                depth=options.depth,
                legend=not options.no_legend,
                namespace=self.namespace,
            )
        )

    @subcommand(
        "tfnb placement",
        option("fetch", nargs="?", default="", help="tensor, operation or session; the last run"),
        option("--height", type=int, help="height in pixels"),
    )
    def placement(self, line: str) -> None:
        """Show which device each node got, and why."""
        self._show_signature(views.placement, parse(self.placement, line))

    @subcommand(
        "tfnb partitions",
        option("fetch", nargs="?", default="", help="tensor, operation or session; the last run"),
        option("--height", type=int, help="height in pixels"),
    )
    def partitions(self, line: str) -> None:
        """Show the graph of each device and what is sent between them."""
        self._show_signature(views.partitions, parse(self.partitions, line))

    @subcommand(
        "tfnb diff",
        option("first", nargs="?", default="", help="kept state, variable or file; default: now"),
        option("second", nargs="?", default="", help="what it is compared with; default: now"),
        option("--keep", metavar="NAME", default="", help="keep the default graph's state"),
    )
    def diff(self, line: str) -> None:
        """Print what differs between graphs, or between the last two runs of a cell."""
        options = parse(self.diff, line)
        if options.keep:
            self._kept[options.keep] = nodes_of(None, self.namespace)
            print(f"Kept as '{options.keep}': {len(self._kept[options.keep]):,} nodes.")
            return
        if not options.first:
            runs = () if self.growth is None else self.growth.again
            if not runs:
                raise UsageError(
                    "No cell has added operations twice; say what to compare: "
                    "%tfnb diff --keep before, and later %tfnb diff before"
                )
            first, second = runs
            found = compare_nodes(first.nodes, second.nodes, is_rerun=not second.is_replaced)
            print(f"cell {second.number}, compared with its run as cell {first.number}: {found}")
            return
        nodes = [
            self._kept[text] if text in self._kept else nodes_of(text, self.namespace)
            for text in (options.first, options.second)
        ]
        print(compare_nodes(*nodes))

    @subcommand(
        "tfnb passes",
        option("fetch", nargs="?", default="", help="tensor, operation or session; the last run"),
        option("--height", type=int, help="height in pixels"),
        option("--text", action="store_true", help="print it instead"),
    )
    def passes(self, line: str) -> None:
        """Show the graph before and after each pass that changed it."""
        options = parse(self.passes, line)
        if options.text:
            print(views.passes_text_of(options.fetch, namespace=self.namespace))
            return
        self._show_signature(views.passes, options)

    @subcommand(
        "tfnb export",
        option("file", help="file to write: .html, .svg, .png, .dot, .pdf or .txt"),
        option("target", nargs="?", default="", help="what to show; the default graph, last run"),
        option("--view", choices=views.VIEWS, default="graph", help="view to write"),
        option("--colour", choices=views.COLOURS, help="meaning of colours"),
        option("--height", type=int, help="height in pixels"),
    )
    def export(self, line: str) -> None:
        """Write a view into a file that needs no kernel."""
        options = parse(self.export, line)
        try:
            file = views.export(
                options.file,
                options.target,
                view=options.view,
                colour_by=options.colour,
                height=options.height or self.height,
                namespace=self.namespace,
            )
        except OSError as error:
            raise UsageError(f"{options.file}: {error.strerror or error}") from None
        print(f"{file}: {file.stat().st_size:,} bytes")

    @subcommand(
        "tfnb devices",
    )
    def devices(self, line: str) -> None:
        """Print the default session and its devices."""
        parse(self.devices, line)
        session = get_default_session()
        if isinstance(session, BaseSession):
            print(session_text(session))
        else:
            print("No session is the default here.")

    @subcommand(
        "tfnb cluster",
        option("target", nargs="?", default="", help="cluster, server, session or host:port; all"),
    )
    def cluster(self, line: str) -> None:
        """Show servers and tasks: whether they answer, their devices and memory."""
        target = parse(self.cluster, line).target
        self._show(views.cluster(target, namespace=self.namespace))

    @subcommand(
        "tfnb tensorflow",
        option("state", nargs="?", choices=("on", "off"), default="on", help="on, or off again"),
    )
    def tensorflow(self, line: str) -> None:
        """Let `import tensorflow as tf` be tfnb, for programs of TensorFlow 1."""
        state = parse(self.tensorflow, line).state
        from tfnb.as_tensorflow.finder import install_as_tensorflow, uninstall_as_tensorflow

        if state == "off":
            uninstall_as_tensorflow()
            print("`import tensorflow` finds what is installed.")
            return
        try:
            install_as_tensorflow()
        except ImportError as error:
            raise UsageError(str(error)) from None
        print("`import tensorflow as tf` is tfnb now; `%tfnb tensorflow off` ends that.")

    @subcommand(
        "tfnb running",
    )
    def running(self, line: str) -> None:
        """Print the nodes that run now, or wait, in the steps of all sessions."""
        parse(self.running, line)
        texts = [one.waiting() for one in live_sessions() if one.runtime.active_steps()]
        print("\n".join(texts) or "No step is in flight.")

    @subcommand(
        "tfnb partial",
    )
    def partial(self, line: str) -> None:
        """Show the partial runs in flight: fed tensors, and fetches that are ready."""
        parse(self.partial, line)
        views.partial()

    @subcommand(
        "tfnb times",
        option("target", nargs="?", default="", help="graph or session; the default graph"),
    )
    def times(self, line: str) -> None:
        """Show which types of ops took the time of the step that was recorded last."""
        views.times(parse(self.times, line).target, namespace=self.namespace)

    @subcommand(
        "tfnb compare",
        option("first", nargs="?", default="", help="a variable of a run; default: the last two"),
        option("second", nargs="?", default="", help="another one"),
        option("--rtol", type=float, default=0.0, help="relative tolerance of values"),
        option("--atol", type=float, default=0.0, help="absolute tolerance of values"),
    )
    def compare(self, line: str) -> None:
        """Show two runs side by side: nodes, devices, times, the first value that differs."""
        options = parse(self.compare, line)
        names = [name for name in (options.first, options.second) if name]
        runs = [one for name in names if isinstance(one := self.namespace.get(name), RunValues)]
        if len(runs) != len(names) or len(names) == 1:
            raise UsageError(
                "Compare two variables made by tfnb.debugger.record_values(session, fetches, feeds)"
            )
        views.compare(*runs, rtol=options.rtol, atol=options.atol)

    @subcommand(
        "tfnb error",
    )
    def error(self, line: str) -> None:
        """Print the whole traceback of the last error of tfnb."""
        parse(self.error, line)
        print((self.errors and self.errors.traceback) or "No error of tfnb was shown yet.")

    @subcommand(
        "tfnb source",
    )
    def source(self, line: str) -> None:
        """Print the Python functions as which the default session runs its graphs."""
        parse(self.source, line)
        session = get_default_session()
        sources = session.emitted_sources() if isinstance(session, BaseSession) else []
        print("\n".join(sources) or "No graph of the default session runs as a function yet.")

    @subcommand(
        "tfnb summary",
        option("target", nargs="?", default="", help="file, folder, checkpoint, or variable"),
    )
    def summary(self, line: str) -> None:
        """Print the inputs, outputs, contents and requirements of a model."""
        target = parse(self.summary, line).target
        try:
            print(summary(self.namespace.get(target, target) if target else None))
        except (ModelFileError, ValueError) as error:
            raise UsageError(str(error)) from None

    @subcommand(
        "%tfnb watch",
        option("--height", type=int, help="height in pixels"),
        option("--no-summary", action="store_true", help="leave no summary when the cell ends"),
        option("--sample", action="store_true", help="only sample the steps: they stay fast"),
    )
    def watch(self, line: str, cell: str) -> None:
        """Run the cell and show its steps while they run."""
        __tracebackhide__ = True
        options = parse(self.watch, line)
        watched = views.Watch(
            height=options.height or views.WATCH_HEIGHT,
            updates_per_second=self.updates_per_second,
            keeps_summary=not options.no_summary,
            samples=options.sample,
        )
        with watched:
            run_cell_body(self._shell, cell, self._cells.current)

    @subcommand(
        "%tfnb values",
        option("tensors", nargs="+", help="tensors, by name or variable, also inside loops"),
        option("--keep", type=int, default=10_000, help="number of values kept of each"),
    )
    def values(self, line: str, cell: str) -> None:
        """Run the cell and show every value that tensors had, by step, loop and iteration."""
        __tracebackhide__ = True
        options = parse(self.values, line)
        tensors = [self.namespace.get(text, text) for text in options.tensors]
        try:
            seen = views.Values(*tensors, keep=options.keep, shows=True)
        except (TypeError, ValueError) as error:
            raise UsageError(str(error)) from None
        with seen:
            run_cell_body(self._shell, cell, self._cells.current)

    @subcommand(
        "%tfnb cell",
        option(
            "name",
            nargs="?",
            default="",
            help="name of the cell, if the front end sends none",
        ),
    )
    def cell(self, line: str, cell: str) -> None:
        """Run the cell; its operations replace those of its previous run."""
        __tracebackhide__ = True
        key = parse(self.cell, line).name or self._cells.cell_id
        if not key:
            raise UsageError(
                "This front end does not name the running cell; give it a name: %%tfnb cell NAME"
            )
        making, text = self._replaced.run(
            key, lambda: run_cell_body(self._shell, cell, self._cells.current)
        )
        if self.growth is not None:
            former = {op for op, _ in making.still_used}
            made = [op for op in making.operations if op not in former]
            number = self._cells.current
            self.growth.note_run(making.graph, key, made, number, is_replaced=True)
        if text and is_notebook(self._shell):
            show({"text/plain": text}, raw=True)
        elif text:
            print(text)

    @subcommand(
        "%tfnb record",
        option("--height", type=int, help="height of the graph in pixels"),
        option("--step", type=int, default=-1, help="which of the kept steps; -1 is the last"),
    )
    def record(self, line: str, cell: str) -> None:
        """Run the cell, keep its last steps, and show one of them with a slider for time."""
        __tracebackhide__ = True
        options = parse(self.record, line)
        recording = views.Recording(
            height=options.height or self.height, step=options.step, shows=True
        )
        with recording:
            run_cell_body(self._shell, cell, self._cells.current)

    @subcommand(
        "%tfnb debug",
        option("node", nargs="?", default="", help="node to stop at, or a pattern with *"),
        option("--iteration", type=int, help="in this iteration of its loop"),
        option("--frame", default="", help="in the loop of this frame"),
        option("--when", default="", help="condition: nan, inf, dead, 'max > 3', ..."),
        option("--start", action="store_true", help="stop before the first node of every step"),
        option("--height", type=int, help="height of the graph in pixels"),
    )
    def debug(self, line: str, cell: str) -> None:
        """Run the cell with a debugger attached to its steps."""
        __tracebackhide__ = True
        options = parse(self.debug, line)
        wanted = {
            "node": options.node,
            "frame": options.frame,
            "iteration": options.iteration,
            "condition": options.when or None,
        }
        is_wanted = any(value not in ("", None) for value in wanted.values())
        try:
            debugged = views.Debug(
                height=options.height or self.height,
                stop_at_start=options.start or not is_wanted,
                breakpoints=(wanted,) if is_wanted else (),
            )
        except ValueError as error:
            raise UsageError(str(error)) from None
        with debugged:
            run_cell_body(self._shell, cell, self._cells.current)

    def _show_signature(self, view: Callable[..., Any], options: Any) -> None:
        self._show(
            view(
                options.fetch,
                height=options.height or self.height,
                namespace=self.namespace,
            )
        )

    @staticmethod
    def _show(picture: Any) -> None:
        if isinstance(picture, TextPicture):
            print(picture.text)
        else:
            show(picture)


def without_empty_body(lines: list[str]) -> list[str]:
    """Convert ``%%tfnb`` alone in a cell to a line magic; IPython only raises an error for it.

    It is an input transformer: it takes the lines of a cell.
    """
    if not lines or not lines[0].startswith("%%tfnb") or any(line.strip() for line in lines[1:]):
        return lines
    return [lines[0][1:], *lines[1:]]


def run_cell_body(shell: Any, cell: str, number: int) -> None:
    """Run the text below a cell magic like a cell: in the user's namespace, with its lines.

    A last expression is displayed, unless a semicolon ends it. Errors propagate unchanged, so that
    the notebook stops at them.
    """
    __tracebackhide__ = True
    # Count the magic's own line, so that "cell 3, line 2" is the line the user sees as line 2.
    source = "\n" + shell.transform_cell(cell)
    filename = shell.compile.cache(source, number, raw_code=source)
    register_cell(filename, number, source)
    tree = shell.transform_ast(ast.parse(source, filename))
    statements = tree.body
    is_shown = statements and isinstance(statements[-1], ast.Expr)
    if shell.displayhook.semicolon_at_end_of_expression(source):
        is_shown = False
    last = statements.pop() if is_shown else None
    namespace = shell.user_ns
    with shell.builtin_trap:
        exec(compile(ast.Module(statements, type_ignores=[]), filename, "exec"), namespace)
        if last is not None:
            with shell.display_trap:
                exec(compile(ast.Interactive([last]), filename, "single"), namespace)
