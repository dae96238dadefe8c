#!/usr/bin/env python3
"""Measures training steps on a GPU beside raw PyTorch, side by side, and prints Markdown tables.

    python bench/gpu.py [--ltrc build/release/bin/ltrc] [--rounds 2] [--compile]

Both take batches of the same shape from pinned memory, `fit --bare --mock-data` and the loop that one would write (fused optimizers
where PyTorch has them); the GPT in two sizes. Both may use all kernels; a column of its own has Ltr's default, the deterministic ones.
Two lengths are run, and the difference by the difference in steps is one step. The sides take turns in every round. `--compile` adds torch.compile, which takes about half a minute for each row.
"""
import argparse
import contextlib
import functools
import os
import statistics
import subprocess
import tempfile
import time

import torch
import torch.nn.functional as F

from ltr import LTRC, answer, build, end_of, words
from programs import PROGRAMS, Gpt

PRECISIONS = ("f32", "tf32", "bf16")


class Row:
    """A program with its twin; `options` size ours; a batch is of images, or of ids."""

    def __init__(self, name, program, make, options, image, classes, steps):
        self.name, self.make, self.options, self.image, self.classes, self.few, self.many = name, make, options, image, classes, *steps
        self.source, self.optimizer, self.clip = program.source, program.optimizer, program.clip
        self.fused = {"fused": True} if program.has_fused else {}


BY_NAME = {program.name: program for program in PROGRAMS}
WIDE = {"T": 512, "D": 768, "layers": 12, "heads": 12}
ROWS = [
    Row("Keras CNN, batch 128", BY_NAME["Keras CNN"], BY_NAME["Keras CNN"].make, (), (128, 1, 28, 28), None, (100, 1100)),
    Row("char GPT, 0.8 M weights, 12 × 64", BY_NAME["char GPT"], Gpt, (), None, (12, 64), (100, 600)),
    Row("char GPT, 85 M weights, 16 × 512", BY_NAME["char GPT"], functools.partial(Gpt, **WIDE),
        [word for name, value in (*WIDE.items(), ("size", 16)) for word in (f"--{name}", value)], None, (16, 512), (20, 70)),
]


def batch_of(row):
    if row.image:
        return torch.randn(row.image).pin_memory(), torch.randint(0, 10, row.image[:1]).pin_memory()
    return torch.randint(0, 64, row.classes).pin_memory(), torch.randint(0, 64, row.classes).pin_memory()


class Twin:
    """The loop in PyTorch; one that is compiled keeps what it compiled."""

    def __init__(self, row, precision, is_compiled):
        torch.manual_seed(0)
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"
        self.row, self.batch = row, batch_of(row)
        self.net = row.make().cuda()
        self.optimizer = row.optimizer(self.net, **row.fused)
        self.narrow = functools.partial(torch.autocast, "cuda", torch.bfloat16) if precision == "bf16" else contextlib.nullcontext
        self.loss = torch.compile(self.loss_of) if is_compiled else self.loss_of
        self.tf32 = precision == "tf32"
        self.seconds(row.few)

    def loss_of(self, x, y):
        return F.cross_entropy(self.net(x), y)

    def seconds(self, steps):
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = self.tf32
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(steps):
            x, y = (part.cuda(non_blocking=True) for part in self.batch)
            with self.narrow():
                loss = self.loss(x, y)
            self.optimizer.zero_grad()
            loss.backward()
            if self.row.clip:
                torch.nn.utils.clip_grad_norm_(self.net.parameters(), self.row.clip)
            self.optimizer.step()
        torch.cuda.synchronize()
        return time.perf_counter() - start


def command(program, row, precision, steps, *options):
    return words(program, "fit", "--bare", "--mock-data", "--devices", "cuda", "--set", f"topology.precision={precision}", "--limit-val", 0,
                 "--steps", steps, *row.options, *options)


def ltr_seconds(program, row, precision, deterministic, steps):
    return end_of(answer(*command(program, row, precision, steps, "--json", "--set", f"trainer.deterministic={deterministic}")))["seconds"]


def memory_of(program, row, precision):
    said = answer(*command(program, row, precision, row.few))
    return next(line.split(": ", 1)[1] for line in said.splitlines() if line.startswith("memory of"))


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--ltrc", default=LTRC)
    options.add_argument("--rounds", type=int, default=2)
    options.add_argument("--compile", action="store_true", help="a column for torch.compile")
    options.add_argument("--precisions", nargs="+", default=PRECISIONS, choices=PRECISIONS)
    options.add_argument("--only", nargs="+", default=[], metavar="TEXT", help="rows whose names hold one of these")
    given = options.parse_args()
    print(f"{time.strftime('%Y-%m-%d')} · {torch.cuda.get_device_name()} · {os.cpu_count()} cores · torch {torch.__version__} · {given.rounds} rounds\n")
    compiled = "PyTorch, compiled" if given.compile else None
    theirs = ["PyTorch", *([compiled] if compiled else [])]
    sides = ["Ltr", "Ltr, deterministic", *theirs]
    print("Milliseconds per step, median (minimum); ratios above 1 when Ltr is faster; the most that tensors took.\n")
    print(f"| program | precision | {' | '.join(sides)} | {' | '.join(f'{side} / Ltr' for side in theirs)} | memory Ltr | memory PyTorch |")
    print("|---" * (len(sides) + len(theirs) + 4) + "|")
    with tempfile.TemporaryDirectory(prefix="ltr-bench-") as folder:
        os.chdir(folder)
        for row in (row for row in ROWS if not given.only or any(text in row.name for text in given.only)):
            program = build(row.source, folder, given.ltrc)
            for precision in given.precisions:
                torch.cuda.reset_peak_memory_stats()
                ways = {"Ltr": functools.partial(ltr_seconds, program, row, precision, "false"),
                        "Ltr, deterministic": functools.partial(ltr_seconds, program, row, precision, "true"),
                        "PyTorch": Twin(row, precision, False).seconds}
                peak = torch.cuda.max_memory_allocated() / 2**20
                if compiled:
                    ways[compiled] = Twin(row, precision, True).seconds
                times = {side: [] for side in ways}
                for _ in range(given.rounds):
                    for side, seconds in ways.items():
                        times[side].append(1000 * (seconds(row.many) - seconds(row.few)) / (row.many - row.few))
                middle = {side: statistics.median(values) for side, values in times.items()}
                cells = [f"{middle[side]:.3g} ({min(times[side]):.3g})" for side in sides] + [f"{middle[side] / middle['Ltr']:.2f}" for side in theirs]
                print(f"| {row.name} | {precision} | {' | '.join(cells)} | {memory_of(program, row, precision)} | {peak:.0f} MiB |", flush=True)
                del ways
        program = build(ROWS[0].source, folder, given.ltrc)
        starts = []
        for _ in range(3):
            start = time.perf_counter()
            answer(*command(program, ROWS[0], "f32", 1))
            starts.append(time.perf_counter() - start)
        start = time.perf_counter()
        subprocess.run(["python3", "-c", "import torch; torch.zeros(1).cuda()"], check=True)
        print(f"\nA run of one step, start to end: {statistics.median(starts):.1f} s; `import torch` and a first tensor on the GPU: "
              f"{time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
