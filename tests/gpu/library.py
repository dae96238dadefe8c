#!/usr/bin/env python3
"""The tests of the library's files and of whole programs, computed on a GPU. Skipped where there is none.

An op that has no deterministic kernel there is R1008, in its tests, too: those are listed here, so that one more is noticed.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import concurrent.futures
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "run/support"))
from harness import EXAMPLES, LTRC, SOURCE, check, finish, need_gpu, run

need_gpu()

FILES = [*sorted((SOURCE / "stdlib").rglob("*.ltr")), SOURCE / "tests/run/forms.ltr", *(EXAMPLES / f"{name}.ltr" for name in
         ("mnist", "char_gpt", "gpt2")), SOURCE / "tests/parity/metrics.ltr"]
# Titles of tests whose op has no deterministic kernel.
NOT_DETERMINISTIC = set()


def tested(file):
    return file, run(LTRC, "test", file, "--devices", "cuda", timeout=600)


refused = set()
with concurrent.futures.ThreadPoolExecutor(max(1, (os.cpu_count() or 2) // 2)) as pool:
    for file, result in pool.map(tested, FILES):
        title, bad = "", []
        for line in result.text.splitlines():
            if found := re.match(r"(PASS|FAIL) (.*)", line):
                title = found[2]
                if found[1] == "FAIL":
                    bad.append(title)
            elif "error[R1008]" in line and title in bad:
                bad.remove(title)
                refused.add(title)
        check(f"{file.relative_to(SOURCE)}", not bad and (result.returncode == 0 or refused), f"{bad}\n{result.text}")
check("ops without a deterministic kernel are those that are known", refused == NOT_DETERMINISTIC,
      f"new: {sorted(refused - NOT_DETERMINISTIC)}; gone: {sorted(NOT_DETERMINISTIC - refused)}")
finish()
