/** The item in a notebook's toolbar: the step that runs in its kernel, with pause and cancel; empty if none runs. */

import { html, ICONS, iconButton, setText } from "../render/dom.ts";
import type { NotebookPanel, Packages, Widget } from "./jupyter.ts";
import type { KernelLink } from "./kernel_link.ts";
import type { Links } from "./links.ts";
import { setLabel } from "./panel.ts";
import { doesText, elapsedText, type SessionInfo } from "./snapshot.ts";

/** Widths in pixels: what a notebook's own items and the step take, and of a text that is worth its place. */
const OTHER_ITEMS = 720;
const LEAST_TEXT = 100;

/** The session whose step the item shows: one that runs, or else one that is held. */
export function busySession(link: KernelLink | null): SessionInfo | null {
  const sessions = link?.snapshot?.sessions ?? [];
  const running = sessions.filter((one) => one.running.length > 0);
  return running.at(-1) ?? sessions.find((one) => one.isHeld) ?? null;
}

export function toolbarItem(packages: Packages, links: Links, panel: NotebookPanel): Widget {
  const root = html("div", "tfnb-lab-toolbar");
  const text = html("span", "tfnb-lab-now");
  text.setAttribute("role", "status");
  const act = (request: string) => {
    const link = links.of(panel);
    const session = busySession(link);
    if (link && session) link.ask(request, { session: session.key });
  };
  const hold = iconButton("Pause", ICONS.pause, () =>
    act(hold.dataset["held"] === "true" ? "resume" : "pause"),
  );
  const cancel = iconButton("Cancel the running step", ICONS.stop, () => act("cancel"));
  const why = html("span", "tfnb-lab-why");
  root.append(text, why, hold, cancel);
  const widget = new packages.Widget({ node: root });
  widget.id = `tfnb-toolbar-${Math.random().toString(36).slice(2)}`;
  const update = () => {
    const session = busySession(links.of(panel));
    widget.setHidden(!session);
    if (!session) return;
    const step = session.running.at(-1);
    const does = step ? doesText(step, session.isHeld) : "held";
    root.dataset["does"] = does;
    setText(text, step ? `Step ${step.step} ${does}, ${elapsedText(step.elapsed_ms)}` : "Held");
    // The item says what a step waits for; the node that runs changes too fast to read.
    const [first = ""] = step?.lines ?? [];
    setText(why, does === "waits" ? first : "");
    // The text takes the room that is left: a longer one would push the buttons out.
    const room = panel.node.clientWidth - OTHER_ITEMS;
    why.style.maxWidth = `min(24em, ${room}px)`;
    why.hidden = why.textContent === "" || room < LEAST_TEXT;
    text.title = why.title = step?.lines.join("\n") ?? "";
    hold.hidden = !session.canHold;
    hold.dataset["held"] = String(session.isHeld);
    const label = session.isHeld ? "Resume the steps" : "Pause the steps";
    setLabel(hold, label);
    hold.title = label;
    hold.querySelector("path")!.setAttribute("d", session.isHeld ? ICONS.play : ICONS.pause);
    cancel.hidden = !step;
  };
  const unlisten = links.listen(update);
  widget.disposed.connect(unlisten);
  update();
  return widget;
}
