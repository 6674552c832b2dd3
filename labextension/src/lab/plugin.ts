/** Adds the parts to JupyterLab: panel, tabs, toolbar item, commands, launcher; no other module does. */

import { type Actions, KERNEL_VIEWS } from "./actions.ts";
import { keepClean } from "./clean_opening.ts";
import type {
  App,
  Launcher,
  NotebookPanel,
  Packages,
  Palette,
  Restorer,
  Widget,
} from "./jupyter.ts";
import { ENDS, type KernelLink } from "./kernel_link.ts";
import { Links } from "./links.ts";
import { Panel } from "./panel.ts";
import { neighbour } from "./places.ts";
import { busySession, toolbarItem } from "./toolbar_item.ts";
import { tabId, type ViewArgs, ViewTab } from "./view_tab.ts";

const CATEGORY = "tfnb";
const OPEN = "tfnb:open-view";
const PANEL = "tfnb-sessions";
const FIRST_CELL = `%load_ext tfnb
import tfnb as tf`;

interface Services {
  labShell?: unknown;
  restorer?: Restorer | null;
  palette?: Palette | null;
  launcher?: Launcher | null;
}

export function activate(app: App, packages: Packages, services: Services): void {
  const { commands, shell } = app;
  const links = new Links(app.serviceManager);
  const tabs = new Map<string, ViewTab>();
  const tracker = new packages.WidgetTracker<Widget>({ namespace: "tfnb-views" });

  const bringUp = (widget: Widget) => {
    shell.activateById(widget.id);
    // The panel below a notebook does not show the new tab by itself.
    const panel = services.labShell ? null : widget.parent?.parent;
    if (panel) panel.currentWidget = widget;
  };
  const openTab = (args: ViewArgs) => {
    const id = tabId(args);
    const open = tabs.get(id);
    if (open) {
      if (args.view === "run") open.attach(true);
      bringUp(open.widget);
      return open.widget;
    }
    const notebook = documentOf(args.path) ?? shell.currentWidget;
    const others = [...tabs.values()].map((one) => one.widget).reverse();
    const before = services.labShell ? neighbour(notebook, others) : others[0];
    const tab = new ViewTab(packages, links, args);
    tabs.set(id, tab);
    tab.widget.disposed.connect(() => tabs.delete(id));
    // Beside the notebook, if there is room for more than one document.
    const area = services.labShell ? "main" : "down";
    const ref = before ?? notebook;
    shell.add(tab.widget, area, {
      mode: before ? "tab-after" : "split-right",
      ...(ref ? { ref: ref.id } : {}),
    });
    if (!services.labShell) bringUp(tab.widget);
    void tracker.add(tab.widget);
    return tab.widget;
  };
  /** The notebook, console or other document of a kernel. */
  const documentOf = (path: string): Widget | null =>
    [...(shell.widgets?.("main") ?? [])].find((one) => {
      const { context, sessionContext } = one as NotebookPanel;
      return (context?.path ?? sessionContext?.session?.path) === path;
    }) ?? null;
  const actions: Actions = {
    open: (link, view, session = "", signature) => {
      openTab({ path: link.path, view, session, signature: signature ?? null });
    },
  };

  const panel = new Panel(links, actions);
  const side = new packages.Widget({ node: panel.element });
  side.id = PANEL;
  side.title.caption = "tfnb sessions";
  side.title.iconClass = "tfnb-lab-icon jp-SideBar-tabIcon";
  let isDue = false;
  links.listen(() => {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(() => {
      isDue = false;
      panel.show();
    });
  });
  // A page that was reloaded has lost the view of a debugger below a cell: a tab shows it.
  const known = new WeakSet<KernelLink>();
  links.listen(() => {
    for (const link of links.all) {
      if (!link.snapshot || known.has(link)) continue;
      known.add(link);
      const steps = link.snapshot.sessions.flatMap((one) => one.running);
      if (!steps.some((one) => one.isStopped)) continue;
      void app.restored.then(() => actions.open(link, "debug"));
    }
  });
  panel.show();
  shell.add(side, "right", { rank: 600 });
  services.restorer?.add(side, PANEL);

  app.docRegistry.addWidgetExtension("Notebook", {
    createNew: (notebook: NotebookPanel) => {
      keepClean(notebook);
      const item = toolbarItem(packages, links, notebook);
      // Other connections are not notified of a restart.
      notebook.sessionContext?.statusChanged.connect((_, status) => {
        if (ENDS.includes(status)) links.of(notebook)?.leave();
      });
      void notebook.context.ready.then(() => {
        const { toolbar } = notebook;
        // In a narrow notebook, items behind the spacer are hidden first.
        if (!toolbar.insertBefore("spacer", "tfnb", item)) toolbar.addItem("tfnb", item);
      });
      return item;
    },
  });

  // -- commands

  /** The kernel of a command: that of the document or view in front, else the only one with tfnb. */
  const current = (): KernelLink | null => {
    const widget = shell.currentWidget;
    const found = links.of(widget) ?? tabs.get(widget?.id ?? "")?.kernel;
    const here = links.all.filter((link) => link.isHere);
    return found ?? (here.length === 1 ? here[0]! : null);
  };
  const add = (
    id: string,
    label: string,
    caption: string,
    execute: (link: KernelLink) => void,
    isEnabled: (link: KernelLink) => boolean = (link) => link.isHere,
  ) => {
    commands.addCommand(id, {
      label,
      caption,
      isEnabled: () => {
        const link = current();
        return link !== null && isEnabled(link);
      },
      execute: () => {
        const link = current();
        if (link) execute(link);
      },
    });
    services.palette?.addItem({ command: id, category: CATEGORY });
  };
  commands.addCommand(OPEN, {
    label: "Open a View of tfnb",
    execute: (args) => openTab(args as unknown as ViewArgs),
  });
  commands.addCommand("tfnb:show-panel", {
    label: "Show tfnb Sessions",
    caption: "Sessions, devices and running steps of every kernel",
    execute: () => shell.activateById(PANEL),
  });
  services.palette?.addItem({ command: "tfnb:show-panel", category: CATEGORY });
  for (const [view, label, hint] of KERNEL_VIEWS) {
    add(`tfnb:open-${view}`, `Open tfnb ${label}`, hint, (link) => actions.open(link, view));
  }
  const ofLast = (view: string) => (link: KernelLink) => {
    const session = busySession(link) ?? link.snapshot?.sessions.at(-1);
    if (session) actions.open(link, view, session.key);
  };
  const hasSession = (link: KernelLink) => (link.snapshot?.sessions.length ?? 0) > 0;
  for (const [view, label, hint] of [
    ["graph", "Graph", "The graph of the newest session"],
    ["partial", "Partial Runs", "What was fed in the newest session, which fetches are ready"],
    ["placement", "Placement", "The devices of the last run's nodes, and why"],
    ["partitions", "Partitions", "The graph of each device in the last run"],
    ["passes", "Passes", "The graph of the last run before and after each pass"],
  ] as const) {
    add(`tfnb:open-${view}`, `Open tfnb ${label}`, hint, ofLast(view), hasSession);
  }
  const steer = (request: string) => (link: KernelLink) => {
    const session = busySession(link) ?? link.snapshot?.sessions.at(-1);
    if (session) link.ask(request, { session: session.key });
  };
  add("tfnb:pause", "Pause tfnb Steps", "Hold steps between two nodes", steer("pause"), hasSession);
  add("tfnb:resume", "Resume tfnb Steps", "Resume held steps", steer("resume"), hasSession);
  add("tfnb:cancel", "Cancel tfnb Steps", "End running steps", steer("cancel"), hasSession);
  add(
    "tfnb:load",
    "Load tfnb in this Kernel",
    "Run %load_ext tfnb",
    (link) => link.load(),
    (link) => !link.isHere,
  );
  commands.addCommand("tfnb:new-notebook", {
    label: (args) => (args["isPalette"] ? "New tfnb Notebook" : "tfnb Notebook"),
    caption: "A notebook with tfnb loaded and a session open",
    iconClass: "tfnb-lab-icon",
    execute: async (args) => {
      const kernelName = app.serviceManager.kernelspecs.specs?.default;
      const made = (await commands.execute("notebook:create-new", {
        cwd: args["cwd"] ?? "",
        ...(kernelName ? { kernelName } : {}),
      })) as NotebookPanel;
      await made.context.ready;
      made.content.widgets[0]?.model.sharedModel.setSource(FIRST_CELL);
      return made;
    },
  });
  services.palette?.addItem({
    command: "tfnb:new-notebook",
    category: CATEGORY,
    args: { isPalette: true },
  });
  services.launcher?.add({ command: "tfnb:new-notebook", category: "Notebook", rank: 60 });

  void services.restorer?.restore(tracker, {
    command: OPEN,
    args: (widget) => ({ ...tabs.get(widget.id)!.args }),
    name: (widget) => widget.id,
  });
}
