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
# Ten thousand mistakes.
elif kind == "unknown":
    some("fn f0(x: float[4]) -> float[4] = relu(y0)", "fn f{0}(x: float[4]) -> float[4] = relu(y{0})")
elif kind == "misspelt":
    some("fn f0(input: float[4]) -> float[4] = relu(input)", "fn f{0}(input: float[4]) -> float[4] = input + relu(imput{0})")
elif kind == "fields":
    some("fn f0(x: float[4]) -> float[4] = x.g0()", "fn f{0}(x: float[4]) -> float[4] = x.g{0}()")
elif kind == "types":
    some("type T0 = {a: S0}", "type T{0} = {{a: S{0}}}")
elif kind == "dims":
    some("fn f0(x: float[4]) -> float[E0] = x", "fn f{0}(x: float[4]) -> float[E{0}] = x")
elif kind == "topologies":
    some("topology e0 { devices = cpu }", "topology e{0} amends g{0} {{ devices = cpu }}")
elif kind == "amends":
    print(DATA + "\n" + MODEL.format(""))
    some("experiment e0 {\n  data = D()\n  model = M()\n  trainer { epochs = 1 }\n}", "experiment e{0} amends g{0} {{ trainer {{ epochs = 2 }} }}")
elif kind == "listed":
    print("const all = [" + ", ".join(f"y{i}" for i in range(count)) + "]")
# As many that are right, in one declaration or in one line.
elif kind == "states":
    print("metric M() {")
    some("  state s0: f64 = 0 reduce sum", "  state s{}: f64 = 0 reduce sum")
    print("  fn update(x: float[...]) {")
    some("    s0 += sum(x).to(f64)", "    s{} += sum(x).to(f64)")
    print(f"  }}\n  fn compute() -> f64 = s{count - 1}\n}}")
elif kind == "batch":
    print("data D() {\n  batch[B] { " + ", ".join(f"a{i}: i64[B]" for i in range(count)) + " }")
    print("  fn make(row: {i: int}) -> {" + ", ".join(f"a{i}: i64" for i in range(count)) + "} = (" +
          ", ".join(f"a{i} = row.i" for i in range(count)) + ")")
    print("  train = range(64) |> map(make) |> shuffle(1) |> collate(16)\n}")
elif kind == "unread":
    print("block F(" + ", ".join(f"a{i}: int" for i in range(count)) + ") {\n  fn forward(x: float[4]) -> float[4] = x\n}")
elif kind == "record":
    print("fn last(r: {" + ", ".join(f"f{i}: int" for i in range(count)) + f"}}) -> int = r.f{count - 1}")
    print('test "a record" {\n  r = (' + ", ".join(f"f{i} = {i}" for i in range(count)) + f")\n  assert last(r) == {count - 1}\n}}")
# So many groups over three times as many layers.
elif kind == "groups":
    layers = [f"l{i}" for i in range(3 * count)]
    print("model M() {")
    print("\n".join(f"  {layer} = Linear(4, 4)" for layer in layers))
    print("  optimizer opt = Adam([" + ", ".join(f"{layer}.weights" for layer in layers) + "], lr = 1e-3) {")
    print("\n".join(f'    group "{layer}.*" {{ lr = 1e-4 }}' for layer in layers[:count]))
    print("  }\n  step train[B](x: float[B, 4]) { minimize mean(" + "x" + "".join(f" |> {layer}" for layer in layers[:200]) + ") }\n}")
