#!/usr/bin/env python3
"""Two ranks over NCCL train as one process does on the same GPU: every strategy, batch norm and metrics over ranks, weights of the first
rank, a number that is not finite on one of them, checkpoints that another count goes on from. Skipped where there is no GPU.

NCCL refuses two ranks on one GPU of one host, so each rank is told that it is a host of its own (`NCCL_HOSTID`), and they meet as if
torchrun had started one on each of two machines, over sockets of this one.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import array
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
RANKS = HERE.parent / "ranks"
sys.path.insert(0, str(RANKS / "support"))
from team import EXAMPLES, build, check, compare, finish, free_ports, newest, result_of, rows, scratch, wait_for, words
from harness import need_gpu
from torch_file import tensors_of

need_gpu()

GLOBAL = 24
WAYS = {name: ("--set", f"topology.strategy={name}") for name in ("ddp", "zero1", "zero2")} | {"fsdp": ("--topology", "fsdp2")}

# Of record 21 the gradient is nan: in the third step, on one of two ranks.
BAD = """ltr 1
hparam size: int = 4
data Points(size: int) {
  batch[B] { x: float[B, 2], k: float[B, 2] }
  fn point(s: {i: int}) -> {x: float[2], k: float[2]} = (x = sin(full(2, 0.7 * s.i)), k = full(2, if s.i == 21 then 0.0 else 1.0))
  train = synthetic(48, point) |> collate(size)
}
model Net() {
  net = Linear(2, 2)
  optimizer opt = AdamW(net.weights, lr = 0.1)
  step train[B](x: float[B, 2], k: float[B, 2]) {
    loss = mean(sqrt((net(x) ** 2 + 0.1) * k))
    minimize loss
    log loss
  }
}
experiment bad { data = Points(size), model = Net(), trainer { epochs = 1, log_every = 1 }, loggers { Csv() } }
"""


def start(program, runs, world, *options, size=GLOBAL):
    """The processes of `world` ranks on the one GPU; `size` records are their batch."""
    port = free_ports(1)[0]
    several = {"WORLD_SIZE": world, "LOCAL_RANK": 0, "LOCAL_WORLD_SIZE": 1, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port,
               "NCCL_SOCKET_IFNAME": "lo"} if world > 1 else {}
    processes = []
    for rank in range(world):
        own = several | ({"RANK": rank, "GROUP_RANK": rank, "NCCL_HOSTID": f"host{rank}"} if world > 1 else {})
        command = words(program, "fit", "--no-bar", "--threads", 1, "--devices", "cuda", "--size", size // world, "--out", runs, *options)
        processes.append(subprocess.Popen(command, env={**os.environ, **{name: str(value) for name, value in own.items()}},
                                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
    return processes


def train(program, runs, world, *options, size=GLOBAL):
    """Their exit codes and words."""
    processes = start(program, runs, world, *options, size=size)
    texts = [process.communicate(timeout=240)[0] for process in processes]
    return [process.returncode for process in processes], "\n".join(texts)


def trained(title, program, runs, world, *options):
    codes, text = train(program, runs, world, *options)
    return check(f"{title}: {world} ranks", codes == [0] * world, text)


def weights(runs, kind="d"):
    """{path: numbers} of the last checkpoint: of one file, or of one for each rank."""
    files = sorted((newest(runs) / "checkpoints/last").glob("weights*.safetensors"))
    return {name: array.array(kind, data) for file in files for name, (_, _, data) in tensors_of(file).items()}


def same_weights(title, runs, whole, tolerance, kind="d"):
    found, wanted = weights(runs, kind), weights(whole, kind)
    largest = max(abs(number) for numbers in wanted.values() for number in numbers)
    worst = max((abs(a - b) / largest, name) for name in wanted for a, b in zip(found[name], wanted[name], strict=True))
    check(f"{title}, weights: {worst[0]:.1e}", found.keys() == wanted.keys() and worst[0] <= tolerance, worst)


def strategies(folder):
    program = build(RANKS / "sharded.ltr", folder)
    whole = folder / "one"
    if not trained("f64", program, whole, 1):
        return
    for name, options in WAYS.items():
        runs = folder / name
        if trained(name, program, runs, 2, *options):
            compare(name, rows(runs), rows(whole), 1e-9, least=1e-2)
            same_weights(name, runs, whole, 1e-9)
    if trained("ddp again", program, folder / "again", 2, *WAYS["ddp"]):
        check("equal runs of two ranks give equal bytes", result_of(newest(folder / "again")) == result_of(newest(folder / "ddp")))
    runs = folder / "turns"
    for turn, (name, world) in enumerate((("fsdp", 2), ("one", 1), ("zero2", 2))):
        resume = ("--resume", "last") if turn > 0 else ()
        trained(f"{name} goes on", program, runs, world, *WAYS.get(name, ()), *resume, "--steps", (16, 33, 50)[turn])
    compare("one after the other", rows(runs), rows(whole), 1e-9, least=1e-2)


def digits(folder):
    program = build(RANKS / "digits.ltr", folder)
    data = ("--set", f"data.root={EXAMPLES / 'data/mnist-5k'}", "--epochs", 2)
    last = {}
    for precision in ("f32", "bf16", "f16"):
        setting = ("--set", f"topology.precision={precision}")
        for world in (1, 2):
            runs = folder / f"{precision}-{world}"
            trained(f"batch norm, averages and metrics, {precision}", program, runs, world, *data, *setting)
            last[precision, world] = [row["val/loss"] for row in rows(runs) if "val/loss" in row][-1]
    compare("f32: as one process", rows(folder / "f32-2"), rows(folder / "f32-1"), 1e-4, least=1e-2, without=("val/worst",))
    for precision in ("bf16", "f16"):
        one, two = last[precision, 1], last[precision, 2]
        check(f"{precision}: ends as one process, {two:.4f} and {one:.4f}", abs(two - one) < 3e-2 * one)


def not_finite(folder):
    (folder / "bad.ltr").write_text(BAD)
    program = build(folder / "bad.ltr", folder)
    for world in (1, 2):
        codes, text = train(program, folder / f"skip{world}", world, "--set", "trainer.nan=skip", size=8)
        check(f"skip: {world} ranks leave one update out", codes == [0] * world and "1 update skipped" in text, text)
    same_weights("skip", folder / "skip2", folder / "skip1", 1e-5, "f")
    codes, text = train(program, folder / "stop", 2, "--set", "trainer.check_grads=true", size=8)
    check("stop: both ranks end, and one says why", codes == [4, 4] and text.count("error[R4002]") == 1 and "at step 3" in text, f"{codes}\n{text}")


def lost(folder):
    runs = folder / "lost"
    processes = start(folder / "bad", runs, 2, "--set", "trainer.nan=skip", "--epochs", 1_000_000, size=8)
    wait_for(lambda: any(len(file.read_text().splitlines()) > 20 for file in runs.glob("*/0*/metrics.csv")) or processes[0].poll() is not None, 60,
             "a row of the metrics")
    processes[1].kill()
    begun = time.monotonic()
    text = processes[0].communicate(timeout=100)[0]
    check(f"a rank that is killed: the other ends by R1002, {time.monotonic() - begun:.0f} s later", processes[0].returncode == 1
          and "error[R1002]" in text and time.monotonic() - begun < 90, text)
    processes[1].communicate()


with scratch() as name:
    folder = pathlib.Path(name).resolve()
    strategies(folder)
    digits(folder)
    not_finite(folder)
    lost(folder)
finish()
