#!/usr/bin/env python3
"""What has an end: memory, stacks of threads, the disk under the compiler's cache. Each is said with its cure.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "faults"))
from harness import PATIENCE, EXAMPLES, LTRC, check, finish, newest, run, scratch
from faults import build_stop

# Step 3 wants 20 PB.
PROGRAM = """ltr 1
{extern}
data Points() {{
  batch[B] {{ x: float[B, 2] }}
  fn point(s: {{i: int}}) -> {{x: float[2]}} = (x = {value})
  train = synthetic(64, point) |> collate(4)
}}
model Net() {{
  net = Linear(2, 1)
  optimizer opt = Adam(net.weights, lr = 0.1)
  step train[B](x: float[B, 2]) {{
    loss = mean(net(x) ** 2)
    minimize loss
    if global_step == 3 {{ print "{{mean(zeros(100000000, 50000000)):.1}}" }}
  }}
}}
experiment limited {{ data = Points()
  model = Net()
  trainer {{ epochs = 1, log_every = 1 }} }}
topology two {{ workers = 2 }}
"""


def built(folder, name, cache=None, **env):
    return subprocess.run([str(LTRC), "build", str(folder / f"{name}.ltr"), "-o", str(folder / name)], capture_output=True, text=True,
                          timeout=240 * PATIENCE, env={**os.environ, **({"LTR_CACHE_DIR": str(cache)} if cache else {}), **env})


# The sum of what is deeper, for ever: a stack that overflows.
DEEP = """#include "deep.ltr.h"

static double below(volatile double x) {
  volatile char room[4096];
  room[0] = char(x);
  return below(x + 1) + room[0];
}

ltr::Tensor sunk(const ltr::Tensor& x) {
  return x * below(1);
}
"""


def memory(folder):
    (folder / "memory.ltr").write_text(PROGRAM.format(extern="", value="full(2, 0.1 * s.i)"))
    result = built(folder, "memory")
    if not check("a program that wants too much builds", result.returncode == 0, result.stderr):
        return
    result = run(folder / "memory", "fit", "--no-bar", "--out", folder / "memory-runs")
    check("R1001 names the line, who holds how much, and cures",
          result.returncode == 1 and all(part in result.text for part in (
              "error[R1001]", "memory.ltr:14:", "a tensor of 18626451.5 GiB", "weights 12 B", "optimizer 24 B", "a smaller batch", "accumulate")), result.text)
    record = json.loads((newest(folder / "memory-runs") / "run.json").read_text())
    check("run.json says so", record["status"] == "failed" and "R1001" in record["reason"], record)


def stacks(folder):
    """A worker of the loader has a stack of its own for the crash handler."""
    (folder / "deep.cpp").write_text(DEEP)
    (folder / "deep.ltr").write_text(PROGRAM.format(extern='extern "deep.cpp" { fn sunk(x: float[2]) -> float[2] }',
                                                    value="sunk(full(2, 0.1 * s.i))"))
    result = built(folder, "deep")
    if not check("a program that sinks builds", result.returncode == 0, result.stderr):
        return
    result = run(folder / "deep", "fit", "--no-bar", "--out", folder / "deep-runs")
    check("a worker whose stack overflows is R1009 with a stack",
          result.returncode == -signal.SIGSEGV and "error[R1009]" in result.text and "stack:" in result.text, result.text)
    record = json.loads((newest(folder / "deep-runs") / "run.json").read_text())
    check("run.json says so", record["status"] == "failed" and "R1009" in record["reason"], record)


def caches(folder):
    shutil.copy(EXAMPLES / "iris.ltr", folder)
    cache = folder / "cache"
    first = built(folder, "iris", cache)
    programs = [path for path in cache.glob("programs/*/iris") if path.is_file()]
    if not check("a build leaves its program in the cache", first.returncode == 0 and len(programs) == 1, first.stderr):
        return
    whole = programs[0].read_bytes()
    for title, damaged in (("truncated", whole[:len(whole) // 2]), ("changed", whole[:-1] + bytes([whole[-1] ^ 1]))):
        programs[0].unlink()
        programs[0].write_bytes(damaged)
        result = built(folder, "iris", cache)
        works = run(folder / "iris", "version").returncode == 0 if result.returncode == 0 else False
        check(f"a {title} program in the cache is built anew", works and programs[0].read_bytes() != damaged, result.stderr)
    programs[0].unlink()
    (programs[0] / "in the way").mkdir(parents=True)
    result = built(folder, "iris", cache)
    check("a folder in the place of the program is named", result.returncode == 1 and "cannot put the program into" in result.stderr,
          f"exit {result.returncode}\n{result.stderr}")
    library = build_stop(folder)
    for at in (1, 2, 5):
        full = folder / f"full{at}"
        result = built(folder, "iris", full, LD_PRELOAD=str(library), FULL_AT=str(at), FAULT_BELOW=str(full))
        text = result.stdout + result.stderr
        check(f"a full cache from event {at} on is no mistake of ltrc",
              result.returncode in (0, 1) and "itself" not in text and (result.returncode == 0 or any(part in text for part in ("disk full", "No space"))),
              f"exit {result.returncode}\n{text}")
        again = built(folder, "iris", full)
        check("and with room it builds", again.returncode == 0, again.stderr)


def small_cache(folder):
    """A cache that has room for the source, and none for the program: the linker's own words find none either."""
    cache = folder / "small"
    cache.mkdir()
    inside = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o size=100k tmpfs "$0" && shift 0 && exec "$@"', str(cache)]
    if os.geteuid() != 0 or run(*inside, "true").returncode != 0:
        print("skip  a small cache: only root may mount one")
        return
    for command in (["run", folder / "iris.ltr", "version"], ["build", folder / "iris.ltr", "-o", folder / "small_iris"]):
        result = run(*inside, "env", f"LTR_CACHE_DIR={cache}", LTRC, *command)
        check(f"ltrc {command[0]} into a small cache says that it is full", result.returncode == 1
              and "no space left" in result.text and "mistake of ltrc" not in result.text, f"exit {result.returncode}\n{result.text}")


with scratch() as place:
    folder = pathlib.Path(place)
    memory(folder)
    stacks(folder)
    caches(folder)
    small_cache(folder)
finish()
