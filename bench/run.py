#!/usr/bin/env python3
"""Measures Ltr against raw PyTorch (eager) and Lightning, side by side, and prints Markdown tables.

    python bench/run.py [--ltrc build/release/bin/ltrc] [--rounds 5] [--threads 1 2] [--seconds 120]

Needs torch; Lightning's columns are empty without lightning. README.md says what is measured and how.
"""
import argparse
import contextlib
import importlib.metadata
import importlib.util
import io
import json
import logging
import os
import pathlib
import platform
import pty
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

import torch
from torch import nn
from torch.utils.data import DataLoader

from compiler import LIGHTNING, measure_compiler
from ltr import LTRC, SOURCE, answer, build, end_of, words
from programs import PROGRAMS, write_data

try:
    from tqdm import tqdm
except ImportError:                     # then PyTorch's loop draws no bar, and is the faster for it
    class tqdm(contextlib.nullcontext):
        def __init__(self, **options):
            super().__init__(self)

        def update(self):
            pass

        def set_postfix(self, **values):
            pass



def torch_seconds(program, steps, is_bare=False, precision=None, is_compiled=False, **options):
    """A loop as one writes it; with a loader that shuffles, a CSV log of every 50th step, and a bar."""
    narrow = torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16")
    torch.manual_seed(0)
    net = program.make()
    optimizer = program.optimizer(net, **options)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, program.schedule(2000)) if program.schedule else None
    loader = DataLoader(program.data(), program.batch_size, shuffle=True, drop_last=True, num_workers=program.workers,
                        persistent_workers=program.workers > 0)
    first = next(iter(loader)) if is_bare else None

    def loss_of(x, y):
        return program.loss(net(x), y)

    if is_compiled:
        loss_of = torch.compile(loss_of)
        loss_of(*(first or next(iter(loader)))).backward()       # compiles
    done = 0
    with open(os.devnull, "w") as nowhere, tempfile.NamedTemporaryFile("w", suffix=".csv") as log:
        start = time.perf_counter()
        with tqdm(total=steps, file=nowhere, disable=is_bare) as bar:
            while done < steps:
                for x, y in [first] * (steps - done) if is_bare else loader:
                    with narrow:
                        loss = loss_of(x, y)
                    optimizer.zero_grad()
                    loss.backward()
                    if program.clip:
                        nn.utils.clip_grad_norm_(net.parameters(), program.clip)
                    optimizer.step()
                    if scheduler:
                        scheduler.step()
                    done += 1
                    if not is_bare:
                        bar.update()
                        if done % 50 == 0:
                            value = loss.item()
                            bar.set_postfix(loss=value)
                            log.write(f"{done},{value}\n")
                            log.flush()
                    if done == steps:
                        break
        return time.perf_counter() - start


def lightning_seconds(program, steps, is_bare):
    lightning = importlib.import_module(LIGHTNING)

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = program.make()

        def training_step(self, batch, index):
            return program.loss(self.net(batch[0]), batch[1])

        def configure_optimizers(self):
            optimizer = program.optimizer(self.net)
            if not program.schedule:
                return optimizer
            scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, program.schedule(2000))
            return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}

    module = Module()
    loader = DataLoader(program.data(), program.batch_size, shuffle=True, drop_last=True, num_workers=program.workers,
                        persistent_workers=program.workers > 0)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()), \
            tempfile.TemporaryDirectory() as folder:
        how = {"barebones": True} if is_bare else {
            "enable_checkpointing": False,
            "logger": importlib.import_module(lightning.Trainer.__module__.split(".trainer")[0] + ".loggers").CSVLogger(folder)}
        trainer = lightning.Trainer(accelerator="cpu", devices=1, max_steps=steps, gradient_clip_val=program.clip, **how)
        start = time.perf_counter()
        trainer.fit(module, loader)
        return time.perf_counter() - start


class Ltr:
    def __init__(self, ltrc, folder, is_bare, backend, precision):
        self.ltrc, self.folder, self.is_bare, self.programs = ltrc, pathlib.Path(folder), is_bare, {}
        self.how = (*(("--backend", backend) if backend else ()), *(("--precision", precision) if precision else ()))

    def build(self, source):
        if source not in self.programs:
            self.programs[source] = build(source, self.folder, self.ltrc)
        return self.programs[source]

    def command(self, program, steps, threads):
        how = ("--bare", "--mock-data", "--json") if self.is_bare else ()
        return words(self.build(program.source), "fit", *how, *self.how, "--limit-val", 0, "--steps", steps, "--threads", threads,
                     "--out", self.folder / "runs")

    def seconds(self, program, steps, threads):
        command = self.command(program, steps, threads)
        if self.is_bare:
            return end_of(answer(*command))["seconds"]
        in_terminal(command)
        events = (self.folder / "runs" / program.source.stem / "latest" / "log.jsonl").read_text().splitlines()
        times = {event["event"]: event["time"] for event in map(json.loads, events) if event["kind"] == "event"}
        return times["finish"] - times["start"]


def in_terminal(command):
    """Runs it where it draws its bar."""
    ours, its = pty.openpty()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=its, stderr=its)
    os.close(its)
    said = b""
    with contextlib.suppress(OSError):      # the end of a terminal is an error
        while chunk := os.read(ours, 65536):
            said = (said + chunk)[-2000:]
    os.close(ours)
    if process.wait() != 0:
        raise RuntimeError(f"{' '.join(command)}: {said.decode(errors='replace')}")


WAYS = {"PyTorch": torch_seconds,
        "PyTorch fused": lambda program, steps, is_bare: torch_seconds(program, steps, is_bare, fused=True),
        "PyTorch compiled": lambda program, steps, is_bare: torch_seconds(program, steps, is_bare, is_compiled=True),
        "PyTorch autocast": lambda program, steps, is_bare: torch_seconds(program, steps, is_bare, precision="bf16"),
        "Lightning": lightning_seconds}


class Jax:
    """A process for each measurement: XLA keeps the threads that it begins with."""

    def seconds(self, program, steps, threads):
        return float(answer(sys.executable, SOURCE / "bench/jax_twin.py", program.jax, program.batch_size, steps, threads))


class Worker:
    """A process that measures one of WAYS. Each has its own: with Lightning imported, plain PyTorch is slower."""

    def __init__(self, way, is_bare):
        how = ["--bare"] if is_bare else []
        self.process = subprocess.Popen([sys.executable, SOURCE / "bench/run.py", "--worker", way, *how], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def seconds(self, program, steps, threads):
        print(PROGRAMS.index(program), steps, threads, file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline())

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


def serve(way, is_bare):
    """The other end of Worker."""
    for line in sys.stdin:
        index, steps, threads = map(int, line.split())
        torch.set_num_threads(threads)
        print(WAYS[way](PROGRAMS[index], steps, is_bare), flush=True)


def step_ms(program, seconds_of):
    """Of one step, by the difference of two lengths, so that start-up cancels."""
    return 1000 * (seconds_of(program.many) - seconds_of(program.few)) / (program.many - program.few)


def measure_steps(ltr, ways, programs, rounds, thread_counts, deadline):
    """`ways`: of the other sides, one column each."""
    workers = {"Ltr": ltr} | {way: Jax() if way == "JAX scan" else Worker(way, ltr.is_bare)
                              for way in ways if way != "Lightning" or LIGHTNING}
    print("Milliseconds per training step, median (minimum); ratios of medians to Ltr's.\n")
    columns = ["program", "threads", "rounds", "Ltr", *ways, *(f"{way} / Ltr" for way in ways)]
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    left = len(programs) * len(thread_counts)
    for program in programs:
        for threads in thread_counts:
            times = {side: [] for side in workers
                     if (side != "PyTorch fused" or program.has_fused) and (side != "JAX scan" or program.jax)}
            seconds = {side: (lambda steps, worker=workers[side]: worker.seconds(program, steps, threads))
                       for side in times}
            for side in times:
                seconds[side](program.few)                   # warms caches, builds what is not built
            expected = sum(seconds[side](program.few) for side in times) * (program.many / program.few + 1)
            share = (deadline - time.perf_counter()) / left
            left -= 1
            if expected > max(4 * share, 20):                # threads that wait for each other on a busy machine
                print(f"| {program.name} | {threads} | 0 | too slow here: {expected:.0f} s a round "
                      f"{'| – ' * (2 * len(ways))}|", flush=True)
                continue
            row_end = time.perf_counter() + share
            done = 0
            while done == 0 or done < rounds and time.perf_counter() < row_end:
                for side in times:
                    times[side].append(step_ms(program, seconds[side]))
                done += 1
            middle = {side: statistics.median(values) for side, values in times.items()}
            cells = [f"{middle[side]:.3g} ({min(times[side]):.3g})" if side in times else "–"
                     for side in ("Ltr", *ways)]
            ratios = [f"{middle[side] / middle['Ltr']:.2f}" if side in times else "–"
                      for side in ways]
            print(f"| {program.name} | {threads} | {done} | {' | '.join(cells)} | {' | '.join(ratios)} |", flush=True)
    for worker in workers.values():
        if isinstance(worker, Worker):
            worker.stop()


# What is promised of each program: its peak memory as a part of PyTorch's, and what its plans take to make.
MEMORY_PART, PLANNING_MS = 0.5, 150


def mark(value, promised):
    return "yes" if value <= promised else f"no, {value / promised:.2f} times as much"


# A process counts the memory of the one that started it until it becomes its own program; so a small one starts it.
PEAK = """import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"""


def peak_mib(command):
    done = subprocess.run([sys.executable, "-S", "-c", PEAK, *map(str, command)], check=True, capture_output=True)
    return int(done.stdout) / 1024


def measure_memory(ltr):
    print(f"\n| peak memory, MiB, 1 thread | Ltr | PyTorch | at most {MEMORY_PART:g} of PyTorch's |\n|---|---|---|---|")
    for index, program in enumerate(PROGRAMS):
        ours = peak_mib(ltr.command(program, program.many, 1))
        theirs = peak_mib([sys.executable, SOURCE / "bench/run.py", "--only-torch", index, *(["--bare"] if ltr.is_bare else [])])
        print(f"| {program.name} | {ours:.0f} | {theirs:.0f} | {mark(ours, MEMORY_PART * theirs)} |", flush=True)


def measure_planning(ltr, rounds):
    """What plans of a run's steps take to make, with both rehearsals."""
    print(f"\n| planning, ms | 1 thread | 2 threads | at most {PLANNING_MS} |\n|---|---|---|---|")
    for program in PROGRAMS:
        cells, medians = [], []
        for threads in (1, 2):
            command = words(ltr.build(program.source), "fit", "--bare", "--mock-data", "--json", "--backend", "native", "--steps", 3,
                            "--threads", threads)
            times = [1000 * end_of(answer(*command))["planning_s"] for _ in range(rounds)]
            medians.append(statistics.median(times))
            cells.append(f"{medians[-1]:.1f} ({min(times):.1f})")
        print(f"| {program.name} | {' | '.join(cells)} | {mark(max(medians), PLANNING_MS)} |", flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--ltrc", default=LTRC)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="compute threads of every side")
    options.add_argument("--seconds", type=int, default=120, help="for the step times; fewer rounds fit, at least one")
    options.add_argument("--only", nargs="+", default=[], metavar="PROGRAM", help="these rows, and no other table")
    options.add_argument("--bare", action="store_true", help="only the steps: made-up batches, no log, no bar")
    options.add_argument("--backend", help="of our programs; without it, their default")
    options.add_argument("--precision", choices=("f32", "bf16"), help="of our programs; with bf16 beside PyTorch in f32 and in autocast")
    options.add_argument("--compiled", action="store_true",
                         help="beside torch.compile, which takes about a minute more for a row, and a JAX scan where jax is installed")
    options.add_argument("--only-torch", type=int, help=argparse.SUPPRESS)
    options.add_argument("--worker", choices=WAYS, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.worker:
        serve(given.worker, given.bare)
        return
    if given.only_torch is not None:
        torch.set_num_threads(1)
        torch_seconds(PROGRAMS[given.only_torch], PROGRAMS[given.only_torch].many, given.bare)
        return
    os.environ.setdefault("LTR_CACHE_DIR", str(SOURCE / "build/release/cache"))
    started = time.perf_counter()
    print(f"{time.strftime('%Y-%m-%d')} · {platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} "
          f"· torch {torch.__version__} · lightning {importlib.metadata.version(LIGHTNING) if LIGHTNING else 'absent'} "
          f"· at most {given.rounds} rounds\n")
    if os.getloadavg()[0] > 0.5:
        print("**The machine is busy: these numbers, above all those of two threads, are not to be quoted.**\n")
    with tempfile.TemporaryDirectory(prefix="ltr-bench-") as folder:
        ltr = Ltr(pathlib.Path(given.ltrc).resolve(), folder, given.bare, given.backend, given.precision)
        write_data(ltr.folder)
        os.chdir(folder)
        programs = [program for program in PROGRAMS if program.name in given.only or not given.only]
        ways = ["PyTorch", "PyTorch autocast"] if given.precision == "bf16" else ["PyTorch", "PyTorch fused", "Lightning"]
        if given.compiled:
            ways += ["PyTorch compiled"] + (["JAX scan"] if importlib.util.find_spec("jax") else [])
        measure_steps(ltr, ways, programs, given.rounds, given.threads, started + given.seconds)
        if not given.only:
            measure_compiler(ltr.ltrc, ltr.folder, given.rounds)
            measure_memory(ltr)
            measure_planning(ltr, given.rounds)
    print(f"\n{time.perf_counter() - started:.0f} s in all, load at the end {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
