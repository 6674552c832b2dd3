/**
 * The script that JupyterLab loads: a module federation container, written by hand.  JupyterLab hands its packages over
 * (`init`) and requests the plugin (`get`); the extension bundles nothing of JupyterLab.  Every page loads this script,
 * so that what it carries (lab_plugin.ts) is deflated.
 */

import packed from "lab-source";
import { unpack } from "../render/unpack.ts";
import type { Package } from "./lab_plugin.ts";

interface Shared {
  get(): Promise<() => unknown>;
  loaded?: unknown;
}
type Scope = Record<string, Record<string, Shared>>;
type LabPlugin = typeof import("./lab_plugin.ts");

let scope: Scope = {};

/** A package of the page; empty if the application lacks it. */
async function shared(name: string): Promise<Package> {
  const found = Object.values(scope[name] ?? {});
  const chosen = found.find((one) => one.loaded) ?? found[0];
  return chosen ? ((await chosen.get())() as Package) : {};
}

let loaded: Promise<LabPlugin> | null = null;

const page = window as unknown as { _JUPYTERLAB?: Record<string, object> };
page._JUPYTERLAB ??= {};
page._JUPYTERLAB["tfnb"] = {
  init: (given: Scope) => {
    scope = given;
  },
  get: async () => {
    loaded ??= unpack(packed) as Promise<LabPlugin>;
    const { makePlugin } = await loaded;
    const module = { __esModule: true, default: await makePlugin(shared) };
    return () => module;
  },
};
