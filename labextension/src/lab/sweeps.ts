/** Trainings that run together, in the side panel; tfnb/notebook/lab/lab_sweeps.py reports them. */

import { html, setText } from "../render/dom.ts";
import type { KernelLink } from "./kernel_link.ts";
import { keyed, part } from "./keyed.ts";
import { elapsedText, type RunInfo, type SweepInfo } from "./snapshot.ts";

const COLUMNS = ["Training", "Status", "Step", "Loss", "Figures", ""];
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
  const table = html("table", "tfnb-lab-table");
  const names = html("tr");
  for (const name of COLUMNS) {
    const cell = html(name ? "th" : "td", "", name);
    if (cell instanceof HTMLTableCellElement && name) cell.scope = "col";
    names.append(cell);
  }
  const titles = html("thead");
  titles.append(names);
  const body = html("tbody");
  body.dataset["part"] = "runs";
  table.append(titles, body);
  element.append(head, marked("p", "figures"), table, marked("p", "more"));
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
  const row = html("tr");
  const name = html("td", "tfnb-lab-names", run.parameters || String(run.index));
  name.title = run.parameters;
  const last = html("td");
  const cancel = cancelButton("Cancel", `Cancel the training ${run.parameters}`, () =>
    link.ask("cancelRun", { sweep, run: run.index }),
  );
  cancel.dataset["part"] = "cancel";
  last.append(cancel);
  row.append(
    name,
    marked("td", "status"),
    marked("td", "step"),
    marked("td", "loss"),
    marked("td", "numbers"),
    last,
  );
  return row;
}

function fillRun(row: HTMLElement, run: RunInfo): void {
  const again = run.restarts ? `, started ${run.restarts + 1} times` : "";
  const time = run.seconds ? `, ${elapsedText(run.seconds * 1000)}` : "";
  const status = part(row, "status");
  setText(status, `${MARKS[run.status]} ${run.status}${time}${again}`);
  status.title = run.error;
  setText(part(row, "step"), run.step.toLocaleString("en"));
  setText(part(row, "loss"), run.loss);
  setText(part(row, "numbers"), run.figures.map(([name, value]) => `${name} ${value}`).join(", "));
  part(row, "cancel").hidden = run.status !== "running" && run.status !== "waiting";
}

function marked(tag: "h4" | "p" | "td", name: string): HTMLElement {
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
