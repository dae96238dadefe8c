#!/usr/bin/env python3
"""Runs that are given less memory than they take, by a little and by much, so that it ends while data is opened, a step is recorded, a plan is
laid out or run: each trains to the same weights, or ends with R1001, and never otherwise. Linux.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import pathlib
import resource
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "run/support"))
from harness import PATIENCE, build, check, finish, newest, scratch

# 60 MiB of results and gradients for one batch, and a plan that has them all.
PROGRAM = """ltr 1

data Points() {
  batch[B] { x: float[B, 64], y: i64[B] }
  fn one(i: int) -> {x: float[64], y: i64} = (x = full(64, 0.001 * i), y = i % 4)
  train = synthetic(4096, one) |> collate(2048)
}

model Net() {
  net = [Linear(64, 512), relu, Linear(512, 512), relu, Linear(512, 512), gelu, Linear(512, 4)]
  optimizer opt = AdamW(net.weights, lr = 1e-3)
  step train[B](x: float[B, 64], y: i64[B]) {
    loss = cross_entropy(net(x), y)
    minimize loss
    log loss
  }
}

experiment wide {
  data = Points()
  model = Net()
  trainer { epochs = 2, seed = 1 }
}
"""


def started(program, folder, limit):
    """How a fit ends that may have so many bytes of its own."""
    def confine():
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    words = [program, "fit", "--no-bar", "--threads", 1, "--out", folder]
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, preexec_fn=confine, timeout=240 * PATIENCE)


def most_of(*words):
    """The most bytes of its own that a process ever has."""
    watched = ["/bin/sh", "-c", '"$0" "$@" & child=$!; most=0; while kill -0 $child 2>/dev/null; do '
             "now=$(sed -n 's/^VmData:[^0-9]*\\([0-9]*\\).*/\\1/p' /proc/$child/status 2>/dev/null); [ \"${now:-0}\" -gt $most ] && most=$now; sleep 0.01; done; echo most $most"]
    result = subprocess.run([str(word) for word in [*watched, *words]], capture_output=True, text=True, timeout=240 * PATIENCE)
    return int(result.stdout.rsplit("most ", 1)[1]) * 1024


def weights_of(folder):
    return (newest(folder) / "checkpoints/last/weights.safetensors").read_bytes()


with scratch() as place:
    folder = pathlib.Path(place)
    (folder / "wide.ltr").write_text(PROGRAM)
    program = build(folder / "wide.ltr", folder)
    # What the libraries take before anything of ours runs.
    least = most_of(program, "fit", "--help")
    most = most_of(program, "fit", "--no-bar", "--threads", 1, "--out", folder / "all")
    wanted = weights_of(folder / "all")
    ends = []
    for share in range(1, 11):
        limit, runs = least + (most - least) * share // 10, folder / f"share{share}"
        result = started(program, runs, limit)
        is_done = result.returncode == 0 and weights_of(runs) == wanted
        is_told = result.returncode == 1 and "R1001" in result.stderr
        ends.append("done" if is_done else "told" if is_told else "wrong")
        check(f"{share} tenths: it trains all the same, or says so", is_done or is_told, (limit, result.returncode, result.stdout[-500:], result.stderr[-1500:]))
    check("some were too few", "told" in ends, ends)
finish()
