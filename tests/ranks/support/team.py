"""What the tests of several ranks share: a program's processes, and what they leave."""
import csv
import math
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "run/support"))
from harness import EXAMPLES, PATIENCE, build, check, finish, newest, result_of, run, scratch  # noqa: F401

LONG = ("--epochs", 100000, "--set", "callbacks.EarlyStop=off")


def words(*command):
    return [str(word) for word in command]


def rows(runs):
    """What the newest run recorded: {name: number} of each row. A name that has two columns has its number in one of them."""
    with open(newest(runs) / "metrics.csv") as file:
        names, *rows = csv.reader(file)
    return [{name: float(cell) for name, cell in zip(names, row) if cell} for row in rows]


def farthest(found, wanted, *, least=1e-12, without=()):
    """The largest difference of two lists of rows, relative to what is wanted, at least `least`; and of what. Infinite where one
    has a value that the other lacks."""
    worst = (0.0, "")
    if len(found) != len(wanted):
        return float("inf"), f"{len(found)} and {len(wanted)} rows"
    for one, other in zip(found, wanted):
        for name in (one.keys() | other.keys()) - set(without):
            where = f"{name} at step {other['step']:.0f}: {one.get(name)} and {other.get(name)}"
            if name not in one or name not in other:
                return float("inf"), where
            same = one[name] == other[name] or math.isnan(one[name]) and math.isnan(other[name])
            difference = 0.0 if same else abs(one[name] - other[name]) / max(abs(other[name]), least)
            worst = max(worst, (float("inf") if math.isnan(difference) else difference, where))
    return worst


def compare(title, found, wanted, tolerance, **how):
    """Rows are alike."""
    difference, where = farthest(found, wanted, **how)
    check(f"{title}: {len(wanted)} rows, {difference:.1e}", difference <= tolerance, where)


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def members(program, variable="LTR_RANK"):
    """{process: its rank, as `variable` says} of all that run `program`; None for one that is no rank."""
    found = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(folder / "exe") != str(program):
                continue
            variables = dict(entry.split("=", 1) for entry in (folder / "environ").read_text().split("\0") if "=" in entry)
        except (OSError, UnicodeDecodeError):
            continue
        found[int(folder.name)] = int(variables[variable]) if variable in variables else None
    return found


def rank_of(program, rank):
    """The process of `rank`."""
    return next(process for process, number in members(program).items() if number == rank)


def wait_for(holds, seconds, what):
    """Until `holds()`; ends the test if that takes too long."""
    end = time.monotonic() + seconds * PATIENCE
    while not (value := holds()):
        if time.monotonic() > end:
            sys.exit(f"{what} did not come within {seconds} s")
        time.sleep(0.02)
    return value


def clean_up(program):
    """Ends what a failed check left; whether there was nothing."""
    left = [process for process in members(program)]
    for process in left:
        os.kill(process, signal.SIGKILL)
    return not left


class Team:
    """A fit of `nproc` ranks that runs on, in a group of its own; `text` is what it has said when it is over."""

    def __init__(self, program, runs, *options, nproc=2, until='"event":"step"', env=None):
        self.program = program
        self.output = pathlib.Path(f"{runs}.txt")
        with open(self.output, "w") as file:
            self.process = subprocess.Popen(words(program, "fit", "--json", "--threads", 1, "--nproc", nproc, "--out", runs, *options),
                                            env={**os.environ, **(env or {})}, stdout=file, stderr=subprocess.STDOUT, start_new_session=True)
        wait_for(lambda: self.has(until), 60, until)

    def has(self, text):
        """Whether it has said `text`, or will not any more."""
        return text in self.output.read_text() or self.process.poll() is not None

    def send(self, number):
        self.process.send_signal(number)

    def end(self, seconds):
        """The exit code, None if it is not over in `seconds`; nothing is left behind."""
        self.seconds = 0
        last = time.monotonic()
        while self.process.poll() is None and self.seconds < seconds * PATIENCE:
            time.sleep(0.02)
            # A machine that stood still has not waited.
            last, before = time.monotonic(), last
            self.seconds += min(last - before, 1)
        code = self.process.poll()
        # The ranks of a parent that was killed end a moment after it.
        end = time.monotonic() + 5
        while members(self.program) and code is not None and time.monotonic() < end:
            time.sleep(0.02)
        self.is_clean = clean_up(self.program)
        self.process.wait(10)
        self.text = self.output.read_text()
        return code
