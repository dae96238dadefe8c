"""A random right program: constants, settings, functions, a block, data, a model with a step and hooks, and tests that
hold what we know it is worth."""
import random

from body import Body
from values import BOOL, FLOAT, INT, STR, Bad, Expressions, Tensor, list_of, literal, type_text


class Program:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.parts = ["ltr 1", ""]
        self.scope, self.env = {}, {}    # constants and functions
        self.hparams, self.values = {}, {}
        self.waiting = set()  # functions with `.item()`
        for i in range(self.rng.randint(1, 3)):
            self.constant(f"C{i}")
        for i in range(self.rng.randint(3, 6)):
            self.hparam(f"h{i}")
        for i in range(self.rng.randint(2, 4)):
            self.fn(f"g{i}")
        self.block()
        self.training()
        for i in range(3):
            self.test(i)

    def text(self):
        return "\n".join(self.parts) + "\n"

    def constant(self, name):
        exprs = Expressions(self.rng)
        kind = self.rng.choice((INT, FLOAT, BOOL, STR))
        value = exprs.constant(kind)
        self.parts.append(f"const {name}: {type_text(kind)} = {literal(kind, value)}")
        self.scope[name], self.env[name] = kind, value

    def hparam(self, name):
        exprs = Expressions(self.rng)
        kind = self.rng.choice((INT, FLOAT, BOOL, STR, list_of(INT, 2), list_of(FLOAT, 3), list_of(STR, 2), ("tuple", (INT, FLOAT)),
                                ("tuple", (FLOAT, STR, BOOL)), ("option", INT), ("option", STR)))
        value = exprs.constant(kind)
        self.parts.append(f"hparam {name}: {type_text(kind)} = {literal(kind, value)}")
        self.hparams[name], self.values[name] = kind, value

    def params(self, exprs):
        kinds = [exprs.any_type() for _ in range(self.rng.randint(1, 3))]
        if self.rng.random() < 0.2:
            kinds.append(("option", self.rng.choice((INT, FLOAT, STR))))
        return kinds

    def sample(self, kind, exprs):
        if kind[0] == "tensor":
            return exprs.created(kind).value({})
        return exprs.constant(kind)

    def fn(self, name):
        exprs = Expressions(self.rng)
        uses_item = self.rng.random() < 0.3
        scope = self.scope if uses_item else self.quick()
        kinds = self.params(exprs)
        names = [f"x{i}" for i in range(len(kinds))]
        samples = [{**self.env, **{n: self.sample(kind, exprs) for n, kind in zip(names, kinds)}} for _ in range(3)]
        body = Body(self.rng, {**scope, **dict(zip(names, kinds))}, samples, uses_item)
        for i in range(self.rng.randint(0, 5)):
            body.statement(i)
        result = self.rng.choice((kinds[0], ("option", INT), *[exprs.any_type()] * 5))
        value = body.expression(result)
        head = ", ".join(f"{n}: {type_text(kind)}" for n, kind in zip(names, kinds))
        head = f"fn {name}({head}) -> {type_text(result)}"
        if body.lines or self.rng.random() < 0.5:
            self.parts += ["", head + " {", *body.lines, f"  return {value.text}", "}"]
        else:
            self.parts += ["", f"{head} = {value.text}"]
        outer = dict(self.env)

        def call(*given):
            env = {**outer, **dict(zip(names, given))}
            body.run(env)
            return value.value(env)

        self.scope[name] = ("fn", tuple(kinds), result, kinds[0][0] == "tensor")
        self.env[name] = call
        if uses_item:
            self.waiting.add(name)

    def quick(self):
        """What a train step may read: nothing that waits for the device."""
        return {name: kind for name, kind in self.scope.items() if name not in self.waiting}

    def block(self):
        exprs = Expressions(self.rng)
        kinds = {f"o{i}": exprs.host_type() for i in range(self.rng.randint(1, 3))}
        given = {name: self.sample(kind, exprs) for name, kind in kinds.items()}
        lines, scope, env = [], {**self.quick(), **kinds}, {**self.env, **given}
        for i in range(self.rng.randint(1, 3)):
            kind = Expressions(self.rng).host_type()
            body = Body(self.rng, scope, [env], uses_item=False)
            body.exprs.scope = {n: k for n, k in scope.items() if k[0] != "fn"}
            one = body.expression(kind, 2)
            lines.append(f"  let l{i} = {one.text}")
            scope[f"l{i}"], env[f"l{i}"] = kind, one.value(env)
        start = exprs.constant(FLOAT)
        lines += [f"  weight w: float[3] = full(3, {literal(FLOAT, start)})",
                  "  parts = (first = Linear(3, 4), rest = [x => x * 2, Linear(4, 3), relu])",
                  "  acts  = [relu, x => x + w, leaky_relu(0.5)]"]
        scope["w"] = ("tensor", "float", (3,))
        env["w"] = Tensor((3,), (start,) * 3)
        of = ("tensor", "float", (3,))
        body = Body(self.rng, {**scope, "x": of}, [{**env, "x": Tensor((3,), (0.5, -1.0, 2.0))}], uses_item=False)
        for i in range(self.rng.randint(0, 4)):
            body.statement(i)
        value = body.expression(of)
        lines += ["  fn turned(x: float[3]) -> float[3] {", *("  " + line for line in body.lines), f"    return {value.text}", "  }",
                  "  fn forward[B](x: float[B, 3]) -> float[B, 3] = x |> parts.first |> parts.rest |> acts"]
        head = ", ".join(f"{name}: {type_text(kind)}" for name, kind in kinds.items())
        self.parts += ["", f"block Part({head}) {{", *lines, "}"]
        self.built = f"Part({', '.join(literal(kind, given[name]) for name, kind in kinds.items())})"

        def turned(x):
            inner = {**env, "x": x}
            body.run(inner)
            return value.value(inner)

        self.turned = turned

    def training(self):
        exprs = Expressions(self.rng)
        record = {**self.quick(), "s.i": INT}
        x_of, n_of = ("tensor", "float", (3,)), ("tensor", "i64", (2,))
        make = Body(self.rng, {**record, **self.hparams}, [{**self.env, **self.values, "s.i": i} for i in range(4)], uses_item=False)
        for i in range(self.rng.randint(0, 3)):
            make.statement(i)
        x, n = make.expression(x_of), make.expression(n_of)
        head = ", ".join(f"{name}: {type_text(kind)}" for name, kind in self.hparams.items())
        call = ", ".join(self.hparams)
        self.parts += ["", f"data Made({head}) {{", "  batch[B] { x: float[B, 3], n: i64[B, 2] }",
                       "  fn make(s: {i: int}) -> {x: float[3], n: i64[2]} {", *("  " + line for line in make.lines),
                       f"    return (x = {x.text}, n = {n.text})", "  }",
                       "  train = synthetic(4, make) |> shuffle(1) |> collate(2)", "  val = synthetic(4, make) |> collate(2)", "}"]
        batch = {"xs": ("tensor", "float", (2, 3)), "ns": ("tensor", "i64", (2, 2))}
        sample = {**self.env, **self.values, "xs": Tensor((2, 3), (0.5,) * 6), "ns": Tensor((2, 2), (1,) * 4)}
        steps = []
        for role in ("train", "val"):
            body = Body(self.rng, {**self.quick(), **self.hparams, **batch}, [sample], uses_item=False, has_clock=role == "train")
            for i in range(self.rng.randint(1, 4)):
                body.statement(i)
            logged = body.expression(FLOAT)
            weighed = body.expression(("tensor", "float", ()))
            shown = body.expression(exprs.any_type())
            steps += [f"  step {role}[B](x: float[B, 3], n: i64[B, 2]) {{",
                      "    xs = x as float[2, 3]", "    ns = n as i64[2, 2]", *("  " + line for line in body.lines),
                      f"    loss = mean((net(x) - 1.0) ** 2) + 0.0 * {weighed.text}",
                      *(["    minimize loss"] if role == "train" else []),
                      "    log loss", f"    log other = {logged.text} on epoch", f"    print {shown.text}", "  }"]
        self.parts += ["", f"model Net({head}) {{", f"  net = {self.built}", "  optimizer opt = SGD(net.weights, lr = 0.01)", *steps, "}"]
        state = exprs.constant(FLOAT)
        hook = Body(self.rng, {**self.scope, **self.hparams}, [{**self.env, **self.values}], has_clock=True)
        for i in range(self.rng.randint(1, 3)):
            hook.statement(i)
        counted, shown = hook.expression(FLOAT, 2), hook.expression(exprs.any_type())
        self.parts += ["", f"callback Watch({head}) {{", f"  state seen: float = {literal(FLOAT, state)}", "  on train_batch_end {",
                       *("  " + line for line in hook.lines), f"    seen = seen * 0.5 + {counted.text}", "    log seen = seen",
                       f"    print {shown.text}", "  }", "}",
                       "", "experiment e {", f"  data = Made({call})", f"  model = Net({call})",
                       "  trainer { epochs = 1, log_every = 1 }", f"  callbacks {{ Watch({call}) }}", "}"]

    def test(self, number):
        body = Body(self.rng, {**self.scope, **self.hparams}, [{**self.env, **self.values}])
        body.lines.append(f"  part = {self.built}")
        for i in range(self.rng.randint(2, 7)):
            body.statement(i)
        env = body.samples[0]
        for name, kind in list(body.own.items()):
            if kind[0] != "fn":
                body.lines.append("  " + holds(name, kind, env[name]))
        for _ in range(3):
            kind = body.exprs.any_type()
            one = body.expression(kind)
            body.lines.append("  " + holds(one.text, kind, one.value(env)))
            body.lines.append(f"  print {body.expression(body.exprs.any_type()).text}")
        try:
            given = Tensor((3,), (1.0, 0.5, -2.0))
            turned = self.turned(given)
            body.lines.append("  " + holds("part.turned(stack([full(1.0), full(0.5), full(-2.0)]))", ("tensor", "float", (3,)), turned))
        except Bad:
            pass
        body.lines.append("  assert part(ones(2, 3)).shape == [2, 3]")
        self.parts += ["", f'test "{number}" {{', *body.lines, "}"]


def holds(text, kind, value):
    """The `assert` that `text` is worth `value`; options are not compared."""
    if kind[0] == "option":
        return f"print {text}"
    if kind[0] != "tensor":
        return f"assert {text} == {literal(kind, value)}"
    shown = ", ".join(literal(INT, int(v)) if kind[1] != "float" else literal(FLOAT, float(v)) for v in value.flat)
    left = f"where({text}, full(1), full(0))" if kind[1] == "bool" else text
    return f"assert equal({left}.reshape({max(1, len(value.flat))}), stack([{', '.join(f'full({v})' for v in shown.split(', '))}]))"
