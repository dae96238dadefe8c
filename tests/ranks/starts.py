#!/usr/bin/env python3
"""Ranks that the program starts itself: how many, what is refused and by whom, and what does not need them.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from team import EXAMPLES, LONG, PATIENCE, build, check, clean_up, finish, free_ports, members, newest, run, scratch, wait_for, words

EPOCHS = ("--epochs", 3, "--threads", 1, "--no-bar")


def weights(runs):
    return (newest(runs) / "checkpoints/last/weights.safetensors").read_bytes()


def counts(program, folder):
    result = run(program, "fit", *EPOCHS, "--nproc", 2, "--out", folder / "nproc", timeout=60)
    check("--nproc 2 trains on two ranks", result.returncode == 0 and "120 samples, 8 batches" in result.text, result.text)
    check("and says so once", result.stderr.count("launcher own: 2 ranks on 1 node, meeting 127.0.0.1:") == 1, result.stderr)
    check("the first rank alone prints", result.stdout.count("finished: 12 steps") == 1, result.stdout)
    devices = run(program, "fit", *EPOCHS, "--devices", "cpu[2]", "--out", folder / "devices", timeout=60)
    check("as many as the topology has devices, with the same result",
          devices.returncode == 0 and weights(folder / "nproc") == weights(folder / "devices"), devices.text)
    mesh = run(program, "fit", *EPOCHS, "--set", "topology.mesh.replica=2", "--out", folder / "mesh", timeout=60)
    check("or its mesh places, where the devices have no number",
          mesh.returncode == 0 and "launcher own: 2 ranks" in mesh.stderr and weights(folder / "nproc") == weights(folder / "mesh"), mesh.text)
    result = run(program, "validate", "--nproc", 2, "--out", folder / "nproc", timeout=60)
    check("validate on two ranks", result.returncode == 0 and "launcher own: 2 ranks" in result.stderr and result.stdout.count("samples") == 1, result.text)
    for verb, *several in (("describe", "--nproc", 2), ("describe", "--devices", "cpu[2]"), ("config", "--devices", "cpu[2]")):
        result = run(program, verb, *several, timeout=60)
        check(f"{verb} {several[0]} runs alone", result.returncode == 0 and "launcher" not in result.stderr, result.text)
    alone = run(program, "fit", *EPOCHS, "--out", folder / "alone", timeout=60)
    check("one process says nothing of launchers", alone.returncode == 0 and "launcher" not in alone.stderr, alone.text)
    cores = os.cpu_count()
    if cores <= 8:
        result = run(program, "fit", *EPOCHS, "--nproc", cores + 1, "--out", folder / "many", timeout=120)
        check("more ranks than cores are warned of", f"warning: {cores + 1} ranks share" in result.stderr, result.text)


def limits(program, folder):
    """Limits in batches are of each rank; the start says what all of them read."""
    result = run(program, "fit", "--nproc", 2, "--limit-train", 2, "--epochs", 1, "--no-bar", "--out", folder / "limits", timeout=60)
    check("--limit-train 2 of two ranks: four batches, two steps", result.returncode == 0 and "train 64 samples, 4 batches · " in result.text
          and "1 epoch = 2 steps" in result.text, result.text)


def refusals(program, folder):
    """Each is said once, by the parent, before there is a rank."""
    cases = [
        (("--nproc", "0"), "R2003", '--nproc is "0", but a count of ranks, 1 or more, or LEAST:MOST of them is wanted'),
        (("--nproc", "-2"), "R2003", '--nproc is "-2"'),
        (("--nproc", "two"), "R2003", '--nproc is "two"'),
        (("--nproc", "1000000"), "R2008", "1,000,000 ranks on this machine, which has "),
        (("--devices", "cpu[1000000]"), "R2003", '--devices is "cpu[1000000]"'),
        (("--set", "topology.mesh.replica=1000000"), "R2008", "1,000,000 ranks on this machine, which has "),
        (("--devices", "cpu[2]", "--nproc", "4"), "R2008", "--devices cpu[2] asks for 2 ranks, but there are 4"),
        (("--devices", "cuda[2]"), "R2008", "--devices cuda[2], but "),
        (("--devices", "cpu[0]"), "R2003", '--devices is "cpu[0]"'),
        (("--nproc", "2", "--set", "trainer.epochs=x"), "R2003", "trainer.epochs"),
        (("--nproc", "2", "--set", "topology.strategy=single"), "R2008", "strategy = single runs on 1 rank, but there are 2"),
        (("--set", "topology.nodes=2"), "R2008", "--set topology.nodes=2 asks for 2 ranks, but there is 1"),
        (("--set", "topology.nodes=2", "--set", "topology.mesh.replica=3"), "R2008", "has 3 places, which 2 machines cannot have in equal parts"),
        (("--set", "topology.bucket=5"), "R2003", 'topology.bucket is "5", but auto or a size with its unit, such as 25 MiB is wanted'),
        (("--set", "topology.recompute=Layer"), "R2003", 'topology.recompute is "Layer", but a list such as ["Layer"] is wanted'),
        (("--set", 'topology.recompute=["Linaer"]'), "R2006", "there is no block Linaer (the program has: Linear)"),
        (("--set", 'topology.recompute=["Linear"]'), "R2006", "no topology of the program says `recompute at Linear`"),
        (("--launcher", "slrm"), "R2003", "did you mean slurm?"),
        (("--launcher", "slurm"), "R2008", "launcher slurm: SLURM_PROCID is not set"),
    ]
    for options, code, text in cases:
        result = run(program, "fit", *options, "--out", folder / "refused", timeout=60)
        check(f"refused: {' '.join(options)}", result.returncode == 2 and result.stderr.count(f"error[{code}]") == 1 and text in result.stderr, result.text)
    result = run(program, "fit", "--devices", "cuda[2]", timeout=60)
    check("what fits instead is named", "--devices cpu[2], or --topology laptop" in result.stderr, result.text)
    for options, text in ((("--devices", "cuda[2]"), ""), (("--set", "topology.strategy=fsdp"), "help: --set topology.shard.weights=BLOCK"),
                          (("--set", "topology.strategy=hsdp", "--set", "topology.shard.weights=Linear"), "help: --set topology.mesh.replica=2 --set topology.mesh.fsdp=4")):
        result = run(program, "fit", "--nproc", 2, *options, timeout=60)
        check(f"what was typed is the place: {options[-1]}", result.returncode == 2 and f"]: {' '.join(options[:2])}" in result.stderr
              and "-->" not in result.stderr and "`" not in result.stderr and text in result.stderr, result.text)
    check("none of them has made a run", not (folder / "refused").exists())


def pipes(program, folder):
    """`--config` may be a pipe, where it is read once."""
    def shell(options):
        return run("bash", "-c", f'exec "$0" fit --config <(echo \'{{"trainer.epochs": 1}}\') --threads 1 --no-bar --out "$1" {options}', program, folder / "piped", timeout=60)

    result = shell("")
    check("settings from a pipe", result.returncode == 0 and "finished: 8 steps" in result.text, result.text)
    result = shell("--nproc 2")
    check("ranks of our own cannot have them", result.returncode == 2 and result.text.count("error[R2003]: --config is \"/dev/fd/") == 1
          and "but a file that every rank can read is wanted" in result.text, result.text)
    result = run(program, "fit", "--config", folder / "missing.json", "--epochs", "x", "--devices", "cpu[2]", timeout=60)
    check("a file that is not there is one of all faults, once", result.returncode == 2 and result.text.count("[R2014]") == 1
          and result.text.count("[R2003]") == 1 and "R2008" not in result.text, result.text)


def variables(program, folder):
    """What a launcher left in the environment."""
    for given, text in (({"RANK": "1", "WORLD_SIZE": "1", "LOCAL_RANK": "0"}, "launcher torchrun: RANK is 1, but WORLD_SIZE is 1"),
                        ({"WORLD_SIZE": "2"}, "launcher node: RANK is not set"),
                        ({"OMPI_COMM_WORLD_RANK": "0"}, "launcher openmpi: OMPI_COMM_WORLD_SIZE is not set")):
        os.environ.update(given)
        result = run(program, "fit", *EPOCHS, "--out", folder / "environment", timeout=60)
        alone = run(program, "fit", *EPOCHS, "--launcher", "none", "--out", folder / "environment", timeout=60)
        for name in given:
            del os.environ[name]
        check(f"refused: {given}", result.returncode == 2 and f"error[R2008]: {text}" in result.stderr, result.text)
        check("but not with --launcher none", alone.returncode == 0, alone.text)


def has_address(host):
    try:
        with socket.create_server((host, 0), family=socket.getaddrinfo(host, 0)[0][0]):
            return True
    except OSError:
        return False


def machines(program, folder):
    """Two machines by hand, both of them this one."""
    port = free_ports(1)[0]

    def started(node, *options, host="127.0.0.1"):
        variables = {**os.environ, "LTR_NODES": "2", "LTR_NODE_RANK": str(node), "LTR_MASTER": f"{host}:{port}"}
        return subprocess.Popen(words(program, "fit", "--threads", 1, "--json", "--nproc", 1, *options), env=variables, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def fit(runs, host):
        both = [started(node, "--epochs", 3, "--out", folder / runs, host=host) for node in (0, 1)]
        return both, [one.communicate(timeout=60 * PATIENCE)[0] for one in both]

    both, texts = fit("machines", "127.0.0.1")
    check("two machines train as one", [one.returncode for one in both] == [0, 0] and '"step":12' in texts[0] and "error" not in texts[1], texts)
    check("as two ranks of one do", weights(folder / "machines") == weights(folder / "nproc"), texts)
    record = json.loads((newest(folder / "machines") / "run.json").read_text())
    check("the run's record has each machine once", record["hosts"] == [socket.gethostname()] and record["topology"]["nodes"] == 1, record)
    for host in ("[::1]", socket.gethostname()):
        if not has_address(host.strip("[]")):
            print(f"skipped: this machine has no address {host}")
            continue
        both, texts = fit(f"meeting-{host}", host)
        check(f"they meet at {host}, too", [one.returncode for one in both] == [0, 0] and weights(folder / f"meeting-{host}") == weights(folder / "nproc"), texts)
    nobodys = "192.0.2.1"  # of no machine, by RFC 5737
    one = started(0, "--out", folder / "nobody", host=nobodys)
    text = one.communicate(timeout=60 * PATIENCE)[0]
    check("a first machine that is not there is told so", one.returncode == 2 and text.count("R2008") == 1
          and f"the ranks cannot meet at {nobodys}:{port}: this machine does not reach itself there" in text, text)
    for lost, title in ((1, "a machine that is lost ends the others, with a word"), (0, "so does the first one, which keeps the meeting point")):
        both = [started(node, *LONG, "--out", folder / f"lost{lost}") for node in (0, 1)]
        for line in both[0].stdout:
            if '"event":"step"' in line:
                break
        both[lost].kill()
        text = both[1 - lost].communicate(timeout=15 * PATIENCE)[0]
        both[lost].communicate(timeout=15)
        check(title, both[1 - lost].returncode == 1 and text.count("R1002") == 1 and "frame #" not in text, text[-2000:])


def told_before_the_start(program, folder):
    """A signal that came before the ranks: it is pending, so none of them has to be caught at the right moment."""
    def pending(number):
        signal.pthread_sigmask(signal.SIG_BLOCK, {number})
        os.kill(os.getpid(), number)

    for number, code in ((signal.SIGTERM, 75), (signal.SIGINT, 130)):
        process = subprocess.Popen(words(program, "fit", *EPOCHS, "--nproc", 2, "--out", folder / number.name), preexec_fn=lambda: pending(number),
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        text = process.communicate(timeout=60 * PATIENCE)[0]
        check(f"{number.name} while ranks are started ends at once", process.returncode == code and "stopped before all ranks had begun" in text
              and not list((folder / number.name).glob("*/[0-9]*")), f"{process.returncode}\n{text}")
    process = subprocess.Popen(words(program, "fit", *EPOCHS, "--nproc", 16, "--out", folder / "sixteen"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    wait_for(lambda: len(members(program)) > 2, 30, "the first ranks")
    process.send_signal(signal.SIGTERM)
    text = process.communicate(timeout=15 * PATIENCE)[0]
    check("and so it does in the middle of it", process.returncode == 75 and not members(program), f"{process.returncode}\n{text}")


def apart(program, folder):
    """Ranks whose launcher ends none of them: what is wrong with all is said once, however far apart they come."""
    port = free_ports(1)[0]

    def started(rank):
        variables = {**os.environ, "LTR_RANK": str(rank), "LTR_WORLD": "2", "LTR_LOCAL_RANK": str(rank), "LTR_LOCAL_SIZE": "2", "LTR_MASTER": f"127.0.0.1:{port}"}
        return subprocess.Popen(words(program, "fit", *EPOCHS, "--nproc", 4, "--out", folder / "apart"), env=variables, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    for first, seconds in ((1, 4), (0, 1)):
        early = started(first)
        time.sleep(seconds)
        both = [early, started(1 - first)]
        texts = [one.communicate(timeout=60 * PATIENCE)[0] for one in both]
        check(f"said once, where rank {first} comes {seconds} s before the other", [one.returncode for one in both] == [2, 2]
              and "".join(texts).count("error[R2006]: --nproc 4, but the launcher own started 2 ranks") == 1, texts)


def elsewhere(program, folder):
    """A topology for a scheduler that did not start this."""
    def fit(*options):
        return run(program, "fit", *EPOCHS, "--set", "topology.scheduler=slurm", "--out", folder / "elsewhere", *options, timeout=60)

    result = fit("--nproc", 2)
    check("a run that is not of its scheduler is warned of", result.returncode == 0
          and result.stderr.count("warning: the topology laptop has scheduler = slurm, but no job of it started this run (SLURM_JOB_ID is not set)") == 1, result.text)
    os.environ["SLURM_JOB_ID"] = "7"
    result = fit()
    del os.environ["SLURM_JOB_ID"]
    check("one that is, is not", result.returncode == 0 and "scheduler" not in result.text, result.text)


with scratch() as name:
    folder = pathlib.Path(name).resolve()
    iris = build(EXAMPLES / "iris.ltr", folder)
    counts(iris, folder)
    limits(iris, folder)
    refusals(iris, folder)
    pipes(iris, folder)
    variables(iris, folder)
    machines(iris, folder)
    told_before_the_start(iris, folder)
    apart(iris, folder)
    elsewhere(iris, folder)
    check("no rank is left", clean_up(iris))
finish()
