#!/usr/bin/env python3
"""A SLURM of one machine: ranks that srun starts, in a step of their own and from a job's script.

Starts munge and SLURM's daemons in a temporary folder, as root, and ends them. Python's standard library alone; LTRC and
LTR_SOURCE say which compiler and sources, if not these.
"""
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from team import EXAMPLES, build, check, clean_up, finish, free_ports, newest, run, wait_for, words

HERE = pathlib.Path(__file__).resolve().parent
FIT = ("fit", "--epochs", 4, "--threads", 1, "--no-bar")
DIGITS = f"--epochs 60 --threads 1 --no-bar --set data.root={EXAMPLES / 'data/mnist-5k'}"
COMMANDS = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "scontrol")


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


class Cluster:
    """munge, a controller and two nodes, all on this machine."""

    def __init__(self, folder):
        self.folder = folder
        self.daemons = []
        host = socket.gethostname().split(".")[0]
        control, *nodes = free_ports(3)
        (folder / "munge.key").write_bytes(os.urandom(1024))
        (folder / "munge.key").chmod(0o400)
        lines = "\n".join(f"NodeName=n{i} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=2 State=UNKNOWN" for i, port in enumerate(nodes))
        (folder / "slurm.conf").write_text(f"""ClusterName=ltr
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={control}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=2,bf_interval=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
{lines}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
""")
        os.environ["SLURM_CONF"] = str(folder / "slurm.conf")
        for name in ("state", "spool-n0", "spool-n1"):
            (folder / name).mkdir()

    def start(self):
        self.daemon("munged", "--foreground", "--force", f"--key-file={self.folder}/munge.key", f"--socket={self.folder}/munge.socket",
                    f"--pid-file={self.folder}/munge.pid", f"--log-file={self.folder}/munge.log", f"--seed-file={self.folder}/munge.seed")
        wait_for((self.folder / "munge.socket").exists, 20, "munge's socket")
        self.daemon("slurmctld", "-D")
        for node in ("n0", "n1"):
            self.daemon("slurmd", "-D", "-N", node)
        wait_for(lambda: run("sinfo", "-h", "-t", "idle", "-o", "%D").stdout.strip() == "2", 60, "an idle node")

    def daemon(self, *command):
        with open(self.folder / f"{command[0]}-{len(self.daemons)}.txt", "w") as output:
            self.daemons.append(subprocess.Popen(words(*command), stdout=output, stderr=subprocess.STDOUT))

    def end(self):
        run("scancel", "--user", "root")
        wait_for(lambda: run("squeue", "-h").stdout == "", 30, "the end of all jobs")
        for process in reversed(self.daemons):
            process.send_signal(signal.SIGTERM)
        for process in reversed(self.daemons):
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def steps(iris, folder):
    # The names of the nodes are nobody's address.
    result = run("env", "MASTER_ADDR=127.0.0.1", "srun", "-N", 2, "-n", 4, "--overcommit", iris, *FIT, "--out", folder / "four", timeout=60)
    check("srun on two nodes", result.returncode == 0 and "finished: " in result.stdout, result.text)
    check("is seen as such, once", len(re.findall(r"launcher slurm: 4 ranks on 2 nodes, meeting \S+:\d+\n", result.text)) == 1, result.text)
    result = run("env", "MASTER_ADDR=127.0.0.1", "srun", "-N", 1, "-n", 2, "--overcommit", iris, *FIT, "--out", folder / "srun", timeout=60)
    own = run(iris, *FIT, "--nproc", 2, "--out", folder / "own", timeout=60)
    same = [(newest(folder / name) / "metrics.csv").read_bytes() for name in ("srun", "own")] if result.returncode == own.returncode == 0 else [0, 1]
    check("srun's ranks give what our own do", same[0] == same[1], result.text + own.text)
    script = folder / "job.sh"
    script.write_text(f"#!/bin/sh\n{iris} fit --epochs 1 --no-bar --out {folder}/script\n")
    script.chmod(0o755)
    result = run("sbatch", "--wait", "-n", 4, "--overcommit", "-o", folder / "job.txt", script, timeout=120)
    text = (folder / "job.txt").read_text()
    check("a job's script without srun is one process", result.returncode == 0 and "finished: 8 steps" in text and "launcher" not in text, result.text + text)


def jobs(digits, folder):
    """A job that ends ahead of its run, and is in the queue again by itself; an array, whose tasks have a run each."""
    common = ("--overcommit", "--open-mode=append")
    script = folder / "again.sh"
    script.write_text(f"#!/bin/sh\nMASTER_ADDR=127.0.0.1 exec srun --overcommit {digits} fit --topology queued {DIGITS} --out {folder}/again "
                      "--name slurm-$SLURM_JOB_ID --resume auto\n")
    script.chmod(0o755)
    said = run("sbatch", "--parsable", "-N", 1, "-n", 2, *common, "-o", folder / "again.txt", script)
    job = said.stdout.strip()
    check("a job is submitted", said.returncode == 0, said.text)
    text = folder / "again.txt"

    # Patterns of a fixed depth: a search of all folders would meet checkpoints as they are deleted.
    wait_for(lambda: any((folder / "again").glob("*/*/checkpoints/step*")), 60, "a checkpoint of the job")
    run("scancel", "--signal=USR1", job)
    wait_for(lambda: "goes into the queue again" in text.read_text(), 60, "the job on its way into the queue")
    wait_for(lambda: any((folder / "again").glob("*/*/DONE")), 120, "the job's second time")
    wait_for(lambda: run("squeue", "-h").stdout == "", 60, "the job's end")
    check("SIGUSR1 puts the job into the queue, once", text.read_text().count(f"the job {job} goes into the queue again\n") == 1, text.read_text())
    whole = run("env", "MASTER_ADDR=127.0.0.1", "srun", "-N", 1, "-n", 2, "--overcommit", digits, "fit", "--topology", "queued", *DIGITS.split(),
                "--out", folder / "whole", timeout=120)
    check("an undisturbed one", whole.returncode == 0, whole.text)
    runs = [newest(folder / name) for name in ("again", "whole")]
    check("it goes on in its own run", runs[0].name == f"0001-slurm-{job}" and len(list(runs[0].parent.glob("0*"))) == 1, str(runs))
    for name in ("metrics.csv", "checkpoints/last/weights.safetensors"):
        check(f"and ends in the same {name}", (runs[0] / name).read_bytes() == (runs[1] / name).read_bytes())
    script = folder / "array.sh"
    script.write_text(f"#!/bin/sh\nexec srun {digits} fit {DIGITS} --steps 5 --out {folder}/array --name slurm-$SLURM_ARRAY_JOB_ID-$SLURM_ARRAY_TASK_ID "
                      "--resume auto\n")
    script.chmod(0o755)
    result = run("sbatch", "--parsable", "--wait", "--array=0-1", "-n", 1, *common, "-o", folder / "array-%a.txt", script, timeout=120)
    job = result.stdout.strip()
    names = sorted(one.parent.name for one in (folder / "array").rglob("DONE"))
    check("an array has a run for each task", sorted(name.split("-", 1)[1] for name in names) == [f"slurm-{job}-0", f"slurm-{job}-1"], f"{names}\n{result.text}")


missing = [command for command in COMMANDS if shutil.which(command) is None]
if missing:
    skip(f"there is no {', no '.join(missing)}: the packages are slurm-wlm and munge")
if os.geteuid() != 0:
    skip("munge and SLURM's daemons are started as root")
# Sockets have short names, and munge wants every folder above its own to be safe.
with tempfile.TemporaryDirectory(prefix="ltr-", dir="/run") as name:
    folder = pathlib.Path(name).resolve()
    folder.chmod(0o755)
    iris = build(EXAMPLES / "iris.ltr", folder)
    digits = build(HERE / "digits.ltr", folder)
    cluster = Cluster(folder)
    try:
        cluster.start()
        steps(iris, folder)
        jobs(digits, folder)
    finally:
        cluster.end()
    check("no rank is left", clean_up(iris) and clean_up(digits))
finish()
