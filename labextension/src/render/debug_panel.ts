/**
 * The debugger's panel: buttons, the stopped step's place and values, the loops around it, and breakpoints.
 *
 * Shows the data of tfnb/notebook/pictures/stop_view.py; every button and form sends one message to the kernel.
 */

import { html, ICONS, iconButton, setText } from "./dom.ts";
import { shortDevice } from "./palette.ts";
import { countText } from "./units.ts";

export interface StopValue {
  tensor: string;
  text: string;
  canChange: boolean;
}

export interface Stop {
  step: number;
  function: string;
  device: string;
  node: string;
  op: string;
  phase: "before" | "after";
  isDead: boolean;
  reason: string;
  loops: [string, number][];
  values: StopValue[];
  moreValues: number;
  ready: string[];
  frames: StopFrame[];
  moreFrames: number;
  nodes: StopNode[];
  moreNodes: number;
}

export interface StopFrame {
  name: string;
  device: string;
  depth: number;
  isHere: boolean;
  parallel: number;
  deferred: string[];
  iterations: {
    number: number;
    isHere: boolean;
    outstanding: number;
    dead: number;
    values: number;
  }[];
}

export interface StopNode {
  name: string;
  op: string;
  state: string;
  pending: number;
  dead: number;
  entries: [string, string][];
  missing: string[];
}

export interface DebugState {
  stop: Stop | Record<string, never>;
  breakpoints: { number: number; text: string; hits: number; enabled: boolean }[];
  isOver: boolean;
  hasButtons: boolean;
  /** Steps that begin now are debugged, or one that runs is. */
  isAttached?: boolean;
  /** A step that began without the debugger is held between two nodes. */
  isHeld?: boolean;
  /** A step runs that began without the debugger. */
  isUndriven?: boolean;
  answer: string;
  isError: boolean;
}

export type Message = Record<string, string>;

const COMMANDS = [
  ["continue", "Continue", "Go on to the next breakpoint"],
  ["pause", "Pause", "Stop before the next node that runs"],
  ["step", "Step", "Run one node"],
  ["over", "Over", "Run one node; a function that it calls runs through"],
  ["iteration", "Iteration", "Go on to the next iteration of this loop"],
  ["frame", "Leave loop", "Go on until this loop has ended"],
  ["cancel", "Cancel", "End the step"],
] as const;
const IN_LOOPS = new Set(["iteration", "frame"]);

export class DebugPanel {
  readonly element = html("div", "tfnb-debug");
  private readonly buttons = new Map<string, HTMLButtonElement>();
  private readonly heading = html("div", "tfnb-debug-heading");
  private readonly answer = html("pre", "tfnb-debug-answer");
  private readonly values = html("div", "tfnb-debug-values");
  private readonly loops = html("div", "tfnb-debug-loops");
  private readonly nodes = html("div", "tfnb-debug-nodes");
  private readonly list = html("ul", "tfnb-debug-breaks");
  private readonly form = html("form", "tfnb-debug-form");
  private readonly nodeInput = textInput(
    "Node or pattern",
    "node or a*",
    "A node, or a pattern with *",
  );
  private offered = "";
  private shown = "";

  constructor(
    private readonly send: (message: Message) => void,
    private readonly onPick: (name: string) => void,
  ) {
    const bar = html("div", "tfnb-debug-bar");
    bar.setAttribute("role", "toolbar");
    bar.setAttribute("aria-label", "Debugger");
    for (const [command, label, title] of COMMANDS) {
      const button = html("button", "tfnb-debug-button", label);
      button.type = "button";
      button.title = title;
      button.addEventListener("click", () => this.send({ command }));
      this.buttons.set(command, button);
      bar.append(button);
    }
    this.heading.setAttribute("role", "status");
    this.answer.setAttribute("aria-live", "polite");
    const columns = html("div", "tfnb-debug-columns");
    columns.append(
      section("Here", this.values),
      section("Loops", this.loops),
      section("Nodes of this iteration", this.nodes),
      section("Breakpoints", this.list, this.breakForm()),
    );
    this.element.append(bar, this.heading, this.answer, columns);
    this.element.addEventListener("keydown", (event) => event.stopPropagation());
  }

  /** A node was selected in the graph: put it into the form; it replaces typed text only if the user picked it. */
  selected(name: string, isPicked: boolean): void {
    const { nodeInput } = this;
    if (!name || document.activeElement === nodeInput) return;
    if (!isPicked && nodeInput.value !== this.offered) return;
    nodeInput.value = this.offered = name;
  }

  /** `runs`: a step is in flight. */
  show(state: DebugState, runs: boolean): void {
    const { stop } = state;
    const stands = isStop(stop);
    const isHeld = !stands && state.isHeld === true;
    this.element.dataset["phase"] = state.isOver ? "over" : stands ? "stopped" : "running";
    for (const [command, button] of this.buttons) {
      const needsStop = command !== "pause" && command !== "cancel";
      const isInLoop = stands && stop.loops.length > 0;
      button.disabled =
        state.isOver ||
        !state.hasButtons ||
        (needsStop && !stands && !(command === "continue" && isHeld)) ||
        (command === "pause" && (stands || isHeld)) ||
        (command === "cancel" && !runs && !stands && !isHeld && !state.isUndriven) ||
        (IN_LOOPS.has(command) && !isInLoop);
    }
    setText(this.heading, headingText(state, runs));
    setText(this.answer, state.answer);
    this.answer.hidden = state.answer === "";
    this.answer.classList.toggle("tfnb-is-error", state.isError);
    this.showBreakpoints(state);
    const key = stands ? JSON.stringify(stop) : "";
    if (key === this.shown) return;
    this.shown = key;
    if (!stands) {
      for (const part of [this.values, this.loops, this.nodes]) part.replaceChildren();
      return;
    }
    this.showValues(stop);
    this.showLoops(stop);
    this.showNodes(stop);
  }

  private showValues(stop: Stop): void {
    const what = stop.phase === "before" ? "inputs" : "outputs";
    const rows = stop.values.map((value) => {
      const row = html("div", "tfnb-debug-value");
      const name = html("span", "tfnb-debug-tensor", value.tensor);
      name.title = value.tensor;
      row.append(name, html("pre", "tfnb-debug-text", value.text));
      if (value.canChange) row.append(this.changeForm(value.tensor));
      return row;
    });
    if (rows.length === 0) rows.push(html("div", "tfnb-debug-none", `no ${what}`));
    if (stop.moreValues > 0)
      rows.push(html("div", "tfnb-debug-none", `and ${stop.moreValues} more`));
    if (stop.ready.length > 1) {
      rows.push(html("div", "tfnb-debug-none", `ready: ${stop.ready.slice(0, 12).join(", ")}`));
    }
    this.values.replaceChildren(...rows);
  }

  private changeForm(tensor: string): HTMLElement {
    const form = html("form", "tfnb-debug-change");
    const input = textInput(`New value of ${tensor}`, "new value");
    const button = html("button", "tfnb-debug-button", "Set");
    button.type = "submit";
    form.append(input, button);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (input.value.trim()) this.send({ command: "set", tensor, value: input.value });
    });
    return form;
  }

  private showLoops(stop: Stop): void {
    const rows = stop.frames.map((frame) => {
      const row = html("div", "tfnb-debug-frame");
      row.classList.toggle("tfnb-is-here", frame.isHere);
      const most = frame.name ? `, at most ${frame.parallel} at a time` : "";
      row.append(
        html(
          "div",
          "tfnb-debug-frame-name",
          `${frame.name || "graph"} on ${shortDevice(frame.device)}${most}`,
        ),
      );
      for (const one of frame.iterations) {
        const line = html(
          "div",
          "tfnb-debug-iteration",
          `iteration ${one.number}: ${one.outstanding} outstanding, ${countText(one.values, "value")}, ${one.dead} dead`,
        );
        line.classList.toggle("tfnb-is-here", one.isHere);
        row.append(line);
      }
      if (frame.deferred.length > 0) {
        row.append(html("div", "tfnb-debug-held", `held back: ${frame.deferred.join(", ")}`));
      }
      return row;
    });
    if (stop.moreFrames > 0) {
      rows.push(html("div", "tfnb-debug-none", `and ${stop.moreFrames} more frames`));
    }
    this.loops.replaceChildren(...rows);
  }

  private showNodes(stop: Stop): void {
    const rows = stop.nodes.map((node) => {
      const row = html("div", "tfnb-debug-node");
      row.dataset["state"] = node.state;
      const name = html("button", "tfnb-link", node.name);
      name.type = "button";
      name.title =
        node.entries.map(([tensor, state]) => `${tensor}: ${state}`).join("\n") || node.op;
      name.addEventListener("click", () => {
        this.onPick(node.name);
        this.send({ command: "why", node: node.name });
      });
      const waits = node.missing.length > 0 ? `waits for ${node.missing.join(", ")}` : "";
      row.append(
        html("span", "tfnb-debug-node-state", node.state),
        name,
        html("span", "tfnb-debug-node-waits", waits),
      );
      return row;
    });
    if (stop.moreNodes > 0) {
      rows.push(html("div", "tfnb-debug-none", `and ${stop.moreNodes} more nodes`));
    }
    this.nodes.replaceChildren(...rows);
  }

  private showBreakpoints(state: DebugState): void {
    this.form.inert = state.isOver || !state.hasButtons;
    this.list.replaceChildren(
      ...state.breakpoints.map((one) => {
        const row = html("li", "tfnb-debug-break");
        row.classList.toggle("tfnb-is-off", !one.enabled);
        row.append(
          html("span", "tfnb-debug-break-text", one.text),
          html("span", "tfnb-debug-break-hits", one.hits > 0 ? `hit ${one.hits}×` : ""),
        );
        const remove = iconButton(`Remove breakpoint ${one.number}`, ICONS.close, () =>
          this.send({ command: "clear", number: String(one.number) }),
        );
        remove.disabled = state.isOver || !state.hasButtons;
        row.append(remove);
        return row;
      }),
    );
  }

  private breakForm(): HTMLElement {
    const iteration = textInput("Iteration", "iteration");
    iteration.inputMode = "numeric";
    const condition = textInput(
      "Condition",
      "nan, max > 3",
      "Stop only if: nan, inf, max > 3, dead …",
    );
    const add = html("button", "tfnb-debug-button", "Break");
    add.type = "submit";
    this.form.append(this.nodeInput, iteration, condition, add);
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.send({
        command: "break",
        node: this.nodeInput.value,
        iteration: iteration.value,
        condition: condition.value,
      });
    });
    return this.form;
  }
}

function headingText(state: DebugState, runs: boolean): string {
  const { stop, isOver, hasButtons, isAttached, isHeld, isUndriven } = state;
  if (isOver) return "The cell has ended; this is its last step.";
  if (!isStop(stop)) {
    if (!hasButtons) {
      return "Running. This kernel cannot receive clicks while a cell runs: interrupt it to end the step.";
    }
    if (isHeld) {
      return "Held between two nodes. This step began without the debugger: Continue resumes it; to look inside, set a breakpoint and run it again.";
    }
    if (!runs && !isUndriven) {
      return "No step runs. Pause stops the next one before its first node, a breakpoint at the node that it names.";
    }
    return isAttached === false || isUndriven
      ? "Running at full speed, without the debugger. Pause holds the step between two nodes."
      : "Running. Pause stops it before the next node.";
  }
  const loops = stop.loops.map(([name, number]) => `, iteration ${number} of ${name}`).join("");
  const inside = stop.function ? `, in function ${stop.function}` : "";
  const dead = stop.isDead ? ", dead" : "";
  return `Stands ${stop.phase} ${stop.node} (${stop.op})${loops}${inside}${dead} on ${shortDevice(stop.device)} · ${stop.reason}`;
}

function isStop(stop: DebugState["stop"]): stop is Stop {
  return "node" in stop;
}

function textInput(label: string, placeholder: string, hint = ""): HTMLInputElement {
  const input = html("input", "tfnb-debug-input");
  input.type = "text";
  input.placeholder = placeholder;
  input.title = hint;
  input.setAttribute("aria-label", label);
  input.autocomplete = "off";
  input.spellcheck = false;
  return input;
}

function section(title: string, ...parts: HTMLElement[]): HTMLElement {
  const box = html("section", "tfnb-debug-section");
  box.setAttribute("aria-label", title);
  box.append(html("div", "tfnb-debug-title", title), ...parts);
  return box;
}
