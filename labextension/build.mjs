/**
 * Builds the widget into tfnb/notebook/static/: one ES module (a small loader with the views and their layout worker
 * inside, deflated), one stylesheet, and the hash of the sources they were built from, so that a test can tell when the
 * built files are stale.  And what JupyterLab loads by itself into built/tfnb/: a script that carries its style along,
 * named by its own hash, since browsers keep it.
 */

import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { deflateSync } from "node:zlib";
import { build } from "esbuild";

const here = path.dirname(fileURLToPath(import.meta.url));
const output = path.join(here, "..", "tfnb", "notebook", "static");
const labOutput = path.join(here, "built", "tfnb");
const target = ["es2022"];

/** Packages whose code went into a bundle. */
const bundled = new Set();

async function bundle(entry, plugins = [], format = "esm") {
  const result = await build({
    entryPoints: [path.join(here, entry)],
    bundle: true,
    minify: true,
    format,
    target,
    charset: "utf8",
    legalComments: "none",
    write: false,
    metafile: true,
    plugins,
  });
  for (const input of Object.keys(result.metafile.inputs)) {
    const found = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (found) bundled.add(found[1]);
  }
  return result.outputFiles[0].text;
}

/** Every file the built ones depend on, with `/` and in a fixed order; tests/notebook/test_static.py does the same. */
async function sources() {
  const found = ["build.mjs", "package.json", "package-lock.json"];
  for (const folder of ["src", "style"]) {
    for (const entry of await readdir(path.join(here, folder), {
      recursive: true,
      withFileTypes: true,
    })) {
      if (!entry.isFile()) continue;
      const full = path.join(entry.parentPath, entry.name);
      found.push(path.relative(here, full).split(path.sep).join("/"));
    }
  }
  return found.sort();
}

async function sourceHash() {
  const hash = createHash("sha256");
  for (const name of await sources()) {
    const text = (await readFile(path.join(here, name), "utf8")).replaceAll("\r\n", "\n");
    hash.update(`${name}\0${text}\0`);
  }
  return hash.digest("hex");
}

/** The licences of what is bundled, which ask to be carried along. */
async function licences() {
  const texts = [];
  for (const name of [...bundled].sort()) {
    const folder = path.join(here, "node_modules", name);
    const { version } = JSON.parse(await readFile(path.join(folder, "package.json"), "utf8"));
    const licence = await readFile(path.join(folder, "LICENSE"), "utf8");
    texts.push(`${name} ${version}\n\n${licence.trim()}\n`);
  }
  return texts.join("\n\n");
}

async function buildTests() {
  await build({
    entryPoints: (await readdir(path.join(here, "tests"))).map((name) =>
      path.join(here, "tests", name),
    ),
    bundle: true,
    format: "esm",
    platform: "node",
    target,
    outdir: path.join(here, "node_modules", ".cache", "tests"),
    outExtension: { ".js": ".mjs" },
  });
}

/** A module as loaders carry it (src/render/unpack.ts). */
function packed(source) {
  return deflateSync(source, { level: 9 }).toString("base64");
}

/** A text that sources import under a name. */
function carry(name, contents) {
  return {
    name,
    setup(hooks) {
      hooks.onResolve({ filter: new RegExp(`^${name}$`) }, () => ({ path: name, namespace: name }));
      hooks.onLoad({ filter: /.*/, namespace: name }, () => ({ contents, loader: "text" }));
    },
  };
}

/** The prebuilt extension: package.json says what to load, install.json who installed it. */
async function buildLab() {
  const style = (await bundle("style/lab.css")).trim();
  const plugin = await bundle("src/lab/lab_plugin.ts", [carry("lab-style", style)]);
  const script = await bundle(
    "src/lab/container.ts",
    [carry("lab-source", packed(plugin))],
    "iife",
  );
  const hash = createHash("sha256").update(script).digest("hex").slice(0, 12);
  const about = JSON.parse(await readFile(path.join(here, "package.json"), "utf8"));
  const extension = {
    name: "tfnb",
    version: about.version,
    description: "Sessions, devices and running steps of tfnb, and its views in tabs",
    license: about.license,
    jupyterlab: {
      extension: true,
      _build: { load: `static/lab.${hash}.js`, extension: "./extension" },
    },
  };
  const install = {
    packageManager: "python",
    packageName: "tfnb",
    uninstallInstructions: "Use your Python package manager (pip uninstall tfnb)",
  };
  await rm(labOutput, { recursive: true, force: true });
  await mkdir(path.join(labOutput, "static"), { recursive: true });
  await writeFile(path.join(labOutput, "static", `lab.${hash}.js`), script);
  await writeFile(path.join(labOutput, "package.json"), `${JSON.stringify(extension, null, 2)}\n`);
  await writeFile(path.join(labOutput, "install.json"), `${JSON.stringify(install, null, 2)}\n`);
}

if (process.argv.includes("--tests")) {
  await buildTests();
} else {
  const page = path.join(here, "src", "widget", "page.html");
  const app = await bundle("src/widget/index.ts", [
    carry("layout-source", await bundle("src/layout/layout_worker.ts")),
    carry("page-template", await readFile(page, "utf8")),
  ]);
  const loader = await bundle("src/widget/loader.ts", [carry("app-source", packed(app))]);
  await mkdir(output, { recursive: true });
  await writeFile(path.join(output, "tfnb.js"), loader);
  await writeFile(path.join(output, "tfnb.css"), await bundle("style/tfnb.css"));
  await writeFile(path.join(output, "page.html"), await readFile(page, "utf8"));
  await buildLab();
  await writeFile(path.join(output, "THIRD_PARTY_LICENSES"), await licences());
  await writeFile(path.join(output, "SOURCE_HASH"), `${await sourceHash()}\n`);
}
