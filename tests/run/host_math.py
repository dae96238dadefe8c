#!/usr/bin/env python3
"""Arithmetic of host numbers is the same as a constant, in a dim, in `plan` and while the program runs.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import LTRC, check, finish, run, scratch

PAIRS = [(7, 2), (-7, 2), (7, -2), (-7, -2), (6, 3), (-6, 3), (0, 5), (1, 5), (-1, 5), (-1, -5)]
REALS = [(7.5, 2.0), (-7.5, 2.0), (7.5, -2.0), (-7.5, -2.0), (1.0, 0.25)]

hparams, constants, tests = [], [], []


def text(value):
    return f"(0 - {-value})" if value < 0 else str(value)


def expect(form, kind, a, b, value):
    """`form` of a and b, as a constant and of hparams, is `value`."""
    number = len(constants)
    constants.append(f"const C{number} = {form.format(a=text(a), b=text(b))}")
    names = {}
    for side, one in (("a", a), ("b", b)):
        names[side] = f"{side}{number}"
        hparams.append(f"hparam {names[side]}: {kind} = {one}")
    tests.append(f"  assert C{number} == {text(value)}")
    tests.append(f"  assert {form.format(**names)} == {text(value)}")


for a, b in PAIRS:
    expect("({a} % {b})", "int", a, b, a % abs(b))
    expect("floor({a} / {b})", "int", a, b, math.floor(a / b))
    expect("ceil({a} / {b})", "int", a, b, math.ceil(a / b))
    if a % b == 0:
        expect("({a} / {b})", "int", a, b, a // b)
for a, b in REALS:
    expect("({a} % {b})", "float", a, b, a % abs(b))
    expect("round({a} * {b})", "float", a, b, round(a * b))

PROGRAM = "ltr 1\n\n" + "\n".join(hparams + constants) + '\n\ntest "all" {\n' + "\n".join(tests) + "\n}\n"

PLAN = """ltr 1

hparam a: int = 7
hparam b: int = -2

data Ones() {
  batch[B] { x: float[B, 2] }
  fn make(i: int) -> {x: float[2]} = (x = ones(2))
  train = synthetic(8, make) |> collate(4)
}
model Net(width: int, tall: int) {
  weight w: float[width] = zeros(width)
  weight v: float[tall] = zeros(tall)
  optimizer opt = SGD([w, v], lr = 0.1)
  step train[B](x: float[B, 2]) { minimize mean(x) * (sum(w) + sum(v)) }
}
experiment e { data = Ones(), model = Net(a % b + 1, floor(7.5 % -2.0 * 10)), trainer { epochs = 1 } }
"""

with scratch() as place:
    folder = pathlib.Path(place)
    (folder / "math.ltr").write_text(PROGRAM)
    result = run(LTRC, "test", folder / "math.ltr")
    check("constants and hparams", "1 passed, 0 failed" in result.text, result.text)

    (folder / "plan.ltr").write_text(PLAN)
    result = run(LTRC, "plan", folder / "plan.ltr")
    check("plan counts 2 + 15 weights", "17 trained" in result.text, result.text)

    # What the run stops at is nothing that could be computed before it.
    for title, expression in (("zero divisor", "7 % zero"), ("inexact", "7 / two"), ("nan", "floor(0.0 / nought)"),
                              ("least int", "floor(least / minus)"), ("rounded up", "ceil(least / zero)"),
                              ("sum", "least + minus"), ("difference", "least - two"), ("product", "least * two"),
                              ("negative", "-least"), ("absolute", "abs(least)"), ("power", "two ** minus"), ("behind the list", "[1, 2][two]"),
                              ("before the list", "[1, 2][minus - two]"),
                              ("a list without end", "[i for i in least .. two].length")):
        (folder / "stop.ltr").write_text(
            "ltr 1\n\nhparam zero: int = 0\nhparam two: int = 2\nhparam nought: float = 0\n"
            "hparam minus: int = -1\nhparam least: int = -9_223_372_036_854_775_807 - 1\n"
            f'test "stops" {{\n  x = {expression}\n  print x\n}}\n')
        result = run(LTRC, "test", folder / "stop.ltr")
        check(f"{title} ends the test with an error", result.returncode == 1 and "FAIL stops" in result.text, result.text)
        check(f"{title}: the error names the line of the arithmetic, not of what reads it", "stop.ltr:9:" in result.text, result.text)

    # What lies beyond a list is never read, however the index came about; elements of one type are chosen at run time.
    (folder / "chosen.ltr").write_text(
        "ltr 1\n\nhparam n: int = 1\n"
        "fn pick(xs: list[int], at: int) -> int = xs[at]\n"
        "fn guarded(xs: list[int], at: int) -> int = if at < xs.length then xs[at] else 0\n"
        'test "chosen" {\n'
        '  assert [1, 2.5, 3][n] == 2.5 and ["a", "b"][n - 2] == "b" and [zeros(2), ones(2)][n].sum().item() == 2\n'
        "  assert pick([4, 5], n) == 5 and pick([4, 5], n - 3) == 4 and guarded([4, 5], n + 8) == 0\n}\n"
        'test "beyond" { print pick([4, 5], n + 1) }\n'
        'test "far" { print zeros(2, 3).shape[n + 6] }\n'
        "fn part(xs: list[int], from: int, to: int) -> list[int] = xs[from .. to]\n"
        'test "part" { print part([4, 5, 6], n, n + 3) }\n'
        'test "reversed" { print part([4, 5, 6], n, n - 1) }\n')
    result = run(LTRC, "test", folder / "chosen.ltr")
    check("elements are chosen at run time", "PASS chosen" in result.text, result.text)
    check("what is beyond the list is R1006", "R1006" in result.text and "the index 2 lies outside of a list of length 2" in result.text
          and "the index 7 lies outside of a list of length 2" in result.text, result.text)
    check("and so is a range", all(f"the range {part} lies outside of a list of length 3" in result.text for part in ("1 .. 4", "1 .. 0"))
          and "chosen.ltr:12:" in result.text, result.text)
finish()
