"""Pairs of programs that look different and compute the same, and pairs that look the same and do not. Each is the
program below with some of its text replaced.

    diff_pairs.py LTRC
"""
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = '''ltr 1

# A comment.
hparam width: int = 16 where width > 0
hparam lr: float = 1e-3
hparam seed: int = 1

## Doubles.
fn double[N](x: float[N, 4]) -> float[N, 4] = x * 2

fn fall(step: int, total: int) -> float = 0.9 ** floor(step / 4)

data Flowers(file: path = "iris.csv", size: int = 16) {
  batch[B] { x: float[B, 4], species: i64[B] }
  fn columns(row: {a: float, b: float, c: float, d: float, species: str}) -> {x: float[4], species: i64} {
    x = stack([row.a, row.b, row.c, row.d])
    return (x = x / 2.0, species = class_of(row.species, ["setosa", "versicolor", "virginica"]))
  }
  fn known(row: {a: float, b: float, c: float, d: float, species: str}) -> bool = row.a > 0.0
  let rows = csv(file) as {a: float, b: float, c: float, d: float, species: str} |> filter(known)
  let parts = rows |> split([0.8, 0.2], seed = 1)
  train = parts[0] |> shuffle(seed) |> map(columns) |> collate(size)
  val = parts[1] |> map(columns) |> collate(size)
}

block Net(width: int) {
  fc1 = Linear(4, width)
  fc2 = Linear(width, 3)
  fn forward[B](x: float[B, 4]) -> float[B, 3] {
    h = relu(fc1(x))
    return fc2(h)
  }
}

metric Peak() {
  state most: f64 = 0 reduce max
  fn update[B](x: float[B, 3]) { most = maximum(most, max(x).to(f64)) }
  fn compute() -> f64 = most * 2
}

metric Level() {
  state seen: f64 = 0 reduce merge pool
  state level: f64 = 0 reduce merge pool
  fn update[B](x: float[B, 3]) {
    all = pool((seen = seen, level = level), (seen = B, level = mean(x).to(f64)))
    seen = all.seen
    level = all.level
  }
  fn pool(a: {seen: f64, level: f64}, b: {seen: f64, level: f64}) -> {seen: f64, level: f64} =
    (seen = a.seen + b.seen, level = (a.level * a.seen + b.level * b.seen) / (a.seen + b.seen))
  fn compute() -> f64 = level
}

fn higher(a: {seen: f64, level: f64}, b: {seen: f64, level: f64}) -> {seen: f64, level: f64} =
  (seen = a.seen + b.seen, level = maximum(a.level, b.level))

model Classifier(width: int, lr: float) {
  net = Net(width)
  accuracy = Accuracy(3)
  peak = Peak()
  level = Level()
  optimizer opt = AdamW(net.weights, lr = lr) { clip_norm = 1.0
    group "*.bias" { schedule = fall } }
  step predict[B](x: float[B, 4]) -> i64[B] = net(x).argmax(1)
  step train[B](x: float[B, 4], species: i64[B]) {
    loss = cross_entropy(net(double(x)), species)
    minimize loss
    log loss bar
  }
  step val[B](x: float[B, 4], species: i64[B]) {
    logits = net(x)
    log loss = cross_entropy(logits, species)
    log acc = accuracy(logits, species)
    log peak = peak(logits)
    log level = level(logits)
  }
}

topology laptop { devices = auto }

experiment flowers {
  data = Flowers()
  model = Classifier(width, lr)
  topology = laptop
  trainer { epochs = 5, seed = seed }
  callbacks { Checkpoint(monitor = val.acc, mode = max, keep = 1) }
  loggers { Csv() }
}
'''

TRAIN = PROGRAM[PROGRAM.index("  step train"):PROGRAM.index("  step val")]
VAL = PROGRAM[PROGRAM.index("  step val"):PROGRAM.index("}\n\ntopology")]

SAME = {
    "comments": [("# A comment.", "# Another one.\n\n# And more."), ("## Doubles.\n", "")],
    "how it is served": [("  trainer { epochs = 5, seed = seed }", "  serve { port = 9000, wait = 5 ms }\n  trainer { epochs = 5, seed = seed }")],
    "layout": [("{ x: float[B, 4], species: i64[B] }", "{\n    x: float[B,4]\n    species: i64[B]\n  }")],
    "names of locals": [("h = relu(fc1(x))\n    return fc2(h)", "hidden = relu(fc1(x))\n    return fc2(hidden)")],
    "no local at all": [("h = relu(fc1(x))\n    return fc2(h)", "return fc2(relu(fc1(x)))")],
    "pipes for calls": [("h = relu(fc1(x))\n    return fc2(h)", "return x |> fc1 |> relu |> fc2")],
    "methods for calls": [("relu(fc1(x))", "fc1(x).relu()")],
    "spelling of numbers": [("1e-3", "0.001"), ("size: int = 16", "size: int = 0x10")],
    "order of declarations": [("topology laptop { devices = auto }\n\n", ""), ("ltr 1\n", "ltr 1\ntopology laptop { devices = auto }\n")],
    "order of settings": [("epochs = 5, seed = seed", "seed = seed, epochs = 5")],
    "order of steps": [(TRAIN + VAL, VAL + TRAIN)],
    "named for positional arguments": [("Linear(width, 3)", "Linear(inputs = width, outputs = 3)")],
    "defaults written out": [("Linear(width, 3)", "Linear(width, 3, bias = true)"), ("lr = lr)", "lr = lr, eps = 1e-8)")],
    "another name for a block": [("block Net", "block Network"), ("net = Net(", "net = Network(")],
    "another name for a parameter": [("block Net(width: int)", "block Net(w: int)"), ("Linear(4, width)", "Linear(4, w)"),
                                     ("Linear(width, 3)", "Linear(w, 3)")],
    "another name for a function": [("fn double", "fn twice"), ("net(double(x))", "net(twice(x))")],
    "another name for what merges": [("pool", "joined")],
    "another name for a binder": [("step train[B](x: float[B, 4], species: i64[B])", "step train[N](x: float[N, 4], species: i64[N])")],
    "another name for a let": [("let parts", "let halves"), ("parts[0]", "halves[0]"), ("parts[1]", "halves[1]")],
    "a let more": [("  train = parts[0]", "  let first = parts[0]\n  train = first")],
    "code that nothing uses": [("block Net(", "fn unused[N](x: float[N]) -> float[N] = x + 1\n\nblock Net(")],
    "an hparam that nothing reads": [("hparam seed", "hparam other: int = 3\nhparam seed")],
    "the function written out": [("net(double(x))", "net(x * 2)")],
    "parentheses": [("x / 2.0", "(x) / (2.0)")],
    "another logger": [("loggers { Csv() }", "loggers { Csv(), TensorBoard() }")],
    "another name for the experiment": [("experiment flowers", "experiment iris")],
    "written as an amendment": [("experiment flowers {", "experiment base {"), ("epochs = 5", "epochs = 9"),
                                ("  loggers { Csv() }\n}\n", "  loggers { Csv() }\n}\n\nexperiment flowers amends base { trainer { epochs = 5 } }\n")],
}

DIFFERENT = {
    "an hparam's default": [("lr: float = 1e-3", "lr: float = 1e-4")],
    "the width": [("width: int = 16", "width: int = 32")],
    "a constant": [("x * 2", "x * 3")],
    "an operator": [("x / 2.0", "x * 2.0")],
    "the order of two layers": [("return fc2(h)", "return fc2(relu(h))")],
    "a dropout more": [("  fc1 = Linear(4, width)", "  dropped = Dropout(0.1)\n  fc1 = Linear(4, width)"), ("relu(fc1(x))", "dropped(relu(fc1(x)))")],
    "another activation": [("relu(fc1(x))", "gelu(fc1(x))")],
    "a bias less": [("Linear(width, 3)", "Linear(width, 3, bias = false)")],
    "another name of a weight": [("fc1", "first")],
    "an optimizer": [("AdamW(", "Adam(")],
    "an argument of the optimizer": [("lr = lr)", "lr = lr, weight_decay = 0.1)")],
    "clipping": [("clip_norm = 1.0", "clip_norm = 2.0")],
    "no clipping": [(" clip_norm = 1.0\n", "\n")],
    "what a schedule of its own computes": [("0.9 ** floor", "0.8 ** floor")],
    "what a filter asks": [("row.a > 0.0", "row.a > 0.1")],
    "a schedule": [("clip_norm = 1.0", "clip_norm = 1.0, schedule = cosine(warmup = 10 steps)")],
    "the epochs": [("epochs = 5", "epochs = 6")],
    "the seed of the split": [("seed = 1)", "seed = 2)")],
    "the parts": [("[0.8, 0.2]", "[0.9, 0.1]")],
    "the size of a batch": [("size: int = 16", "size: int = 17")],
    "no shuffling": [("shuffle(seed) |> ", "")],
    "the order of the classes": [('"setosa", "versicolor"', '"versicolor", "setosa"')],
    "the file": [('"iris.csv"', '"other.csv"')],
    "the precision": [("devices = auto", "devices = auto, precision = bf16")],
    "what the checkpoint watches": [("val.acc, mode = max", "val.loss, mode = min")],
    "what is logged": [("log acc = accuracy(logits, species)", "log acc = accuracy(logits, species) on epoch bar\n    log hits = mean(logits)")],
    "a value without gradient": [("net(double(x))", "net(stop_grad(double(x)))"), ("return fc2(h)", "return fc2(stop_grad(h))")],
    "how a state is joined": [("reduce max", "reduce sum")],
    "what computes a metric": [("= most * 2", "= most * 3")],
    "the function that merges": [("reduce merge pool", "reduce merge higher")],
    "what merging does": [("maximum(a.level, b.level)", "minimum(a.level, b.level)"), ("reduce merge pool", "reduce merge higher")],
    "a smaller role": [("    log loss = cross_entropy(logits, species)\n", "")],
    "the rule of an hparam": [("where width > 0", "where width > 1")],
}


def edited(edits):
    text = PROGRAM
    for old, new in edits:
        assert old in text, f"`{old}` is not in the program"
        text = text.replace(old, new)
    return text


def main(ltrc):
    faults, count = [], 0
    with tempfile.TemporaryDirectory() as folder:
        before, after = pathlib.Path(folder) / "before.ltr", pathlib.Path(folder) / "after.ltr"
        before.write_text(PROGRAM)
        for wanted, pairs in ((0, SAME), (1, DIFFERENT)):
            for name, edits in pairs.items():
                after.write_text(edited(edits))
                for sides in ((before, after), (after, before)):
                    done = subprocess.run([ltrc, "diff", *sides], capture_output=True, text=True)
                    count += 1
                    if "$" in done.stdout:  # What no program can say is no answer.
                        faults.append(f"{name}: names of the compiler\n{done.stdout}")
                        continue
                    if name == "written as an amendment":  # `base` has no partner, the other is the same.
                        if done.returncode == 1 and "same: flowers" in done.stdout:
                            continue
                    elif done.returncode == wanted and done.stdout.startswith("same" if wanted == 0 else "different"):
                        continue
                    faults.append(f"{name}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    print("\n".join(faults + [f"{len(SAME)} pairs that are the same, {len(DIFFERENT)} that are not, {len(faults)} faults"]))
    return 1 if faults or count < 48 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
