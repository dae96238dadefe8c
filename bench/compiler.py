#!/usr/bin/env python3
"""Times of the compiler: `ltrc check` by length of the program, a build that nothing is kept of, the start of what it builds;
beside them what it takes to import PyTorch. Prints a Markdown table. Needs torch for that row alone.

    python bench/compiler.py [--ltrc build/release/bin/ltrc] [--rounds 9]
"""
import argparse
import importlib.util
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from ltr import LTRC, SOURCE, build, words

LIGHTNING = next((name for name in ("lightning", "pytorch_lightning") if importlib.util.find_spec(name)), None)
# Of an empty program, of 500 and of 10,000 lines.
PROMISED_MS = {0: 5, 500: 15, 10_000: 250}
FIRST_BATCH_MS = 400


def generated_program(length):
    """A correct program of about `length` lines, 10 for each of its blocks."""
    if length == 0:
        return "ltr 1\n"
    blocks = (length - 35) // 12 + 1
    lines = ["ltr 1", "", "hparam lr: float = 1e-3 where lr > 0", ""]
    for i in range(blocks):
        lines += [f"block Part{i}(D: int) {{", "  norm = LayerNorm(D)", "  up   = Linear(D, 4 * D)",
                  "  down = Linear(4 * D, D)", "", "  fn forward[B, S](x: float[B, S, D]) -> float[B, S, D] {",
                  "    h = norm(x) |> up |> gelu |> down", "    return x + h", "  }", "}", ""]
    lines += ["data Points(file: path = \"points.csv\") {", "  batch[B] { x: float[B, 8, 16], label: i64[B] }",
              "  fn widen(row: {a: float, label: int}) -> {x: float[8, 16], label: int} = (x = full(8, 16, row.a), label = row.label)",
              "  train = csv(file) as {a: float, label: int} |> map(widen) |> shuffle(1) |> collate(8)", "}", "", "block Net() {"]
    lines += [f"  part{i} = Part{i}(16)" for i in range(blocks)]
    chain = " |> ".join(f"part{i}" for i in range(blocks))
    lines += ["  head = Linear(16, 10)", f"  fn forward[B](x: float[B, 8, 16]) -> float[B, 10] = (x |> {chain}).mean(1) |> head",
              "}", "", "model Classifier(lr: float) {", "  net = Net()", "  optimizer opt = Adam(net.weights, lr = lr)",
              "  step train[B](x: float[B, 8, 16], label: i64[B]) {", "    loss = cross_entropy(net(x), label)",
              "    minimize loss", "    log loss", "  }", "}", "", "experiment generated {", "  data = Points()",
              "  model = Classifier(lr)", "  trainer { steps = 10 }", "}", ""]
    return "\n".join(lines)


def wall_ms(command, repeats, **options):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        subprocess.run(words(*command), check=True, capture_output=True, **options)
        times.append(1000 * (time.perf_counter() - start))
    return times


def measure_compiler(ltrc, folder, rounds):
    def row(what, times, promise="–"):
        print(f"| {what} | {statistics.median(times):.1f} | {min(times):.1f} | {promise} |", flush=True)

    print("\n| what | median ms | minimum ms | promised |\n|---|---|---|---|")
    for length, promised in PROMISED_MS.items():
        file = folder / f"generated_{length}.ltr"
        file.write_text(generated_program(length))
        lines = len(file.read_text().splitlines())
        wall_ms([ltrc, "check", file], 1)
        row(f"`ltrc check` of {lines:,} line{'s'[:lines != 1]}", wall_ms([ltrc, "check", file], 2 * rounds), promised)
    mnist = SOURCE / "examples/mnist.ltr"
    cold, imported = [], []
    for _ in range(3):  # in turns, since a busy machine slows both
        kept = {**os.environ, "LTR_CACHE_DIR": tempfile.mkdtemp(dir=folder)}
        cold += wall_ms([ltrc, "build", mnist, "-o", folder / "cold"], 1, env=kept)
        imported += wall_ms([sys.executable, "-c", "import torch"], 1)
    row("`ltrc build mnist.ltr`, empty cache", cold, "half of PyTorch's import")
    row("for comparison: `python -c 'import torch'`", imported)
    if LIGHTNING:
        row(f"for comparison: `python -c 'import {LIGHTNING}'`", wall_ms([sys.executable, "-c", f"import {LIGHTNING}"], 2))
    for name in ("iris", "mnist"):
        program = build(SOURCE / f"examples/{name}.ltr", folder, ltrc)
        row(f"`./{name} fit --fast-dev-run`, start to end: data, model, one batch of each step",
            wall_ms([program, "fit", "--fast-dev-run", "--no-bar", "--threads", 1], rounds, cwd=folder))
    # The first batch is there before the process ends: what is promised of it holds where it does of the whole.
    row("`./mnist fit --bare --steps 1`, from the start of the process to behind its first batch",
        wall_ms([program, "fit", "--bare", "--json", "--limit-val", 0, "--steps", 1, "--threads", 1], rounds, cwd=folder), FIRST_BATCH_MS)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--ltrc", type=lambda path: pathlib.Path(path).resolve(), default=LTRC)
    options.add_argument("--rounds", type=int, default=9)
    given = options.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory(prefix="ltr-bench-") as folder:
        measure_compiler(given.ltrc, pathlib.Path(folder), given.rounds)


if __name__ == "__main__":
    main()
