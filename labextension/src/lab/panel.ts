/** The side panel: every kernel with tfnb, its sessions, their steps, devices and resources. */

import { cutBeforeEnd, html, setText } from "../render/dom.ts";
import { countText } from "../render/units.ts";
import { type Actions, KERNEL_VIEWS, SIGNATURE_VIEWS } from "./actions.ts";
import type { KernelLink } from "./kernel_link.ts";
import { keyed, part } from "./keyed.ts";
import type { Links } from "./links.ts";
import {
  bytesText,
  type DeviceInfo,
  doesText,
  elapsedText,
  type ResourceInfo,
  type RunningStep,
  type ServerInfo,
  type SessionInfo,
  type SignatureInfo,
} from "./snapshot.ts";
import { fillSweeps } from "./sweeps.ts";

export class Panel {
  readonly element = html("div", "tfnb-lab");
  private readonly kernels = html("div", "tfnb-lab-kernels");
  private readonly empty = html(
    "p",
    "tfnb-lab-note",
    "No Python kernel runs. Open a notebook or a console; tfnb shows its sessions here.",
  );

  constructor(
    private readonly links: Links,
    private readonly actions: Actions,
  ) {
    this.element.setAttribute("role", "region");
    this.element.setAttribute("aria-label", "tfnb sessions");
    this.element.append(html("h2", "tfnb-lab-title", "tfnb"), this.empty, this.kernels);
  }

  show(): void {
    const links = this.links.all.sort(
      (a, b) => Number(b.isHere) - Number(a.isHere) || a.path.localeCompare(b.path),
    );
    this.empty.hidden = links.length > 0;
    keyed(
      this.kernels,
      links,
      (link) => link.id,
      (link) => this.makeKernel(link),
      (element, link) => this.fillKernel(element, link),
    );
  }

  // -- one kernel

  private makeKernel(link: KernelLink): HTMLElement {
    const element = html("section", "tfnb-lab-kernel");
    const head = html("header", "tfnb-lab-head");
    head.append(marked("h3", "name"), marked("span", "status", "tfnb-lab-muted"));
    const views = marked("div", "views", "tfnb-lab-buttons");
    for (const [view, label, hint] of KERNEL_VIEWS) {
      views.append(button(label, hint, () => this.actions.open(link, view)));
    }
    const load = button("Load tfnb", "Run %load_ext tfnb in this kernel", () => link.load());
    load.dataset["part"] = "load";
    element.append(
      head,
      load,
      views,
      marked("p", "problem", "tfnb-lab-problem"),
      marked("p", "waits", "tfnb-lab-problem"),
      fold("Servers", "servers", true),
      marked("div", "sweeps"),
      marked("div", "sessions"),
    );
    part(element, "problem").setAttribute("role", "status");
    part(element, "waits").setAttribute("role", "status");
    return element;
  }

  private fillKernel(element: HTMLElement, link: KernelLink): void {
    setText(part(element, "name"), link.name);
    part(element, "name").title = link.path;
    element.setAttribute("aria-label", `Kernel of ${link.name}`);
    // A kernel whose cell runs may report that it is idle, because its subshell is.
    const runs = link.snapshot?.sessions.some((one) => one.running.length > 0);
    const steps = link.snapshot?.sessions.flatMap((one) => one.running) ?? [];
    const stands = steps.every((one) => one.waits || one.isStopped || one.isHeld);
    const status = runs ? (stands ? "a step stands still" : "a step runs") : link.status;
    setText(part(element, "status"), link.isHere ? status : `${status}, without tfnb`);
    part(element, "load").hidden = link.isHere;
    part(element, "views").hidden = !link.isHere;
    setText(part(element, "problem"), link.problem);
    part(element, "problem").hidden = !link.problem;
    const found = link.snapshot;
    const waits = found?.waits ?? [];
    setText(part(element, "waits"), waits.join("\n"));
    part(element, "waits").hidden = waits.length === 0;
    const servers = found?.servers ?? [];
    part(element, "servers").parentElement!.hidden = servers.length === 0;
    setText(part(element, "servers-head"), `Servers (${servers.length})`);
    keyed(part(element, "servers"), servers, (one) => one.address, makeServer, fillServer);
    fillSweeps(part(element, "sweeps"), link, found?.sweeps ?? []);
    keyed(
      part(element, "sessions"),
      found?.sessions ?? [],
      (one) => one.key,
      (one) => this.makeSession(link, one),
      (child, one) => this.fillSession(child, link, one),
    );
  }

  // -- one session

  private makeSession(link: KernelLink, session: SessionInfo): HTMLElement {
    const element = html("div", "tfnb-lab-session");
    const { key } = session;
    const bar = html("div", "tfnb-lab-buttons");
    const hold = button("", "", () => {
      link.ask(hold.dataset["held"] === "true" ? "resume" : "pause", { session: key });
    });
    hold.dataset["part"] = "hold";
    bar.append(
      button("Graph", `The graph of ${session.title}`, () => this.actions.open(link, "graph", key)),
      button(
        "Partial runs",
        `The partial runs of ${session.title}: what is ready, what is missing`,
        () => this.actions.open(link, "partial", key),
      ),
      hold,
    );
    element.append(
      marked("h4", "title"),
      marked("p", "figures", "tfnb-lab-muted"),
      bar,
      marked("div", "running"),
      fold("Executors", "signatures", true),
      fold("Devices", "devices", true),
    );
    return element;
  }

  private fillSession(element: HTMLElement, link: KernelLink, session: SessionInfo): void {
    setText(part(element, "title"), session.title);
    part(element, "title").title = session.key;
    const { lastStep, stepsPerSecond } = session;
    const rate = stepsPerSecond ? ` · ${stepsPerSecond.toLocaleString("en")} steps/s` : "";
    const last = lastStep ? ` · last step ${lastStep}${rate}` : "";
    const where = session.target ? ` on ${session.target}` : "";
    setText(
      part(element, "figures"),
      `${session.name}${where} · ${countText(session.nodes, "node")}${last}`,
    );
    const hold = part(element, "hold");
    hold.hidden = !session.canHold;
    hold.dataset["held"] = String(session.isHeld);
    setText(hold, session.isHeld ? "Resume" : "Pause");
    hold.title = session.isHeld
      ? "Resume the steps of this session"
      : "Hold the steps of this session between two nodes";
    setLabel(hold, `${session.isHeld ? "Resume" : "Pause"} ${session.title}`);
    keyed(
      part(element, "running"),
      session.running,
      (step) => String(step.step),
      (step) => this.makeStep(link, session.key, step),
      (child, step) => fillStep(child, step, session.isHeld),
    );
    const count = session.signatures.length + session.moreSignatures;
    setText(part(element, "signatures-head"), `Executors (${count})`);
    keyed(
      part(element, "signatures"),
      session.signatures,
      (one) => String(one.id),
      (one) => this.makeSignature(link, session.key, one),
      (child, one) => fillSignature(child, one, one.id === session.lastSignature),
    );
    // Those of a session on a server are listed with the servers.
    part(element, "devices").parentElement!.hidden = session.devices.length === 0;
    setText(part(element, "devices-head"), `Devices (${session.devices.length})`);
    keyed(part(element, "devices"), session.devices, (one) => one.name, makeDevice, fillDevice);
  }

  private makeStep(link: KernelLink, session: string, { step }: RunningStep): HTMLElement {
    const element = html("div", "tfnb-lab-step");
    const head = html("div", "tfnb-lab-buttons");
    const cancel = button("Cancel", "End this step with a CancelledError", () =>
      link.ask("cancel", { session, step }),
    );
    setLabel(cancel, `Cancel step ${step}`);
    const look = button("Open the debugger", "Inspect the step that it holds", () =>
      this.actions.open(link, "debug"),
    );
    look.dataset["part"] = "look";
    head.append(marked("span", "what"), look, cancel);
    element.append(head, marked("div", "lines", "tfnb-lab-muted"));
    return element;
  }

  private makeSignature(link: KernelLink, key: string, one: SignatureInfo): HTMLElement {
    const element = html("div", "tfnb-lab-signature");
    const names = [...one.fetches, ...one.targets.map((name) => `${name} (run)`)].join(", ");
    const text = html("div", "tfnb-lab-names tfnb-lab-fetches", names);
    text.title = names;
    const feeds = html("div", "tfnb-lab-names tfnb-lab-muted");
    feeds.append("fed ", cutBeforeEnd(one.feeds.join(", ")));
    feeds.title = one.feeds.join(", ");
    feeds.hidden = one.feeds.length === 0;
    const bar = html("div", "tfnb-lab-buttons");
    bar.append(marked("span", "where", "tfnb-lab-muted"));
    for (const [view, label, hint] of SIGNATURE_VIEWS) {
      const opener = button(label, hint, () => this.actions.open(link, view, key, one.id));
      setLabel(opener, `${label} of ${names}`);
      bar.append(opener);
    }
    element.append(text, feeds, bar);
    return element;
  }
}

// -- parts

function fillSignature(element: HTMLElement, one: SignatureInfo, isLast: boolean): void {
  const last = isLast ? " · ran last" : "";
  setText(
    part(element, "where"),
    `No. ${one.id} · ${countText(one.nodes, "node")} on ${one.devices.join(", ")}${last}`,
  );
}

function fillStep(element: HTMLElement, step: RunningStep, isHeld: boolean): void {
  element.dataset["held"] = String(step.isHeld || isHeld);
  element.dataset["waits"] = String(step.waits || step.isStopped);
  part(element, "look").hidden = !step.isStopped;
  const does = doesText(step, isHeld);
  setText(part(element, "what"), `Step ${step.step}, ${does}, ${elapsedText(step.elapsed_ms)}`);
  const lines = part(element, "lines");
  setText(lines, step.lines.join("\n"));
  lines.hidden = step.lines.length === 0;
}

function makeServer(server: ServerInfo): HTMLElement {
  const element = html("div", "tfnb-lab-server");
  const head = html("div", "tfnb-lab-names tfnb-lab-fetches");
  const mark = marked("span", "mark", "tfnb-lab-mark");
  mark.setAttribute("aria-hidden", "true");
  head.append(mark, marked("span", "task"));
  head.title = server.address;
  element.append(
    head,
    marked("div", "state", "tfnb-lab-muted"),
    marked("div", "about", "tfnb-lab-muted"),
  );
  return element;
}

function fillServer(element: HTMLElement, server: ServerInfo): void {
  element.dataset["answers"] = String(server.answers);
  setText(part(element, "mark"), server.answers ? "●" : "○");
  setText(part(element, "task"), server.task);
  const devices = server.devices ? ` · ${server.devices}` : "";
  setText(part(element, "state"), `${server.state}${devices}`);
  setText(part(element, "about"), server.about);
  part(element, "about").hidden = server.about === "";
}

function makeDevice(): HTMLElement {
  const element = html("div", "tfnb-lab-device");
  const table = html("table", "tfnb-lab-table");
  const caption = html("caption", "tfnb-lab-hidden");
  caption.dataset["part"] = "caption";
  const head = html("tr");
  for (const title of ["Name", "Kind", "Holds"]) {
    const cell = html("th", "", title);
    cell.scope = "col";
    head.append(cell);
  }
  const titles = html("thead");
  titles.append(head);
  table.dataset["part"] = "table";
  const body = html("tbody");
  body.dataset["part"] = "rows";
  table.append(caption, titles, body);
  element.append(
    marked("div", "device", "tfnb-lab-muted"),
    table,
    marked("p", "more", "tfnb-lab-muted"),
  );
  return element;
}

function fillDevice(element: HTMLElement, device: DeviceInfo): void {
  // The limit of a CPU device is only TensorFlow's figure, and limits nothing.
  const limit = device.limit > 0 && device.type !== "CPU" ? ` of ${bytesText(device.limit)}` : "";
  setText(part(element, "device"), `${device.name} · ${bytesText(device.used)}${limit} in use`);
  setText(part(element, "caption"), `Resources on ${device.name}`);
  part(element, "table").hidden = device.resources.length === 0;
  keyed(
    part(element, "rows"),
    device.resources,
    (one) => `${one.container}\n${one.kind}\n${one.name}`,
    makeResource,
    (row, one) => setText(row.lastElementChild!, holds(one)),
  );
  const more = part(element, "more");
  more.hidden = device.moreResources === 0;
  setText(more, `and ${device.moreResources} more`);
}

function makeResource(one: ResourceInfo): HTMLElement {
  const row = html("tr");
  const name = html("td", "tfnb-lab-names tfnb-lab-fetches");
  // Names of variables differ anywhere: they break, behind slashes, and are not cut.
  name.append(...one.name.split(/(?<=\/)/).flatMap((word) => [word, html("wbr")]));
  name.title = `${one.name}, in container ${one.container}`;
  row.append(name, html("td", "tfnb-lab-muted", one.kind), html("td"));
  return row;
}

function holds(one: ResourceInfo): string {
  return one.bytes > 0 ? `${one.text} · ${bytesText(one.bytes)}` : one.text;
}

/** A list below a heading that closes it. */
function fold(title: string, name: string, isOpen: boolean): HTMLElement {
  const element = html("details", "tfnb-lab-fold");
  element.open = isOpen;
  const head = html("summary", "", title);
  head.dataset["part"] = `${name}-head`;
  element.append(head, marked("div", name));
  return element;
}

function marked<K extends "div" | "span" | "p" | "h3" | "h4">(
  tag: K,
  name: string,
  className = "",
): HTMLElementTagNameMap[K] {
  const element = html(tag, className);
  element.dataset["part"] = name;
  return element;
}

export function button(label: string, hint: string, onClick: () => void): HTMLButtonElement {
  const element = html("button", "tfnb-lab-button", label);
  element.type = "button";
  element.title = hint;
  element.addEventListener("click", onClick);
  return element;
}

export function setLabel(element: Element, label: string): void {
  if (element.getAttribute("aria-label") !== label) element.setAttribute("aria-label", label);
}
