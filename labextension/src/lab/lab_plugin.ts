/** The plugin: what container.ts carries, and JupyterLab activates. */

import style from "lab-style";
import type { Packages } from "./jupyter.ts";
import { activate } from "./plugin.ts";

export type Package = Record<string, unknown>;

/** The plugin of an application whose packages `shared` finds; a package that it lacks is empty. */
export async function makePlugin(shared: (name: string) => Promise<Package>): Promise<object> {
  const [application, apputils, launcher, widgets] = await Promise.all(
    [
      "@jupyterlab/application",
      "@jupyterlab/apputils",
      "@jupyterlab/launcher",
      "@lumino/widgets",
    ].map(shared),
  );
  const services = {
    labShell: application!["ILabShell"],
    restorer: application!["ILayoutRestorer"],
    palette: apputils!["ICommandPalette"],
    launcher: launcher!["ILauncher"],
  };
  const wanted = Object.entries(services).filter(([, token]) => token);
  const packages = { ...widgets, ...apputils } as unknown as Packages;
  return {
    id: "tfnb:sessions",
    description: "Sessions, devices and running steps of tfnb, and its views in tabs.",
    autoStart: true,
    optional: wanted.map(([, token]) => token),
    activate: (app: never, ...given: unknown[]) => {
      const sheet = document.createElement("style");
      sheet.textContent = style;
      document.head.append(sheet);
      activate(app, packages, Object.fromEntries(wanted.map(([name], i) => [name, given[i]])));
    },
  };
}
