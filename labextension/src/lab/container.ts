/**
 * The script that JupyterLab loads: a module federation container, written by hand.  JupyterLab hands its packages over
 * (`init`) and requests the plugin (`get`); the extension bundles nothing of JupyterLab.
 */

import style from "lab-style";
import type { Packages } from "./jupyter.ts";
import { activate } from "./plugin.ts";

interface Shared {
  get(): Promise<() => unknown>;
  loaded?: unknown;
}
type Scope = Record<string, Record<string, Shared>>;
type Package = Record<string, unknown>;

let scope: Scope = {};

/** A package of the page; empty if the application lacks it. */
async function shared(name: string): Promise<Package> {
  const found = Object.values(scope[name] ?? {});
  const chosen = found.find((one) => one.loaded) ?? found[0];
  return chosen ? ((await chosen.get())() as Package) : {};
}

async function makePlugin(): Promise<object> {
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

const page = window as unknown as { _JUPYTERLAB?: Record<string, object> };
page._JUPYTERLAB ??= {};
page._JUPYTERLAB["tfnb"] = {
  init: (given: Scope) => {
    scope = given;
  },
  get: async () => {
    const module = { __esModule: true, default: await makePlugin() };
    return () => module;
  },
};
