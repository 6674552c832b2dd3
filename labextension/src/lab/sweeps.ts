/** Trainings that run together, in the side panel; tfnb/notebook/lab/lab_sweeps.py reports them. */

import { html, setText } from "../render/dom.ts";
import type { KernelLink } from "./kernel_link.ts";
import { keyed, part } from "./keyed.ts";
import { elapsedText, type RunInfo, type SweepInfo } from "./snapshot.ts";

/** A space between a name and its number, where no line ends. */
const NO_BREAK = "\u00a0";
const MARKS = { waiting: "◌", running: "▶", finished: "✓", failed: "✗", cancelled: "■" };

/** A section for each group of trainings. */
export function fillSweeps(element: HTMLElement, link: KernelLink, sweeps: SweepInfo[]): void {
  keyed(
    element,
    sweeps,
    (one) => one.key,
    (one) => makeSweep(link, one),
    (child, one) => fillSweep(child, link, one),
  );
}

function makeSweep(link: KernelLink, { key, title }: SweepInfo): HTMLElement {
  const element = html("section", "tfnb-lab-session");
  element.setAttribute("aria-label", `Trainings of ${title}`);
  const head = html("div", "tfnb-lab-buttons");
  const all = cancelButton("Cancel all", `Cancel all trainings of ${title}`, () =>
    link.ask("cancelRun", { sweep: key }),
  );
  all.dataset["part"] = "all";
  head.append(marked("h4", "title"), all);
  const runs = html("ul", "tfnb-lab-runs");
  runs.dataset["part"] = "runs";
  element.append(head, marked("p", "figures"), runs, marked("p", "more"));
  part(element, "figures").className = "tfnb-lab-muted";
  part(element, "more").className = "tfnb-lab-muted";
  return element;
}

function fillSweep(element: HTMLElement, link: KernelLink, sweep: SweepInfo): void {
  setText(part(element, "title"), `Trainings of ${sweep.title}`);
  part(element, "all").hidden = sweep.isOver;
  const counts = new Map<string, number>();
  for (const run of sweep.runs) counts.set(run.status, (counts.get(run.status) ?? 0) + 1);
  setText(
    part(element, "figures"),
    [...counts].map(([status, count]) => `${count} ${status}`).join(" · "),
  );
  keyed(
    part(element, "runs"),
    sweep.runs,
    (run) => String(run.index),
    (run) => makeRun(link, sweep.key, run),
    fillRun,
  );
  const more = part(element, "more");
  more.hidden = sweep.moreRuns === 0;
  setText(more, `and ${sweep.moreRuns} more`);
}

function makeRun(link: KernelLink, sweep: string, run: RunInfo): HTMLElement {
  const element = html("li", "tfnb-lab-run");
  const name = run.parameters || `training ${run.index}`;
  const head = html("div", "tfnb-lab-head");
  const cancel = cancelButton("Cancel", `Cancel the training ${name}`, () =>
    link.ask("cancelRun", { sweep, run: run.index }),
  );
  cancel.dataset["part"] = "cancel";
  const title = html("span", "tfnb-lab-names tfnb-lab-fetches");
  const mark = html("span", "tfnb-lab-mark");
  mark.dataset["part"] = "mark";
  mark.setAttribute("aria-hidden", "true");
  title.append(mark, name);
  head.append(title, cancel);
  element.append(head, marked("p", "status"), marked("p", "error"));
  part(element, "status").className = "tfnb-lab-muted";
  part(element, "error").className = "tfnb-lab-problem tfnb-lab-small";
  return element;
}

function fillRun(element: HTMLElement, run: RunInfo): void {
  element.dataset["status"] = run.status;
  setText(part(element, "mark"), MARKS[run.status]);
  const time = run.seconds ? `, ${elapsedText(run.seconds * 1000)}` : "";
  const again = run.restarts ? `, started ${run.restarts + 1} times` : "";
  const figures = run.loss ? [["loss", run.loss], ...run.figures] : run.figures;
  const step = run.step ? [["step", run.step.toLocaleString("en")]] : [];
  const numbers = [...step, ...figures].map((pair) => ` · ${pair.join(NO_BREAK)}`);
  setText(part(element, "status"), `${run.status}${time}${again}${numbers.join("")}`);
  setText(part(element, "error"), run.error);
  part(element, "error").hidden = !run.error;
  part(element, "cancel").hidden = run.status !== "running" && run.status !== "waiting";
}

function marked(tag: "h4" | "p", name: string): HTMLElement {
  const element = html(tag);
  element.dataset["part"] = name;
  return element;
}

function cancelButton(label: string, hint: string, onClick: () => void): HTMLButtonElement {
  const element = html("button", "tfnb-lab-button", label);
  element.type = "button";
  element.title = hint;
  element.setAttribute("aria-label", hint);
  element.addEventListener("click", onClick);
  return element;
}
