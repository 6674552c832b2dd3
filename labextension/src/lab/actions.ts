/** What buttons of the panel and of the toolbar do, whatever they look like. */

import type { KernelLink } from "./kernel_link.ts";

export interface Actions {
  open(link: KernelLink, view: string, session?: string, signature?: number): void;
}

/** Views of a whole kernel. */
export const KERNEL_VIEWS = [
  ["progress", "Progress", "Watch every step of this kernel while it runs"],
  ["debug", "Debugger", "Stop steps at nodes, look inside, step on"],
  ["run", "Record", "Record the next step, to be looked at over time"],
  ["values", "Values", "The values of the last cell that began with %%tfnb values"],
  ["compare", "Compare", "What differs between the last two recorded runs"],
] as const;

/** Views of one cached signature. */
export const SIGNATURE_VIEWS = [
  ["placement", "Placement", "The device of each node, and why"],
  ["partitions", "Partitions", "The graph of each device, and what is sent"],
  ["passes", "Passes", "The graph before and after each optimisation pass"],
] as const;
