"""A random right program about layers: blocks that hold chains, records, tuples and lists of layers, data, a model with
steps for every role, an experiment, tests; in one file or two."""
import random

from block import Blocks
from dims import Shape, dim, floats
from layers import Layers, applies

OPTIMIZERS = ("SGD({}, lr = lr, momentum = 0.9)", "Adam({}, lr = lr)", "AdamW({}, lr = lr, betas = (0.9, 0.99))", "RMSprop({}, lr)",
              "Adagrad({})", "NAdam({}, lr = lr)", "Adamax({}, lr = lr)", "Lion({}, lr = lr)", "Adafactor({})", "Adadelta({})")
SCHEDULES = ("cosine(warmup = 1 steps)", "linear()", "step(every = 1 epoch)", "exponential(0.9)", "constant(warmup = 2 steps)",
             "multistep([1 steps, 2 steps])", "inverse_sqrt(warmup = 2 steps)", "polynomial(power = 2.0)",
             "sequential([(constant(), 1 steps), (linear(), 3 steps)])")

SELECTED = 'select("x") |> '


class Network:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.seed = seed
        self.settings()
        self.blocks = Blocks(self.rng)
        self.layers = Layers(self.rng, ["D", "H", "rows"], self.sizes, self.blocks.declare)
        self.shapes()
        self.data()
        self.model()
        self.experiment()
        self.tests()

    def files(self):
        """{name: text}, the program itself first."""
        main = f"n{self.seed}.ltr"
        head = ["ltr 1", ""]
        if self.rng.random() < 0.4 and self.blocks.parts:
            names = [*self.blocks.names]
            library = f"lib{self.seed}.ltr"
            text = "\n".join(["ltr 1", *self.blocks.parts]) + "\n"
            own = [self.through(line, names) for line in self.parts]
            return {main: "\n".join([*head, f'import "{library}" as parts', *self.heads, *own]) + "\n", library: text}
        return {main: "\n".join([*head, *self.heads, *self.blocks.parts, *self.parts]) + "\n"}

    def through(self, line, names):
        for name in names:
            line = line.replace(f"{name}(", f"parts.{name}(")
        return line

    def settings(self):
        """hparams: sizes, and one of every other kind that a model may take."""
        rng = self.rng
        self.sizes = {"D": rng.choice((4, 6, 8)), "H": rng.choice((3, 4, 6)), "rows": rng.choice((2, 3, 5))}
        self.heads = [f"hparam {name}: int = {size}" + (f" where {name} > 0" if rng.random() < 0.5 else "")
                      for name, size in self.sizes.items()]
        self.heads += ["hparam lr: float = 0.01 where lr > 0", "hparam mode: str = \"a\" where mode in [\"a\", \"b\"]",
                       "hparam widths: list[int] = [4, 6]", "hparam pair: (int, float) = (3, 0.1)", "hparam extra: option[int] = none"]
        self.hosts = {"lr": "float", "mode": "str", "widths": "list[int]", "pair": "(int, float)", "extra": "option[int]"}

    def shapes(self):
        rng, layers = self.rng, self.layers
        kind = rng.choice(("vector", "vector", "sequence", "sequence", "image", "ids"))
        batch = dim("B")
        if kind == "vector":
            self.input = floats(batch, layers.width())
        elif kind == "sequence":
            self.input = floats(batch, dim("rows"), layers.width())
        elif kind == "image":
            side = rng.choice((4, 8))
            self.input = floats(batch, rng.choice((1, 2, 3)), side, side)
        else:
            self.input = Shape("i64", (batch, dim("rows")))
        self.classes = rng.random() < 0.5
        self.output = floats(batch, 4 if self.classes else layers.width())
        self.target = Shape("i64", (batch,)) if self.classes else self.output

    def heading(self, with_lr=True):
        return ", ".join([f"{name}: int" for name in self.sizes] + [f"{name}: {kind}" for name, kind in self.hosts.items()])

    def call(self):
        names = [*self.sizes, *self.hosts]
        at = self.rng.randint(0, len(names))
        return ", ".join(names[:at] + [f"{name} = {name}" for name in self.rng.sample(names[at:], len(names) - at)])

    def made(self, shape):
        """A record's field of that shape, without the batch."""
        dims = ", ".join(d.text(self.rng) for d in shape.dims[1:])
        if shape.element == "i64":
            return f"arange({dims}) * s.i % 4" if dims else "s.i % 4"
        return self.rng.choice((f"full({dims}, 0.25 * s.i)", f"randn({dims})", f"ones({dims}) * (s.i % 3)", f"rand({dims}) |> sqrt"))

    def data(self):
        rng = self.rng
        row = {"x": self.input, "y": self.target}
        fields = ", ".join(f"{name}: {shape.text(rng)}" for name, shape in row.items())
        one = ", ".join(f"{name}: {Shape(shape.element, shape.dims[1:]).text(rng)}" if len(shape.dims) > 1 else f"{name}: i64"
                        for name, shape in row.items())
        made = ", ".join(f"{name} = {self.made(shape)}" for name, shape in rng.sample([*row.items()], 2))
        stages = rng.choice(("", " |> shuffle(1)", " |> take(6)", " |> shuffle(3) |> repeat(2)", " |> prefetch(2)"))
        parts = rng.random() < 0.5
        lines = ["", f"data Made({self.heading()}) {{", f"  batch[B] {{ {fields} }}", f"  fn make(s: {{i: int}}) -> {{{one}}} = ({made})"]
        if parts:
            lines += [f"  let parts = synthetic(16, make) |> split({rng.choice(('[12, 4]', '[0.75, 0.25]'))}, seed = 2)"]
        streams = ("parts[0]", "parts[1]") if parts else ("synthetic(8, make)", "range(4) |> map(make)")
        lines += [f"  train = {streams[0]}{stages} |> collate(2, drop_last = true)", f"  val = {streams[1]} |> collate(2)",
                  f"  test = {streams[1]} |> collate(3)", f"  predict = range(4) |> map(make) |> {rng.choice(('', SELECTED))}collate(2)", "}"]
        self.parts = lines

    def model(self):
        rng = self.rng
        hidden = floats(dim("B"), self.layers.width())
        self.members, uses = self.blocks.members(self.layers, self.input, hidden, "m")
        last = hidden.dims[1].text(rng)
        lines = ["", f"model Net({self.heading()}) {{", *self.members, f"  head = Linear({last}, {self.output.dims[1].text(rng)})"]
        names = [*self.blocks.roots(self.members), "head"]
        weights = "[" + ", ".join(f"{name}.weights" for name in names) + "]"
        metric = rng.choice(("Accuracy(4)", "F1Score(4)", "Recall(4, average = none)", "ConfusionMatrix(4)", "MeanMetric()") if self.classes else
                            ("MeanSquaredError()", "MeanAbsoluteError()", "MeanMetric()", "R2Score()"))
        if metric == "ConfusionMatrix(4)" or metric == "R2Score()":
            metric = "MeanMetric()"
        lines.append(f"  metric_of = {metric}")
        settings = rng.sample([f"schedule = {rng.choice(SCHEDULES)}", "clip_norm = 1.0", "clip_value = 0.5"][:rng.choice((2, 3))],
                              rng.randint(0, 2))
        if "clip_norm = 1.0" in settings and "clip_value = 0.5" in settings:
            settings.remove("clip_value = 0.5")
        if rng.random() < 0.3:
            settings.append('group "head.*" { lr = 0.5 * lr }')
        if rng.random() < 0.3:
            lines.append('  init "head.weight" = normal(std = 0.02)')
        lines.append(f"  optimizer opt = {rng.choice(OPTIMIZERS).format(weights)}" + (f" {{ {'; '.join(settings)} }}" if settings else ""))
        x, y, out = self.input.text(rng), self.target.text(rng), self.output.text(rng)
        body = self.blocks.body(self.layers, uses)
        lines += [f"  fn logits[B](x: {x}) -> {out} {{", *("  " + line for line in body.lines),
                  f"    return {applies('head', body.result, rng)}", "  }"]
        loss = rng.choice(("cross_entropy(out, y)", "cross_entropy(out, y, label_smoothing = 0.1)", "nll(log_softmax(out, 1), y)",
                           "focal(out, y)") if self.classes else
                          ("mse(out, y)", "l1(out, y)", "huber(out, y)", "smooth_l1(out, y)", "mean((out - y) ** 2)",
                           "cosine_embedding(out, y, ones(B))"))
        self.shown = ["(x, y)", "(loss = loss, out = out)", "[loss, loss]", "extra", "widths", "pair", "(pair, [widths, widths])",
                      "out.shape", '"loss {pair[1]} of {mode}"', "none", "(a = (b = (out, extra), c = mode), d = [mode])", "all(x == x)",
                      "lr, pair[1], widths[0]", "[(n = i, of = widths[i]) for i in 0 .. 2]", "if lr > 0.5 then pair else (1, 0.5)"]
        measured = "loss" if metric == "MeanMetric()" else "out, y"
        for role in ("train", "val", "test"):
            lines += [f"  step {role}[B](x: {x}, y: {y}) {{", "    out = logits(x)", f"    loss = {loss}",
                      *(["    minimize loss"] if role == "train" else []),
                      f"    log loss{rng.choice(('', ' bar'))}",
                      *([f"    log score = metric_of({measured})"] if role == "val" else []),
                      *([f"    print {rng.choice(self.shown)}"] if rng.random() < 0.6 else []), "  }"]
        lines += self.predict(x, out)
        self.parts += [*lines, "}"]

    def predict(self, x, out):
        rng = self.rng
        outputs = {"out": (out, "out"), "best": ("i64[B]", "out.argmax(1)"), "given": (x, "x"), "top": ("float[B]", "out.max(1)"),
                   "sure": ("bool[B]", "out.max(1) > 0.5"), "first": ("float[B, 1]", "out[:, 0 .. 1]")}
        outputs = {name: one for name, one in outputs.items() if name not in ("top", "sure")}
        chosen = rng.sample([*outputs], rng.randint(1, len(outputs)))
        form = rng.choice(("one", "record", "tuple"))
        if form == "one" or form == "tuple" and len(chosen) == 1:
            of, value = outputs[chosen[0]]
        elif form == "record":
            of = "{" + ", ".join(f"{name}: {outputs[name][0]}" for name in chosen) + "}"
            value = "(" + ", ".join(f"{name} = {outputs[name][1]}" for name in rng.sample(chosen, len(chosen))) + ")"
        else:
            of = "(" + ", ".join(outputs[name][0] for name in chosen) + ")"
            value = "(" + ", ".join(outputs[name][1] for name in chosen) + ")"
        return [f"  step predict[B](x: {x}, n: int = 2) -> {of} {{", "    out = logits(x)", f"    return {value}", "  }"]

    def experiment(self):
        rng = self.rng
        callbacks = rng.sample(["Checkpoint(monitor = val.loss, mode = min)", "EarlyStop(monitor = val.loss, mode = min, patience = 2)",
                                "GradNorm()", "Throughput()", "Ema(decay = 0.9)", "Watch()"], rng.randint(0, 3))
        if "Watch()" in callbacks:
            self.parts += ["", "callback Watch() for Net {", "  state seen: int = 0", "  on train_batch_end {", "    seen += batch_size",
                           "    print seen, model.weights == model.weights, loss", "  }",
                           "  on val_epoch_end { print \"{metric(val.loss):.2}\", epoch, (global_step, rank) }", "}"]
        # A schedule that counts epochs wants a trainer that does.
        lengths = ("epochs = 1",) if any("1 epoch" in line for line in self.parts) else ("epochs = 1", "steps = 3")
        self.parts += ["", "experiment e {", f"  data = Made({self.call()})", f"  model = Net({self.call()})",
                       f"  trainer {{ {rng.choice(lengths)}, log_every = 1"
                       + rng.choice(("", ", accumulate = 2", ", seed = 4")) + " }"]
        if callbacks:
            self.parts.append(f"  callbacks {{ {', '.join(callbacks)} }}")
        self.parts += ["  tags { kind = \"random\" }" if rng.random() < 0.3 else "", "}"]
        if rng.random() < 0.4:
            self.parts += ["", "experiment other amends e {", f"  set D = {self.sizes['D']}, mode = \"b\", extra = 3",
                           "  trainer { epochs = 2 }", "}"]

    def tests(self):
        size = {**self.sizes, "B": 2}
        shape = [d.size(size) for d in self.input.dims]
        if self.input.element == "i64":
            given = f"randint(0, 4, {shape})"
        else:
            given = f"randn({', '.join(map(str, shape))})"
        wanted = [2, self.output.dims[1].size(size)]
        self.parts += ["", 'test "shapes" {', f"  net = Net({', '.join([*self.sizes, *self.hosts])})",
                       f"  x = {given}", f"  assert net.logits(x).shape == {wanted}", "  print net.logits(x), count(net.weights) > 0"]
        for name, a, b, actual in self.blocks.built[:3]:
            sizes = {**actual, "B": 2, "S": 3}
            shape = [d.size(sizes) for d in a.dims]
            given = f"randint(0, 4, {shape})" if a.element == "i64" else f"randn({', '.join(map(str, shape))})"
            call = f"{name}({self.blocks.arguments(name)})"
            self.parts.append(f"  assert {call}({given}).shape == {[d.size(sizes) for d in b.dims]}")
        self.parts.append("}")
