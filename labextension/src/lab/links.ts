/** The kernels of this page: one link for each Python kernel that runs, for any document. */

import type { ServiceManager, WithKernel } from "./jupyter.ts";
import { KernelLink } from "./kernel_link.ts";

export class Links {
  private readonly links = new Map<string, KernelLink>();
  private readonly listeners = new Set<() => void>();

  constructor(private readonly services: ServiceManager) {
    services.sessions.runningChanged.connect(() => this.update());
    void Promise.all([services.sessions.ready, services.kernelspecs.ready]).then(() =>
      this.update(),
    );
  }

  get all(): KernelLink[] {
    return [...this.links.values()];
  }

  /** Called on every change in any kernel. */
  listen(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** The link of a document's or console's kernel. */
  of(widget: WithKernel | null): KernelLink | null {
    return this.links.get(widget?.sessionContext?.session?.kernel?.id ?? "") ?? null;
  }

  atPath(path: string): KernelLink | null {
    return this.all.find((link) => link.path === path) ?? null;
  }

  private update(): void {
    const specs = this.services.kernelspecs.specs?.kernelspecs ?? {};
    const running = new Set<string>();
    for (const { kernel, path, name, type } of this.services.sessions.running()) {
      if (!kernel || (specs[kernel.name]?.language ?? "python") !== "python") continue;
      const title = type === "notebook" ? path.split("/").pop()! : name || path;
      const known = this.links.get(kernel.id);
      if (known && (running.has(kernel.id) || known.path === path)) {
        running.add(kernel.id);
        continue;
      }
      running.add(kernel.id);
      if (known) {
        known.path = path;
        known.name = title;
        continue;
      }
      // Comms belong to the notebook's own connection.
      const connection = this.services.kernels.connectTo({ model: kernel, handleComms: false });
      const link = new KernelLink(kernel.id, connection, path, title);
      link.listen(this.tell);
      this.links.set(kernel.id, link);
    }
    for (const [id, link] of this.links) {
      if (running.has(id)) continue;
      this.links.delete(id);
      link.dispose();
    }
    this.tell();
  }

  private readonly tell = (): void => {
    for (const listener of [...this.listeners]) listener();
  };
}
