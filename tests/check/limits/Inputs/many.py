"""A program of so many declarations of a kind, each of which may stand on the one before."""
import sys

kind, count = sys.argv[1], int(sys.argv[2])
DATA = """data D() {
  batch[B] { x: float[B, 4] }
  train = range(64) |> map(row => (x = randn(4))) |> shuffle(1) |> collate(16)
}"""
MODEL = """model M{}(n: int = 1) {{
  l = Linear(4, n)
  optimizer opt = SGD(l.weights, lr = 0.01)
  step train[B](x: float[B, 4]) {{
    loss = mean(l(x) ** 2)
    minimize loss
    log loss
  }}
}}"""


def some(first, line):
    print(first)
    for i in range(1, count):
        print(line.format(i, i - 1))


print("ltr 1")
if kind == "doubled":
    some("type T0 = {a: int}", "type T{0} = {{a: T{1}, b: T{1}}}")
elif kind == "uses":
    print("type T = {" + ", ".join(f"a{i}: int" for i in range(1000)) + "}")
    some("fn f0(x: T) -> int = x.a0", "fn f{}(x: T) -> int = x.a{}")
elif kind == "hparams":
    some("hparam h0: int = 1", "hparam h{0}: int = h{1} % 3 + h{1} where h{0} > 0")
elif kind == "rules":
    some("hparam h0: int = 1", "hparam h{0}: int = 1 where h{0} < h{1} + 9")
    print(DATA + "\n" + MODEL.format(""))
    for i in range(count // 10):
        print(f"experiment e{i} {{\n  data = D()\n  model = M(n = h{i})\n  set h{i} = 4\n  trainer {{ epochs = 1 }}\n}}")
elif kind == "models":
    print(DATA)
    some(MODEL.format(0), MODEL)
elif kind == "lambdas":
    print("fn f(x: float[4]) -> float[4] {")
    some("  g0 = y => y", "  g{} = y => g{}(y)")
    print(f"  return g{count - 1}(x)\n}}")
elif kind == "applied":
    print("fn f(x: float[4]) -> float[4] {\n  g0 = y => y + 1")
    for i in range(1, 20):
        print(f"  g{i} = y => g{i - 1}(g{i - 1}(y))")
    some("  y0 = g12(x)", "  y{} = g12(y{})")
    print(f"  return y{count - 1}\n}}")
