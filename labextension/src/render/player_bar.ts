/** Playback controls: seek to an event, step one event, jump to the next iteration, play. */

import { html, ICONS, iconButton, setText } from "./dom.ts";
import { KIND, type RunRecord } from "./run_record.ts";
import type { Scene } from "./scene.ts";
import { duration } from "./units.ts";

/** Target duration of a playback; MOST_PER_SECOND limits the event rate. */
const PLAY_MS = 12_000;
const MOST_PER_SECOND = 400;
const FRAME_MS = 50;

const WORDS: Record<number, string> = {
  [KIND.started]: "starts",
  [KIND.done]: "is done",
  [KIND.dead]: "is dead",
  [KIND.sent]: "is sent",
  [KIND.received]: "has arrived",
};

export class PlayerBar {
  readonly element = html("div", "tfnb-player");
  private readonly slider = html("input", "tfnb-slider");
  private readonly playButton: HTMLButtonElement;
  private readonly clock = html("span", "tfnb-clock");
  private readonly event = html("span", "tfnb-event");
  private record: RunRecord | null = null;
  private scene: Scene | null = null;
  private timer: ReturnType<typeof setInterval> | null = null;
  private position = 0;

  constructor(private readonly onMove: (events: number) => void) {
    this.slider.type = "range";
    this.slider.min = "0";
    this.slider.setAttribute("aria-label", "Time: events that have happened");
    this.slider.addEventListener("input", () => this.move(Number(this.slider.value)));
    this.playButton = iconButton("Play", ICONS.play, () => this.toggle());
    this.element.setAttribute("role", "group");
    this.element.setAttribute("aria-label", "Time");
    this.element.append(
      iconButton("To the beginning", ICONS.first, () => this.move(0)),
      iconButton("One event back", ICONS.back, () => this.move(this.position - 1)),
      this.playButton,
      iconButton("One event on", ICONS.forward, () => this.move(this.position + 1)),
      iconButton("To the next iteration", ICONS.last, () => this.nextIteration()),
      this.slider,
      this.clock,
      this.event,
    );
    this.element.addEventListener("keydown", (event) => event.stopPropagation());
  }

  dispose(): void {
    this.pause();
  }

  setRecord(record: RunRecord, scene: Scene): void {
    this.record = record;
    this.scene = scene;
    this.slider.max = String(record.count);
    this.move(record.count);
  }

  /** Number of events before the current position. */
  get events(): number {
    return this.position;
  }

  move(events: number, isPlaying = false): void {
    const { record } = this;
    if (!record) return;
    if (!isPlaying) this.pause();
    this.position = Math.max(0, Math.min(record.count, Math.round(events)));
    this.slider.value = String(this.position);
    const time = `${duration(record.timeAfter(this.position))} of ${duration(record.durationNs)}`;
    const said = this.describe(this.position - 1);
    setText(this.clock, time);
    setText(this.event, said);
    this.event.title = said;
    this.slider.setAttribute("aria-valuetext", `${time}: ${said}`);
    this.onMove(this.position);
  }

  private describe(event: number): string {
    const { record, scene } = this;
    if (!record || !scene) return "";
    if (event < 0) return "nothing has happened";
    const about = record.frames[record.frame[event]!];
    const kind = record.kind[event]!;
    const node = record.node[event]!;
    const iteration = record.iteration[event]!;
    const loop = about?.name ? `, iteration ${iteration} of ${about.name}` : "";
    if (node >= 0) {
      const bytes = kind >= KIND.sent ? ` (${iteration.toLocaleString("en")} bytes)` : loop;
      return `${scene.name(node)} ${WORDS[kind] ?? ""}${bytes}`;
    }
    const name = about?.name ?? "";
    if (kind === KIND.frameEntered) return `${name} is entered`;
    if (kind === KIND.frameDone) return `${name} has ended`;
    const verb = kind === KIND.iterationStarted ? "begins" : "has ended";
    return `iteration ${iteration} of ${name} ${verb}`;
  }

  private nextIteration(): void {
    const { record } = this;
    if (!record) return;
    for (let i = this.position; i < record.count; i++) {
      if (record.kind[i] === KIND.iterationStarted) {
        this.move(i + 1);
        return;
      }
    }
    this.move(record.count);
  }

  private toggle(): void {
    if (this.timer !== null) {
      this.pause();
      return;
    }
    const { record } = this;
    if (!record) return;
    if (this.position >= record.count) this.move(0);
    const perSecond = Math.min(
      Math.max(record.count / (PLAY_MS / 1000), 4),
      Math.max(MOST_PER_SECOND, record.count / 60),
    );
    let due = this.position;
    this.timer = setInterval(() => {
      due += (perSecond * FRAME_MS) / 1000;
      if (Math.floor(due) > this.position) this.move(Math.floor(due), true);
      if (this.position >= record.count) this.pause();
    }, FRAME_MS);
    this.showPlaying(true);
  }

  private pause(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
    this.showPlaying(false);
  }

  private showPlaying(isPlaying: boolean): void {
    const label = isPlaying ? "Pause" : "Play";
    if (this.playButton.title === label) return;
    this.playButton.title = label;
    this.playButton.setAttribute("aria-label", label);
    this.playButton.querySelector("path")?.setAttribute("d", isPlaying ? ICONS.pause : ICONS.play);
  }
}
