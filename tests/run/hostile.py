#!/usr/bin/env python3
"""Programs of a size that nobody writes by hand: `check`, `fmt` and `dump ir` answer within 5 s of computing and 1 GiB, in
words. What they must say is one of the codes beside each, or nothing where the program is right.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import pathlib
import resource
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import LTRC, PATIENCE, check, finish, scratch  # noqa: E402

MANY, DEEP, LONG = 10_000, 1000, 10_000
SECONDS, MEMORY = 5, 1 << 30
HEAD = "ltr 1\n\n"
BLOCK = "block B0() {\n  l = Linear(4, 4)\n  fn forward[B](x: float[B, 4]) -> float[B, 4] = l(x)\n}\n"
TRAINED = """
data D(file: path = "x.csv") {
  batch[B] { x: float[B, 4], y: i64[B] }
  fn one(r: {a: float, y: int}) -> {x: float[4], y: int} = (x = full(4, r.a), y = r.y)
  train = csv(file) as {a: float, y: int} |> map(one) |> shuffle(8) |> collate(8)
}

model M() {
  net = NET
  optimizer opt = Adam(net.weights, lr = 1e-3)
  step train[B](x: float[B, 4], y: i64[B]) {
    loss = cross_entropy(net(x), y)
    minimize loss
    log loss
  }
}

experiment e {
  data = D()
  model = M()
  trainer { steps = 3 }
}
"""


def each(text, count=MANY):
    """`text` once for each number, with it in the place of #."""
    return HEAD + "".join(text.replace("#", str(i)) for i in range(count))


def nested(forward, levels):
    """Blocks of which each holds the one before it; `forward` is what the last lines of one say."""
    inner = "".join(f"block B{i}() {{\n{forward.replace('#', str(i - 1))}}}\n" for i in range(1, levels))
    return HEAD + BLOCK + inner + TRAINED.replace("NET", f"B{levels - 1}()")


ONE_INSIDE = "  l = B#()\n  fn forward[B](x: float[B, 4]) -> float[B, 4] = l(x)\n"
TWO_INSIDE = "  a = B#()\n  b = B#()\n  fn forward[B](x: float[B, 4]) -> float[B, 4] = b(a(x))\n"
# The file has one tensor, which none of these blocks has.
LOADS = "block Loads() {\n  net = BLOCK from \"weights.safetensors\"\n}\n"
ROUNDS = "  for i in 0 .. 60000 {\n    for j in 0 .. 60000 {\n      for k in 0 .. 60000 { n = n + k }\n    }\n  }\n"
NAME = "n" * LONG

# {what: (program, code that `check` gives, or nothing)}
PROGRAMS = {
    "functions": (each("fn f#(x: int) -> int = x + #\n"), ""),
    "functions of functions": (HEAD + "fn f0(x: int) -> int = x\n" + "".join(
        f"fn f{i}(x: int) -> int = f{i - 1}(x) + 1\n" for i in range(1, MANY)), "E0008"),
    "blocks": (each("block B#() {\n  l = Linear(4, 4)\n  fn forward[B](x: float[B, 4]) -> float[B, 4] = l(x)\n}\n"), ""),
    "hparams": (each("hparam h#: int = #\n"), ""),
    "experiments": (HEAD + BLOCK + TRAINED.replace("NET", "B0()") + "".join(
        f"experiment e{i} amends e {{\n  trainer {{ steps = {i + 1} }}\n}}\n" for i in range(1000)), ""),
    "declarations of one name": (HEAD + "fn f(x: int) -> int = x\n" * MANY, "E0310"),
    "experiments that amend each other": (HEAD + BLOCK + TRAINED.replace("NET", "B0()").replace("experiment e ", "experiment e0 ") + "".join(
        f"experiment e{i} amends e{i - 1} {{\n  trainer {{ steps = {i + 1} }}\n}}\n" for i in range(1, DEEP)), "E0008"),
    "topologies that amend each other": (HEAD + "topology t0 { devices = auto }\n" + "".join(
        f"topology t{i} amends t{i - 1} {{ devices = auto }}\n" for i in range(1, MANY)), "E0008"),
    "records of records": (HEAD + "type T0 = int\n" + "".join(f"type T{i} = {{a: T{i - 1}}}\n" for i in range(1, MANY)), "E0008"),
    "lists of lists": (HEAD + "type T0 = int\n" + "".join(f"type T{i} = list[T{i - 1}]\n" for i in range(1, MANY)), "E0008"),
    "lists of lists, the largest first": (HEAD + "".join(f"type T{i} = list[T{i - 1}]\n" for i in range(MANY, 0, -1)) + "type T0 = int\n", "E0008"),
    "twice as many types at each level": (HEAD + "type T0 = int\n" + "".join(
        f"type T{i} = {{a: T{i - 1}, b: T{i - 1}}}\n" for i in range(1, 40)) + "fn f(x: T39) -> int = 1\n", "E0340"),
    "tests": (each('test "t#" { assert # == # }\n'), ""),
    "streams": (HEAD + "data D() {\n  batch[B] { x: float[B, 2] }\n"
                "  train = range(64) |> map(row => (x = randn(2))) |> shuffle(1) |> collate(16)\n" + "".join(
                    f"  val.s{i} = range(64) |> map(row => (x = randn(2))) |> collate(16)\n" for i in range(MANY)) + "}\n", ""),
    "groups that match nothing": (HEAD + "model N() {\n  net = Linear(2, 1)\n  optimizer opt = SGD(net.weights, lr = 0.1) {\n" + "".join(
        f'    group "*w*{i}" {{ lr = 0.1 }}\n' for i in range(MANY)) + "  }\n  step train[B](x: float[B, 2]) {\n"
        "    loss = mean(net(x) ** 2)\n    minimize loss\n  }\n}\n", "E0433"),
    "a chain": (HEAD + "block C() {\n  net = [" + ", ".join(["Linear(3, 3)"] * 2000) + "]\n"
                "  fn forward[B](x: float[B, 3]) -> float[B, 3] = net(x)\n}\n\n"
                'test "x" {\n  b = C()\n  assert b(zeros(1, 3)).shape == [1, 3]\n}\n', ""),
    "unknown names": (each('fn f#(x: int) -> int = y# + "a"\n'), "E0301"),
    "params": (HEAD + f"fn f({', '.join(f'p{i}: int' for i in range(MANY))}) -> int = p0\n\nconst Q = f({', '.join('1' * MANY)})\n", ""),
    "fields": (HEAD + f"const R = ({', '.join(f'f{i} = {i}' for i in range(MANY))})\n", ""),
    "elements": (HEAD + f"const R = [{', '.join(map(str, range(10 * MANY)))}]\n", ""),
    "interpolations": (HEAD + 'const S = "' + "{1}" * MANY + '"\n', ""),
    "a long text": (HEAD + 'const S = "' + "a" * 10_000_000 + '"\n', ""),
    "blocks in blocks": (nested(ONE_INSIDE, DEEP), "E0008"),
    "twice as many blocks at each level": (nested(TWO_INSIDE, 40), ""),
    "many layers that load": (HEAD + "block L() {\n  l = [Linear(4, 4) for i in 0 .. 100_000]\n}\n" + LOADS.replace("BLOCK", "L()"), "E0802"),
    "more layers than can be": (HEAD + "block L() {\n  l = [Linear(4, 4) for i in 0 .. 1_000_000_000]\n}\n" + LOADS.replace("BLOCK", "L()"), ""),
    "twice as many that load": (nested(TWO_INSIDE, 40) + LOADS.replace("BLOCK", "B39()"), "E0802"),
    "levels that load": (nested(ONE_INSIDE, 200) + LOADS.replace("BLOCK", "B199()"), "E0802"),
    "rounds of a size": (HEAD + "fn f(n: int) -> int {\n" + ROUNDS + "  return n\n}\n" + LOADS.replace("BLOCK", "Linear(4, f(4))"), ""),
    "brackets": (HEAD + "const A = " + "(" * MANY + "1" + ")" * MANY + "\n", "E0008"),
    "a sum": (HEAD + "const A = 1" + " + 1" * MANY + "\n", "E0008"),
    "powers": (HEAD + "const A = 2" + " ** 2" * MANY + "\n", "E0008"),
    "signs": (HEAD + "const A = " + "-" * MANY + "1\n", "E0008"),
    "methods": (HEAD + "fn f(x: float[4]) -> float[4] = x" + ".exp()" * MANY + "\n", "E0008"),
    "branches": (HEAD + "fn f(x: int) -> int {\n  y = x\n" + "".join(f"if x > {i} {{\n" for i in range(DEEP)) + "y = y + 1\n" + "}\n" * DEEP + "  return y\n}\n", "E0008"),
    "loops": (HEAD + "fn f(x: int) -> int {\n" + "".join(f"for i{i} in 0 .. 3 {{\n" for i in range(DEEP)) + "}\n" * DEEP + "  return x\n}\n", "E0008"),
    "types": (HEAD + "fn f(x: " + "list[" * DEEP + "int" + "]" * DEEP + ") -> int = 1\n", "E0008"),
    "a long name": (HEAD + f"fn {NAME}(x: int) -> int = x\n\nconst Q = {NAME}x(1)\n\nhparam h{NAME}: int = 3\n", "E0301"),
    "long names": (HEAD + "".join(f"fn {NAME}{i}(x: int) -> int = x + {NAME}{i}x\n" for i in range(300)), "E0301"),
    "a product of sums": (HEAD + f"fn f[{', '.join(f'A{i}' for i in range(30))}](x: float[{', '.join(f'A{i}' for i in range(30))}]) -> "
                          f"float[1] = ones({' * '.join(f'(A{i} + 1)' for i in range(30))}).sum().reshape(1)\n", "E0339"),
    "a power": (HEAD + "const A = 2 ** 100\n", "E0339"),
    "a size of a call": (HEAD + "fn f[A](x: float[A]) -> float[A ** 7] = zeros(A ** 7)\n\nfn g() -> float = f(zeros(1000000)).sum().item()\n", "E0339"),
}


def limited():
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS * PATIENCE, SECONDS * PATIENCE + 1))
    if PATIENCE == 1:  # a sanitizer keeps addresses of its own
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def main():
    with scratch() as folder:
        header = b'{"other":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
        (pathlib.Path(folder) / "weights.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(4))
        for what, (program, code) in PROGRAMS.items():
            source = pathlib.Path(folder) / "hostile.ltr"
            source.write_text(program)
            faults = []
            for words in (("check", "--message-format=short"), ("fmt", "--check"), ("dump", "ir")):
                said = subprocess.run([LTRC, *words, source], capture_output=True, text=True, errors="replace", preexec_fn=limited)
                errors = [line for line in said.stdout.split("\n") + said.stderr.split("\n") if "error[" in line]
                if said.returncode not in (0, 1):
                    faults.append(f"{words[0]} ends with {said.returncode}: {said.stderr[-300:]}")
                elif words[0] == "check" and (bool(errors) != bool(code) or (code and f"error[{code}" not in errors[0]) or
                                              (code == "E0008" and len(errors) != 1)):
                    faults.append(f"check says {errors[:2] or 'nothing'}")
            check(what, not faults, "\n".join(faults)[:1500])
    finish()


main()
