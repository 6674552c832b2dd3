/** A kernel's report about its sessions; tfnb/notebook/lab/lab_snapshot.py makes it. */

export interface RunningStep {
  step: number;
  isHeld: boolean;
  /** It waits until another step acts; the lines say for what. */
  waits: boolean;
  /** A debugger holds it. */
  isStopped: boolean;
  /** Since it was first seen. */
  elapsed_ms: number;
  lines: string[];
}

export interface SignatureInfo {
  id: number;
  feeds: string[];
  fetches: string[];
  targets: string[];
  nodes: number;
  devices: string[];
}

export interface ResourceInfo {
  container: string;
  kind: string;
  name: string;
  text: string;
  bytes: number;
}

export interface DeviceInfo {
  name: string;
  type: string;
  limit: number;
  held: number;
  used: number;
  resources: ResourceInfo[];
  moreResources: number;
}

export interface SessionInfo {
  key: string;
  /** The variable that holds it, or its number. */
  title: string;
  /** Its type. */
  name: string;
  target: string;
  nodes: number;
  lastStep: number;
  /** 0 while no loop runs. */
  stepsPerSecond: number;
  lastSignature: number;
  isHeld: boolean;
  canHold: boolean;
  running: RunningStep[];
  moreRunning: number;
  signatures: SignatureInfo[];
  moreSignatures: number;
  devices: DeviceInfo[];
}

/** A task of a cluster that the kernel knows, with its last answer. */
export interface ServerInfo {
  task: string;
  address: string;
  answers: boolean;
  /** Whether it answers; if not, for how long, and why. */
  state: string;
  devices: string;
  /** What it says of itself: memory, sessions, steps. */
  about: string;
}

export interface Snapshot {
  sweeps: SweepInfo[];
  sessions: SessionInfo[];
  moreSessions: number;
  servers?: ServerInfo[];
  /** Requests that wait for servers, one line each. */
  waits?: string[];
  views: Record<string, string>;
}

/** Bytes in a readable form. */
export function bytesText(count: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  let value = count;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit && value < 100 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

/** How long a step has run. */
export function elapsedText(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")} min`;
}

/** The state of a step, in a few words. */
export function doesText(step: RunningStep, isHeld: boolean): string {
  if (step.isStopped) return "stopped in the debugger";
  if (isHeld || step.isHeld) return "held";
  return step.waits ? "waits" : "running";
}

/** A training of several that run together. */
export interface RunInfo {
  index: number;
  parameters: string;
  status: "waiting" | "running" | "finished" | "failed" | "cancelled";
  step: number;
  loss: string;
  figures: [string, string][];
  seconds: number;
  restarts: number;
  error: string;
}

/** Trainings that run together. */
export interface SweepInfo {
  key: string;
  title: string;
  runs: RunInfo[];
  moreRuns: number;
  isOver: boolean;
}
