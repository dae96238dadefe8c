#!/usr/bin/env python3
"""Folders of runs: fifty that start at once have fifty, and the source of one, built anew and given its settings, does the same again.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import build, check, finish, fit, newest, result_of, scratch
from points import DATA, model

STARTS = 50
MODULE = "ltr 1\n" + model()
PROGRAM = """ltr 1
import net.{Net}
hparam count: int = 16
""" + DATA + """
experiment once { data = Points(count), model = Net(), trainer { epochs = 2, log_every = 1 }, loggers { Csv() } }
"""

with scratch() as place:
    folder = pathlib.Path(place)
    (folder / "once.ltr").write_text(PROGRAM)
    (folder / "net.ltr").write_text(MODULE)
    program = build(folder / "once.ltr", folder)

    runs = folder / "runs"
    command = [str(word) for word in (program, "fit", "--no-bar", "--threads", 1, "--workers", 1, "--epochs", 1, "--out", runs)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for _ in range(STARTS)]
    texts = [process.communicate(timeout=600)[0] for process in processes]
    failed = [text for process, text in zip(processes, texts) if process.returncode != 0]
    check(f"{STARTS} at once end well", not failed, failed[:1])
    folders = sorted(path.name for path in (runs / "once").iterdir() if not path.is_symlink())
    check("each in a folder of its own", folders == [f"{number:04}" for number in range(1, STARTS + 1)], folders)
    told = {line.split(" · ")[1] for text in texts for line in text.splitlines() if line.startswith("once · ")}
    check("which it names", len(told) == STARTS, told)
    results = {result_of(runs / "once" / name) for name in folders}
    check("and all have done the same", len(results) == 1 and all((runs / "once" / name / "DONE").exists() for name in folders), len(results))

    both = folder / "both"
    wrong = ["--set", "trainer.global_batch=5"]
    processes = [subprocess.Popen([*command[:-1], str(both), *(wrong if i % 2 else [])], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                 for i in range(STARTS // 2)]
    texts = [process.communicate(timeout=600)[0] for process in processes]
    codes = [process.returncode for process in processes]
    check("runs that are refused at the same time hinder none", codes[::2] == [0] * len(codes[::2]) and codes[1::2] == [2] * len(codes[1::2]),
          f"{codes}\n{texts[0]}\n{texts[1]}")
    left = [path for path in (both / "once").iterdir() if not path.is_symlink()]
    check("and leave nothing", len(left) == len(codes[::2]) and all((path / "DONE").exists() for path in left), left)

    result = fit(program, folder / "first", "--count", 24, "--seed", 5)
    first = newest(folder / "first")
    check("a run with settings of its own", result.returncode == 0, result.text)
    again = build(first / "source/once.ltr", folder, "again")
    result = fit(again, folder / "second", "--config", first / "config.json")
    second = newest(folder / "second")
    check("its source and its settings do it again", result.returncode == 0 and result_of(first) == result_of(second), result.text)
    sources = [[file["sha256"] for file in json.loads((one / "run.json").read_text())["source"]["files"]] for one in (first, second)]
    check("of the same files", len(sources[0]) == 2 and sources[0] == sources[1], sources)
finish()
