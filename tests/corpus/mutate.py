"""Changes programs at random, functions without a name above all: `ltrc check` refuses or accepts, it never crashes.

    python3 tests/corpus/mutate.py --ltrc build/release/bin/ltrc [--programs 400 | --minutes 10] [--seed 1]

The programs are those of examples and tests. A mutant is one of them with some changes: lines grafted into a body (most
hold a lambda, a partial call or a chain), a token dropped, doubled, exchanged or replaced, a line moved. A mutant that
ends in anything but 0 or 1, or takes over ten seconds, is shown in full; the seed names it. With `--programs` the same
mutants come every time.
"""
import argparse
import concurrent.futures
import os
import random
import re
import subprocess
import sys
import tempfile
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
FOLDERS = ["examples", "tests/corpus", "tests/check", "tests/run", "tests/emit", "stdlib/layers"]
TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|#[^\n]*|[A-Za-z_]\w*|\d[\w.]*|=>|->|\|>|\.\.\.|\.\.|\*\*|[-+*/<>=!]=|\s+|.')
VALUES = ["y => 2 * y", "(y => y)", "y => z => y + z", "(y => (z => z))", "x |> (y => y)", "leaky_relu(0.2)", "flatten(1)",
          "[y => y, relu]", "[flatten(1), Linear(64, 10)]", "[relu, [y => y, x => x]]", "[dropout(0.5), y => y]",
          "[y => i for i in 0 .. 3]", "if true then (y => y) else relu", "(f = y => y, g = relu)", "(y => y, 1)", "f", "f(x)",
          "f(f)", "frozen(y => y)", "none", "[]", "-1", "9_223_372_036_854_775_807", "x.shape", "relu"]
LINES = ["f = y => 2 * y", "x += f(x)", "x = x + f(x)", "a = f(x)", "g = [f, y => f(y)]", "x = g(x)", "f = leaky_relu(0.1)",
         "net = [flatten(1), Linear(64, 10)]", "for k in 0 .. 3 { f = y => y + k }", "if true { f = y => y } else { f = relu }",
         "f, g = (y => y, relu)", "x = x |> f |> g", "f: float[B] = y => y", "x = scan s over x dim 0 with h = x { h = f(s); yield h }",
         "x[0] += f(x[1])", "print f, f(1)", "x = net(x)", "return f", "p = (f = y => y + x, n = 1)", "x = p.f(x)", "f = p.f"]
BODY = re.compile(r"^ *(?:fn|step|test|on)\b[^\n]*\{ *\n", re.MULTILINE)
NAME = re.compile(r"\b([a-z_]\w*): (?:float|i64)\[|^ +([a-z_]\w*) = ", re.MULTILINE)


def tokens_of(text):
    return TOKEN.findall(text)


def graft(text, dice):
    """Puts lines into a body; `x` of a line becomes a name of the program."""
    bodies = [found.end() for found in BODY.finditer(text)]
    if not bodies:
        return text
    at = dice.choice(bodies)
    names = [a or b for a, b in NAME.findall(text)] or ["x"]
    name = dice.choice(names)
    lines = [re.sub(r"\bx\b", name, line) for line in dice.choices(LINES, k=dice.randint(1, 4))]
    if dice.random() < 0.7:
        lines.insert(0, "f = " + dice.choice(VALUES))
    return text[:at] + "".join(line + "\n" for line in lines) + text[at:]


def mutate(text, pool, dice):
    if dice.random() < 0.6:
        text = graft(text, dice)
    for _ in range(dice.choice([0, 0, 1, 1, 2, 3])):
        tokens = tokens_of(text)
        code = [i for i, token in enumerate(tokens) if not token.isspace() and not token.startswith("#")]
        if len(code) < 2:
            break
        at, other = dice.choice(code), dice.choice(code)
        kind = dice.random()
        if kind < 0.4:
            tokens[at] = dice.choice(VALUES)
        elif kind < 0.5:
            del tokens[at]
        elif kind < 0.6:
            tokens.insert(at, tokens[other])
        elif kind < 0.7:
            tokens[at], tokens[other] = tokens[other], tokens[at]
        elif kind < 0.9:
            tokens[at] = tokens[other] if dice.random() < 0.7 else dice.choice(pool)
        else:
            lines = text.split("\n")
            lines.insert(dice.randrange(len(lines)), lines.pop(dice.randrange(len(lines))))
            tokens = ["\n".join(lines)]
        text = "".join(tokens)
    return text


def programs():
    found = []
    for folder in FOLDERS:
        for place, folders, names in os.walk(os.path.join(ROOT, folder)):
            folders.sort()
            for name in sorted(names):
                if name.endswith(".ltr"):
                    with open(os.path.join(place, name), encoding="utf-8", errors="replace") as file:
                        found.append((os.path.relpath(os.path.join(place, name), ROOT), file.read()))
    return found


def try_mutant(ltrc, folder, number, name, text):
    """What is wrong with how the compiler took the mutant, or nothing."""
    path = os.path.join(folder, f"{number}.ltr")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    try:
        done = subprocess.run([ltrc, "check", path], capture_output=True, timeout=10)
        wrong = None if done.returncode in (0, 1) else f"exit {done.returncode}\n{done.stderr.decode(errors='replace')[-2000:]}"
    except subprocess.TimeoutExpired:
        wrong = "no end after 10 s"
    os.remove(path)
    return wrong and f"---- mutant {number} of {name}: {wrong}\n{text}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ltrc", default=os.environ.get("LTRC", "ltrc"))
    parser.add_argument("--programs", type=int, default=400)
    parser.add_argument("--minutes", type=float, help="instead of a number of programs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    ltrc = os.path.abspath(arguments.ltrc)
    sources = programs()
    pool = sorted({token for _, text in sources for token in tokens_of(text) if not token.isspace()})
    end = time.monotonic() + 60 * arguments.minutes if arguments.minutes else None
    complaints, number = [], 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(arguments.jobs) as workers:
        while time.monotonic() < end if end else number < arguments.programs:
            some = []
            for _ in range(50):
                dice = random.Random(f"{arguments.seed}/{number}")
                name, text = dice.choice(sources)
                some.append(workers.submit(try_mutant, ltrc, folder, number, name, mutate(text, pool, dice)))
                number += 1
            complaints += [job.result() for job in some if job.result()]
    for complaint in complaints[:20]:
        print(complaint)
    print(f"{number} mutants of {len(sources)} programs, {len(complaints)} faults")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
