#!/usr/bin/env python3
"""Ranks that do not fit together, and ranks that do not find each other: one message names who and what, and all leave.

They are started by hand, as a launcher would. Python's standard library alone; LTRC and LTR_SOURCE say which compiler and
sources, if not these.
"""
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from team import EXAMPLES, PATIENCE, build, check, clean_up, finish, free_ports, newest, run, scratch, words

SUPPORT = pathlib.Path(__file__).resolve().parent / "support"
ALL_GONE = 15  # seconds, by promise


class ByHand:
    """Ranks of one machine, `options[i]` and `programs[i]` of rank i; `code`s and `text`s when all are over."""

    def __init__(self, programs, runs, options, port=None, starts=None, cwds=None, within=ALL_GONE, join_s=60, verb="fit"):
        port = port or free_ports(1)[0]
        processes = []
        begin = time.monotonic()
        for rank, program in enumerate(programs):
            if program is None:
                continue
            time.sleep(starts[rank] if starts else 0)
            own = {"LTR_RANK": rank, "LTR_WORLD": len(programs), "LTR_LOCAL_RANK": rank, "LTR_LOCAL_SIZE": len(programs),
                   "LTR_MASTER": f"127.0.0.1:{port}", "LTR_JOIN_TIMEOUT": join_s}
            env = {**os.environ, **{name: str(value) for name, value in own.items()}}
            processes.append(subprocess.Popen(words(program, verb, "--threads", 1, "--out", runs, *options[rank]), env=env,
                                              cwd=cwds[rank] if cwds else None, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT))
        self.texts = []
        for process in processes:
            try:
                self.texts.append(process.communicate(timeout=within * PATIENCE)[0])
            except subprocess.TimeoutExpired:
                process.kill()
                self.texts.append(process.communicate()[0])
        self.seconds = time.monotonic() - begin
        self.codes = [process.returncode for process in processes]
        self.text = "\n".join(self.texts)


def refused(title, ranks, code, text, exit_code):
    """All left with `exit_code`, and one of them said `text`, once."""
    errors = re.findall(r"^error\[(R\d{4})\]", ranks.text, re.M)
    check(title, errors == [code] and text in ranks.text and set(ranks.codes) == {exit_code} and "frame #" not in ranks.text,
          f"exits {ranks.codes}, {errors} after {ranks.seconds:.1f} s\n{ranks.text}")


def differ(program, other, folder):
    """Whatever must be the same on all, and is not."""
    none = [(), (), ()]
    equal = ByHand([program] * 3, folder / "equal", none)
    check("three equal ranks, started by hand", equal.codes == [0, 0, 0] and equal.text.count("finished: 16 steps") == 1, equal.text)
    ranks = ByHand([program, program, other], folder / "program", none)
    refused("another program", ranks, "R1002", "ranks differ: the program is ", 1)
    check("whose rank is named", re.search(r"the program is [0-9a-f]{12} on rank 2, [0-9a-f]{12} on rank 0", ranks.text), ranks.text)
    for title, option, text in (("setting", "trainer.epochs=3", "trainer.epochs is 3 on rank 1, 2 on rank 0"),
                                ("seed", "trainer.seed=7", "the seed is 7 on rank 1, 0 on rank 0")):
        ranks = ByHand([program] * 3, folder / title, [(), ("--set", option), ()])
        refused(f"another {title}", ranks, "R1002", f"ranks differ: {text}", 1)
        check("leaves no run", not list((folder / title).glob("*/[0-9]*")))


def other_data(iris, folder):
    places = [folder / "here", folder / "there"]
    for place in places:
        place.mkdir()
        shutil.copy(EXAMPLES / "data/iris.csv", place / "iris.csv")
    with open(places[1] / "iris.csv", "a") as file:
        file.write("5.1,3.5,1.4,0.2,setosa\n")
    file = ("--set", "data.file=iris.csv")
    ranks = ByHand([iris] * 2, folder / "data", [file] * 2, cwds=places)
    refused("other data", ranks, "R1002", "ranks differ: data file 1 is iris.csv (", 1)
    ranks = ByHand([iris] * 2, folder / "data", [(*file, "--weights", "new")] * 2, cwds=places, verb="validate")
    refused("other data to validate with", ranks, "R1002", "ranks differ: data file 1 is iris.csv (", 1)
    # What the first rank has read all of them use.
    runs = [folder / "weights-0", folder / "weights-1"]
    for seed, place in enumerate(runs):
        run(iris, "fit", "--no-bar", *file, "--epochs", 2, "--seed", seed, "--out", place, cwd=places[0], timeout=60)
    alone = run(iris, "validate", "--threads", 1, *file, "--weights", newest(runs[0]), cwd=places[0], timeout=60)
    ranks = ByHand([iris] * 2, folder / "data", [(*file, "--weights", newest(place)) for place in runs], cwds=[places[0]] * 2, verb="validate")
    found = [re.findall(r"^ +(loss|acc) +(\S+)$", text, re.M) for text in (ranks.texts[0], alone.text)]
    check("weights of the first rank", ranks.codes == [0, 0] and found[0] == found[1] != [], ranks.text + alone.text)


def weights(program, folder):
    result = run(program, "fit", "--no-bar", "--nproc", 3, "--who", 2, "--when", 5, "--how", "write", "--out", folder / "weights", timeout=60)
    check("weights that one rank changed are found at the next checkpoint, with rank and tensor",
          result.returncode == 1 and result.text.count("R1002") == 1
          and "ranks differ: net.weight is not the same on rank 2 as on rank 0" in result.text, result.text)
    names = [path.name for path in (newest(folder / "weights") / "checkpoints").glob("*")]
    check("which is not written", names == [], names)


def meetings(program, folder):
    late = ByHand([program] * 2, folder / "late", [(), ()], starts=(0, 5), within=30)
    check("a rank that starts 5 s late is waited for", late.codes == [0, 0] and late.seconds > 5, late.text)
    ranks = ByHand([program, None], folder / "absent", [(), ()], join_s=3)
    refused("one that does not come is missed", ranks, "R1002", "not all of the 2 ranks came within 3 s", 1)
    ranks = ByHand([None, program], folder / "alone", [(), ()], join_s=3)
    refused("nobody at the meeting point", ranks, "R1002", "rank 1 found nobody at the meeting point 127.0.0.1:", 1)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ranks = ByHand([program, None], folder / "taken", [(), ()], port=port)
        refused("a port that is taken", ranks, "R2008", f"the ranks cannot meet at 127.0.0.1:{port}: Address already in use", 2)
        ranks = ByHand([None, program], folder / "other", [(), ()], port=port, join_s=3)
        refused("somebody else at that port", ranks, "R1002", f"rank 1 found nobody at the meeting point 127.0.0.1:{port} for 3 s", 1)
        result = run("env", "LTR_NODES=2", "LTR_NODE_RANK=0", f"LTR_MASTER=127.0.0.1:{port}", program, "fit", "--nproc", 1, "--out", folder / "node", timeout=30)
        check("and where the first machine wants it", result.returncode == 2 and result.text.count("R2008") == 1
              and f"the ranks cannot meet at 127.0.0.1:{port}: Address already in use" in result.text, result.text)


with scratch() as name:
    folder = pathlib.Path(name).resolve()
    program = build(SUPPORT / "misbehave.ltr", folder)
    changed = folder / "changed"
    changed.mkdir()
    (changed / "misbehave.ltr").write_text((SUPPORT / "misbehave.ltr").read_text().replace("lr = 0.001", "lr = 0.002"))
    shutil.copy(SUPPORT / "misbehave.cpp", changed)
    other = build(changed / "misbehave.ltr", changed)
    iris = build(EXAMPLES / "iris.ltr", folder)
    differ(program, other, folder)
    other_data(iris, folder)
    weights(program, folder)
    meetings(program, folder)
    check("no rank is left", all([clean_up(one) for one in (program, other, iris)]))
finish()
