#!/usr/bin/env python3
"""Programs are compiled by clang++ as by g++, when CXX says so.

Skipped where there is no clang++. Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not
these.
"""
import os
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import EXAMPLES, LTRC, SOURCE, build, check, finish, fit, run, scratch

names = ["clang++"] + [f"clang++-{version}" for version in range(25, 15, -1)]
compiler = next((found for found in map(shutil.which, names) if found), None)
if compiler is None:
    print("skip: there is no clang++")
    sys.exit(77)
os.environ["CXX"] = compiler

with scratch() as place:
    folder = pathlib.Path(place)
    program = build(EXAMPLES / "mnist.ltr", folder)
    result = fit(program, folder / "runs", "--epochs", 1, "--limit-train", 2, "--limit-val", 1)
    check("examples/mnist.ltr is built, and trains", result.returncode == 0, result.text)

    forms = run(LTRC, "test", SOURCE / "tests/run/forms.ltr")
    check("all forms of the language compile, and are right", forms.returncode == 0 and ", 0 failed" in forms.text, forms.text)

    (folder / "twice.ltr").write_text("""ltr 1

extern "twice.cpp" {
  fn twice[N](x: float[N]) -> float[N]
}

test "C++ beside the program" {
  assert equal(twice(ones(3)), [2.0, 2.0, 2.0])
}
""")
    (folder / "twice.cpp").write_text('#include "twice.ltr.h"\n\nltr::Tensor twice(const ltr::Tensor& x) { return x * 2; }\n')
    beside = run(LTRC, "test", folder / "twice.ltr")
    check("C++ beside the program", "1 passed, 0 failed" in beside.text, beside.text)
finish()
