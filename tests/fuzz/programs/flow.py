"""The body of a `forward`: a value led through members, each time in another of the ways that a program has."""
from layers import applies


class Flow:
    def __init__(self, rng, layers, host=()):
        self.rng = rng
        self.layers = layers
        self.host = dict(host)
        self.lines = []
        self.result = "x"
        self.fresh = 0

    def name(self, letter="v"):
        self.fresh += 1
        return f"{letter}{self.fresh}"

    def say(self, line):
        self.lines.append("  " + line)

    def keep(self, value):
        """The value by a name of its own."""
        name = self.name()
        self.say(f"{name} = {value}")
        self.result = name

    def through(self, stage):
        if stage[0] == "path":
            for path, u, v in stage[1]:
                self.step(path, u, v)
        elif stage[0] in ("cell", "rnn"):
            self.recurrent(*stage)
        else:
            self.each(*stage)

    def step(self, path, u, v):
        """`path`, which leads from `u` to `v`, put to what there is."""
        rng, x = self.rng, self.result
        forms = [self.plain, self.plain, self.plain, self.named, self.closure, self.held, self.in_record, self.in_tuple, self.in_chain,
                 self.branch, self.chosen]
        if u == v and u.element == "float":
            forms += [self.residual, self.loop, self.grown]
        rng.choice(forms)(path, x)

    def plain(self, path, x):
        self.result = applies(path, x, self.rng)

    def named(self, path, x):
        self.keep(applies(path, x, self.rng))

    def closure(self, path, x):
        f = self.name("f")
        self.say(f"{f} = y => {applies(path, 'y', self.rng)}")
        self.keep(self.rng.choice((f"{f}({x})", f"{x} |> {f}", f"{x} |> [{f}, y => y]")))

    def held(self, path, x):
        f = self.name("f")
        self.say(f"{f} = {path}")
        self.keep(self.rng.choice((f"{f}({x})", f"{x} |> {f}", f"[{f}, y => y]({x})")))

    def in_record(self, path, x):
        r = self.name("r")
        self.say(f"{r} = (f = {path}, of = {x}, more = (n = 1, g = y => y))")
        self.keep(self.rng.choice((f"{r}.f({r}.of)", f"{r}.of |> {r}.f", f"{r}.more.g({r}.f({r}.of))")))

    def in_tuple(self, path, x):
        f, y = self.name("f"), self.name("y")
        self.say(f"{f}, {y} = ({path}, {x})")
        self.keep(self.rng.choice((f"{f}({y})", f"{y} |> {f}")))

    def in_chain(self, path, x):
        f = self.name("f")
        self.say(f"{f} = [{path}, {self.rng.choice(('relu', 'q => q', 'tanh', 'leaky_relu(0.1)', 'q => 2.0 * q'))}]")
        self.keep(self.rng.choice((f"{f}({x})", f"{x} |> {f}")))

    def test(self):
        """A host bool."""
        tests = ["x.shape[0] > 1", "B > 2", "B == 2 and not (B < 1)", "x.shape == x.shape"]
        tests += [text for name, texts in {"p": ["p > 0.5"], "cfg": ["cfg.p > 0.05", "cfg.wide > 3"], "wide": ["wide[0] > 1", "3 in wide"],
                                           "kind": ['kind == "plain"', 'kind in ["a", "plain"]'], "pair": ["pair[1]", "pair[0] > 3"],
                                           "limit": ["limit == none"]}.items() if name in self.host for text in texts]
        return self.rng.choice(tests)

    def branch(self, path, x):
        """Both arms alike, so that the shape is known behind them."""
        name = self.name()
        one, other = applies(path, x, self.rng), applies(path, x, self.rng)
        self.say(f"{name} = {one}")
        self.say(f"if {self.test()} {{ {name} = {other} }} else {{ {name} = {name} * 0.5 }}")
        self.result = name

    def chosen(self, path, x):
        y = self.name("y")
        self.say(f"{y} = {x}")
        self.keep(f"if {self.test()} then {applies(path, y, self.rng)} else {applies(path, y, self.rng)}")

    def residual(self, path, x):
        y = self.name("y")
        self.say(f"{y} = {x}")
        self.keep(self.rng.choice((f"{y} + {applies(path, y, self.rng)}", f"0.5 * ({applies(path, y, self.rng)} - {y})")))

    def loop(self, path, x):
        self.keep(x)
        name, i = self.result, self.name("i")
        self.say(f"for {i} in 0 .. {self.rng.choice((1, 2))} {{ {name} = {applies(path, name, self.rng)} }}")

    def grown(self, path, x):
        self.keep(x)
        self.say(f"{self.result} += {applies(path, self.result, self.rng)}")

    # ---- lists of parts

    def each(self, form, member, u, count):
        rng = self.rng
        whole = {"list": lambda part, x: applies(part, x, rng), "pairs": lambda part, x: f"{part}[1]({part}[0]({x}))",
                 "records": lambda part, x: f"{part}.g({part}.f({x}))"}[form]
        pick = rng.random()
        if form == "list" and pick < 0.3:
            self.plain(member, self.result)
        elif pick < 0.5:
            self.keep(whole(f"{member}[0]", self.result))
        elif pick < 0.75:
            self.keep(self.result)
            part = self.name("p")
            self.say(f"for {part} in {member} {{ {self.result} = {whole(part, self.result)} }}")
        else:
            self.keep(self.result)
            i = self.name("i")
            self.say(f"for {i} in 0 .. {count} {{ {self.result} = {self.result} + {whole(f'{member}[{i}]', self.result)} }}")

    # ---- sequences

    def recurrent(self, form, member, u, v):
        out = v.dims[-1].text(self.rng)
        if form == "cell":
            t, h, name = self.name("t"), self.name("h"), self.name()
            self.say(f"{name} = scan {t} over {self.result} dim 1 with {h} = zeros(B, {out}) {{")
            self.say(f"  {h} = {member}({t}, {h})")
            self.say(f"  yield {self.rng.choice((h, f'relu({h})', f'0.5 * {h}'))}")
            self.say("}")
        else:
            name, state = self.name(), self.name("s")
            self.say(f"{name}, {state} = {member}({self.result})")
        self.result = name if len(v.dims) == 3 else f"{name}[:, -1]"
