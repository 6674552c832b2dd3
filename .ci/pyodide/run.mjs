// Starts Pyodide in Node, installs wheels into its file system and runs a Python file there.
//
//   node run.mjs PYODIDE_FOLDER REPOSITORY CASES WHEELS PYTHON_FILE [ARGUMENT...]
//
// WHEELS: paths of wheels and folders, separated by commas; a folder is copied to the path of Python.
// CASES: a folder with further stored cases, or "".
import { readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [bed, repository, cases, wheels, program, ...rest] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(join(bed, "pyodide.mjs")));

const begin = performance.now();
const pyodide = await loadPyodide({ indexURL: bed });
await pyodide.loadPackage(["numpy", "scipy", "sqlite3", "pillow", "ipython"], {
  messageCallback: () => {},
});
const started = performance.now();

const site = pyodide.runPython("import site; site.getsitepackages()[0]");

function copy(from, to) {
  for (const name of readdirSync(from)) {
    const path = join(from, name);
    if (statSync(path).isDirectory()) {
      if (name === "__pycache__") continue;
      pyodide.FS.mkdirTree(`${to}/${name}`);
      copy(path, `${to}/${name}`);
    } else {
      pyodide.FS.writeFile(`${to}/${name}`, readFileSync(path));
    }
  }
}

for (const path of wheels.split(",").filter(Boolean)) {
  if (path.endsWith(".whl")) {
    pyodide.FS.writeFile("/tmp/wheel.zip", readFileSync(path));
    pyodide.runPython(`import zipfile; zipfile.ZipFile("/tmp/wheel.zip").extractall(${JSON.stringify(site)})`);
  } else {
    copy(path, site);
  }
}
for (const [path, mounted] of [[repository, "/repository"], [cases, "/cases"]]) {
  if (path) {
    pyodide.FS.mkdirTree(mounted);
    pyodide.FS.mount(pyodide.FS.filesystems.NODEFS, { root: path }, mounted);
  }
}
pyodide.globals.set("arguments", pyodide.toPy(rest));
pyodide.globals.set("seconds_of_start", (started - begin) / 1000);
pyodide.setStdout({ batched: (line) => console.log(line) });
pyodide.setStderr({ batched: (line) => console.error(line) });
try {
  await pyodide.runPythonAsync(readFileSync(program, "utf8"), { filename: program });
} catch (error) {
  console.error(String(error));
  process.exit(1);
}
process.exit(0);
