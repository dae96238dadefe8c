#!/usr/bin/env python3
"""Several processes on one machine: the Keras CNN with one process of one thread and with several, beside PyTorch alone and its
DistributedDataParallel over Gloo in the same rounds; and what `strategy = ddp` costs where there is one rank.

    python bench/processes.py [--rounds 3] [--world 2] [--steps 60]

Each process has one thread and one ready batch of 128; all ways take turns in every round. Time is that of STEPS steps behind
the first ten: whole runs of two lengths, and their difference. A row has the median; ratios are of medians. `bench/README.md`
says what else holds for all benchmarks here.
"""
import argparse
import os
import socket
import statistics
import sys
import tempfile
import time

from ltr import SOURCE, answer, bare_fit, build, end_of

BATCH = 128
WARM = 10
# One rank, with all that several have: a process that watches it, and a heartbeat.
DDP_OF_ONE = ("--nproc", 1, "--restarts", 1, "--set", "topology.strategy=ddp")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def torch_rank(rank, world, steps, port, seconds):
    import torch
    import torch.distributed as dist
    import torch.nn.functional as F
    sys.path.insert(0, str(SOURCE / "bench"))
    from programs import keras_cnn
    torch.set_num_threads(1)
    torch.manual_seed(rank)
    model = keras_cnn()
    if world > 1:
        dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=world)
        model = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0, rho=0.95, eps=1e-7)
    images, labels = torch.randn(BATCH, 1, 28, 28), torch.randint(10, (BATCH,))
    for step in range(WARM + steps):
        if step == WARM:
            begin = time.perf_counter()
        optimizer.zero_grad()
        F.cross_entropy(model(images), labels).backward()
        optimizer.step()
    seconds.value = time.perf_counter() - begin
    if world > 1:
        dist.destroy_process_group()


def torch_seconds(world, steps):
    import torch.multiprocessing as processes
    seconds = processes.get_context("spawn").Value("d", 0.0)
    processes.spawn(torch_rank, (world, steps, free_port(), seconds), nprocs=world)
    return seconds.value


def ltr_seconds(program, world, steps, *more):
    """Of the steps behind the first ones, and the `end` of the whole run."""
    def end(count):
        return end_of(answer(*bare_fit(program, count, "--mock-data", *more, ranks=world)))

    short, long = end(WARM), end(WARM + steps)
    return long["seconds"] - short["seconds"], long


def exchange_text(end):
    """What `exchange_s` and `exchange_wait_s` of a run say."""
    hidden = max(0, 1 - end["exchange_wait_s"] / end["exchange_s"])
    return f"on their way {end['exchange_s'] / end['seconds']:.0%} of the time, {hidden:.0%} of it hidden"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--world", type=int, default=2)
    parser.add_argument("--steps", type=int, default=60)
    options = parser.parse_args()
    busy = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="ltr-") as folder:
        program = build(SOURCE / "examples/keras_cnn.ltr", folder)
        times = {}
        ends = {}
        for _ in range(options.rounds):
            times.setdefault("ddp of one", []).append(ltr_seconds(program, 1, options.steps, *DDP_OF_ONE)[0])
            for world in (1, options.world):
                seconds, end = ltr_seconds(program, world, options.steps)
                times.setdefault(("Ltr", world), []).append(seconds)
                ends.setdefault(world, []).append(end)
                times.setdefault(("PyTorch", world), []).append(torch_seconds(world, options.steps))
    print(f"| | 1 process, samples/s | {options.world} processes, samples/s | times |\n|---|---|---|---|")
    for name in ("Ltr", "PyTorch"):
        one, many = (BATCH * world * options.steps / statistics.median(times[name, world]) for world in (1, options.world))
        print(f"| {name} | {one:,.0f} | {many:,.0f} | {many / one:.2f} |")
    alone = [one / own - 1 for one, own in zip(times["ddp of one"], times["Ltr", 1])]
    print(f"\nOne rank under ddp: {statistics.median(alone):+.1%} of the time of a step without ({min(alone):+.1%} to {max(alone):+.1%}).")
    if options.world > 1:
        middle = sorted(ends[options.world], key=lambda end: end["exchange_s"])[options.rounds // 2]
        print(f"\nLtr's gradients were {exchange_text(middle)}.")
    if busy > 0.5:
        print(f"\nThe machine was busy (load {busy:.1f}): do not quote these numbers.")


if __name__ == "__main__":
    main()
