import sys, time, json, traceback
from pathlib import Path
sys.path.append("/repository")
print("start", round(seconds_of_start, 2), flush=True)
t=time.perf_counter()
import numpy
print("numpy", time.perf_counter()-t, flush=True)
t=time.perf_counter()
import tfnb as tf
import tfnb as tf
with tf.Session() as s: print(s.run(tf.constant(2.)*3.))
print("import+session", time.perf_counter()-t, tf.__file__, flush=True)
from tests.cases.replay import Replay, missing_ops
folders = sorted(p.parent for p in Path("/cases").glob("**/case.json")) if Path("/cases").exists() else []
folders += sorted(p.parent for p in Path("/repository/tests/cases/own").glob("*/case.json"))
words = list(arguments)
good = 0
bad = []
for f in folders:
    if words and not any(w in f.name for w in words): continue
    t=time.perf_counter()
    try:
        Replay(f).run(); good += 1; text="ok"
    except BaseException as e:
        text = f"{type(e).__name__}: {e}"[:600]
        bad.append(f.name)
        if words: traceback.print_exc()
    d = time.perf_counter()-t
    if text != "ok" or d > 2: print(f"{d:6.2f}", f.name, text, flush=True)
print(good, "good", len(bad), bad)
