#!/usr/bin/env python3
"""Every bit of a checkpoint counts: flipped bits, cut files and bytes at the end are noticed by every way in.

`--resume PATH`, `--weights` of the folder, of `weights.safetensors` in it, and of `last`, in `fit`, `validate`, `test` and
`predict`, and the same weights as a PyTorch file. What is noticed is refused (exit 2) or, with another checkpoint to fall back on, passed over with a notice.

  bits.py                               what ctest runs
  bits.py --flips 1000 --cuts 200       by hand
"""
import argparse
import pathlib
import random
import shutil
import subprocess
import sys

from faults import HERE, build, check, finish, fit, newest, scratch, start
import torch_file  # beside the harness, where `faults` looks

# A start takes most of the time, so a few programs run side by side.
SIDE_BY_SIDE = 4


def ways(program, step, run):
    """{title: command} for a checkpoint folder that is damaged."""
    out = ["--threads", 1, "--out", run.parent.parent]
    return {
        "fit --resume PATH": ["fit", "--json", "--resume", step, "--epochs", 9, *out],
        "fit --weights FILE": ["fit", "--json", "--weights", step / "weights.safetensors", "--fast-dev-run", *out],
        "validate --weights PATH": ["validate", "--weights", step, *out],
        "validate --weights FILE": ["validate", "--weights", step / "weights.safetensors", *out],
        "test --weights last": ["test", "--weights", "last", *out],
        "predict --weights PATH": ["predict", "--weights", step, "--write", "-", *out],
        "predict --weights FILE": ["predict", "--weights", step / "weights.safetensors", "--write", "-", *out],
    }


def sees(title, damaged):
    """Whether this way reads the damaged file at all: a file of weights is held against its row of the manifest."""
    return damaged.name in ("weights.safetensors", "checkpoint.json") or not title.endswith("FILE")


def damage(chance, file, kind):
    """Damages `file`; says how."""
    data = bytearray(file.read_bytes())
    if kind == "flip":
        at = chance.randrange(len(data))
        data[at] ^= 1 << chance.randrange(8)
        file.write_bytes(data)
        return f"{file.name}: a bit of byte {at}"
    if kind == "cut":
        size = chance.randrange(len(data))
        file.write_bytes(data[:size])
        return f"{file.name}: cut to {size} bytes"
    file.write_bytes(bytes(data) + bytes([chance.choice((0, 10, 32, 125))]))
    return f"{file.name}: a byte more"


def torch_files(program, folder, checkpoint, chance, flips):
    """The weights as a PyTorch file: a flipped bit of what is read is refused, by the name of its member."""
    file = folder / "weights.pt"
    members = torch_file.write(file, torch_file.tensors_of(checkpoint / "weights.safetensors"))
    out = ["--threads", 1, "--out", folder / "torch-runs"]
    commands = [["validate", "--weights", file, *out], ["predict", "--weights", file, "--write", "-", *out],
                ["fit", "--json", "--weights", file, "--fast-dev-run", *out]]
    for command in commands:
        result = start(program, *command)
        check(f"undamaged: {command[0]} --weights weights.pt", result.code == 0, result.text)
    data = file.read_bytes()
    missed = 0
    for i in range(flips):
        begin, end = members[i % len(members)]
        at = chance.randrange(begin, end)
        file.write_bytes(data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1:])
        result = start(program, *commands[i % len(commands)])
        member = "archive/data.pkl" if i % len(members) == 0 else f"archive/data/{i % len(members) - 1}"
        if not (result.code == 2 and "R2011" in result.text and f"the bytes of {member} do not have their CRC-32" in result.text):
            missed += 1
            check(f"weights.pt: a bit of byte {at}, {commands[i % len(commands)][0]}", False, f"exit {result.code}\n{result.text}")
    check(f"{flips} flips of a PyTorch file: {missed} went unnoticed", missed == 0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--flips", type=int, default=30)
    parser.add_argument("--cuts", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with scratch() as place:
        folder = pathlib.Path(place)
        program = build(HERE / "all_ways.ltr", folder)
        result = fit(program, folder / "runs")
        check("fit", result.code == 0, result.text)
        run = newest(folder / "runs")
        whole = (run / "checkpoints/last").resolve()
        for title, command in ways(program, whole, run).items():
            result = start(program, *command)
            check(f"undamaged: {title}", result.code == 0, result.text)
            for extra in sorted(run.parent.glob("[0-9]*"))[1:]:
                shutil.rmtree(extra)
        shutil.rmtree(folder / "runs")
        fit(program, folder / "runs")
        chance = random.Random(options.seed)
        torch_files(program, folder, (newest(folder / "runs") / "checkpoints/last").resolve(), chance, max(options.flips // 3, 6))
        names = sorted(file.name for file in whole.iterdir())
        kinds = ["flip"] * options.flips + ["cut"] * options.cuts + ["more"] * 6
        jobs = []
        missed = 0
        for i, kind in enumerate(kinds):
            runs = folder / f"damaged{i}"
            shutil.copytree(folder / "runs", runs, symlinks=True)
            run = newest(runs)
            step = (run / "checkpoints/last").resolve()
            file = step / names[i % len(names)]
            what = damage(chance, file, kind)
            possible = [title for title in ways(program, step, run) if sees(title, file)]
            title = possible[i % len(possible)] if options.flips < 200 else chance.choice(possible)
            command = [str(word) for word in (program, *ways(program, step, run)[title])]
            jobs.append((f"{what}, {title}", runs, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)))
            if len(jobs) == SIDE_BY_SIDE or i + 1 == len(kinds):
                for name, runs, process in jobs:
                    text = process.communicate(timeout=120)[0].decode(errors="replace")
                    is_refused = process.returncode == 2 and "R2011" in text
                    is_passed_over = "is damaged" in text and "is passed over" in text
                    if not (is_refused or is_passed_over):
                        missed += 1
                        check(name, False, f"exit {process.returncode}\n{text}")
                    shutil.rmtree(runs)
                jobs = []
        check(f"{options.flips} flips, {options.cuts} cuts, 6 bytes more: {missed} went unnoticed", missed == 0)
    finish()


sys.exit(main())
