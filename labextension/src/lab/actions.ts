/** The actions of buttons in the panel and the toolbar, whatever the buttons look like. */

import type { KernelLink } from "./kernel_link.ts";

export interface Actions {
  open(link: KernelLink, view: string, session?: string, signature?: number): void;
}

/** Views of a whole kernel. */
export const KERNEL_VIEWS = [
  ["progress", "Progress", "Watch every step of this kernel while it runs"],
  ["debug", "Debugger", "Stop steps at nodes, look inside, step on"],
  ["run", "Record", "Record the next step, and replay it over time"],
  ["values", "Values", "The values of the last cell that began with %%tfnb values"],
  ["compare", "Compare", "The differences between the last two recorded runs"],
] as const;

/** Views of one cached signature. */
export const SIGNATURE_VIEWS = [
  ["placement", "Placement", "The device of each node, and why"],
  ["partitions", "Partitions", "The graph of each device, and what is sent"],
  ["passes", "Passes", "The graph before and after each optimisation pass"],
] as const;
