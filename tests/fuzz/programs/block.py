"""Random blocks: members that hold layers singly, in chains, records, tuples and lists, and a `forward` that leads from
one shape to another through them."""
from dims import Shape, dim, floats
from flow import Flow
from layers import Layers, chain_of


class Blocks:
    def __init__(self, rng):
        self.rng = rng
        self.parts, self.names, self.built = [], [], []
        self.formals = {}  # of a block: its params, each with the literal that it may be given
        self.depth = 0

    def arguments(self, name):
        return ", ".join(literal for _, literal in self.formals[name])

    # ---- declarations

    def declare(self, layers, a, b):
        """The call of a block that leads from `a` to `b`."""
        # The sides of an image are numbers, inside as outside.
        last = {shape: 2 if shape.kind == "image" else len(shape.dims) for shape in (a, b)}
        known = [d for shape in (a, b) for d in shape.dims[1:last[shape]]]
        if self.depth >= 2 or len(self.names) >= 5 or not all(self.can_name(d, layers) for d in known):
            return layers.layer(a, b)
        self.depth += 1
        # Another name in the block for each of the dims, unless it stays a number or a binder.
        naming, given = {}, {}
        for d in known:
            if d not in naming and d.text() != "S":
                naming[d] = self.formal(d, naming, given)
        inner = {name: layers.size(actual) for name, actual in given.items()}

        def put(shape):
            at = last[shape]
            return Shape(shape.element, (dim("B"), *[naming.get(d, d) for d in shape.dims[1:at]], *shape.dims[at:]))

        if len(a.dims) == 3 and a.element == "float" or a.element == "i64" and len(a.dims) == 2:
            a_in, b_in = self.binding(put(a), put(b))
        else:
            a_in, b_in = put(a), put(b)
        name = f"Part{len(self.names)}"
        self.names.append(name)
        text, extra = self.text(name, a_in, b_in, inner)
        self.formals[name] = [(formal, str(inner[formal])) for formal in inner] + [(f, literal) for f, _, _, literal in extra]
        self.built.append((name, a_in, b_in, inner))
        self.parts += text
        self.depth -= 1
        arguments = [layers.text(given[formal]) for formal in inner] + [literal for *_, literal in extra]
        names = [*inner, *[f for f, *_ in extra]]
        at = self.rng.randint(0, len(names))
        named = [f"{n} = {one}" for n, one in zip(names[at:], arguments[at:])]
        return f"{name}({', '.join(arguments[:at] + self.rng.sample(named, len(named)))})"

    def can_name(self, d, layers):
        return d.text() == "S" or all(name in layers.names for names, _ in d.terms for name in names)

    def formal(self, d, naming, given):
        if d.number is not None and self.rng.random() < 0.5:
            return d
        for other, formal in naming.items():
            for factor in (2, 3):
                if other * factor == d and self.rng.random() < 0.6:
                    return formal * factor
            for more in (1, 2):
                if other + more == d and self.rng.random() < 0.6:
                    return formal + more
        name = "nmkrw"[len(given)]
        given[name] = d
        return dim(name)

    def binding(self, a, b):
        """With the rows of a sequence bound by the call; not where their number stands elsewhere too."""
        rows = a.dims[1]
        if rows.text() == "S" or self.rng.random() < 0.5 or rows in (*a.dims[2:], *b.dims[2:]):
            return a, b
        if len(b.dims) == 3 and b.dims[1] != rows:
            return a, b
        return a.with_dim(1, dim("S")), b.with_dim(1, dim("S")) if len(b.dims) == 3 else b

    def text(self, name, a, b, sizes):
        rng = self.rng
        layers = Layers(rng, [*sizes], sizes, self.declare)
        params = [f"{formal}: int" for formal in sizes]
        extra = rng.sample([("p", "float", "0.1", "0.2"), ("cfg", "{wide: int, p: float}", None, "(wide = 4, p = 0.1)"),
                            ("wide", "list[int]", None, "[4, 6]"), ("kind", "str", '"plain"', '"plain"'),
                            ("pair", "(int, bool)", None, "(4, true)"), ("limit", "option[int]", "none", "none")], rng.choice((0, 0, 1, 2)))
        extra += [("inner", self.signature(a), None, None)] if a.element == "float" and rng.random() < 0.35 else []
        params += [f"{f}: {kind}" + (f" = {default}" if default else "") for f, kind, default, _ in extra]
        given = []
        for f, kind, default, literal in extra:
            given.append((f, kind, default, literal or self.argument(a, sizes)))
        host = {f: kind for f, kind, _, _ in extra}
        lines, stages = self.members(layers, a, b, host)
        binders = "B, S" if any(d.text() == "S" for d in a.dims) else "B"
        flow = self.body(layers, stages, host)
        head = f"fn forward[{binders}](x: {a.text(rng)}) -> {b.text(rng)}"
        if flow.lines:
            forward = [f"  {head} {{", *("  " + line for line in flow.lines), f"    return {flow.result}", "  }"]
        else:
            forward = [f"  {head} = {flow.result}"]
        lets = [f"  let twice = 2 * {rng.choice([*sizes])}"] if sizes and rng.random() < 0.2 else []
        return ["", f"block {name}({', '.join(params)}) {{", *lets, *lines, *forward, "}"], given

    def signature(self, shape):
        binders = "B, S" if any(d.text() == "S" for d in shape.dims) else "B"
        return f"block [{binders}]({shape.text(self.rng)}) -> {shape.text(self.rng)}"

    def argument(self, shape, sizes):
        """What a block parameter may be given where the block is built: of the sizes known there."""
        width = sizes.get(shape.dims[shape.features].text()) or shape.dims[shape.features].size(sizes)
        numbers = Layers(self.rng, [], {})
        of = shape.with_dim(shape.features, width)
        chain = numbers.chain(of, of, 1)
        return f"[{', '.join(chain)}]" if len(chain) > 1 or self.rng.random() < 0.5 else chain[0]

    # ---- members

    def members(self, layers, a, b, host=()):
        """Lines of members, and stages that lead from `a` to `b` by them."""
        rng = self.rng
        path = [a]
        for _ in range(rng.choice((0, 0, 1, 1, 2))):
            middle = layers.other(path[-1])
            if layers.reaches(middle, b):
                path.append(middle)
            if rng.random() < 0.4:
                path.append(path[-1])
        path.append(b)
        lines, stages = [], []
        for i, (u, v) in enumerate(zip(path, path[1:])):
            line, stage = self.member(layers, f"m{i}", u, v)
            lines.append(line)
            stages.append(stage)
            if stage[0] == "path":
                layers.known += stage[1] if len(stage[1]) == 1 else []
        if "inner" in host:
            stages.insert(0, ("path", [("inner", a, a)]))
        if "cfg" in host and b.kind == "vector":
            wide = b.dims[1].text(rng)
            lines.append(f"  through = (up = Linear({wide}, cfg.wide), down = [gelu, Linear(cfg.wide, {wide}), Dropout(cfg.p)])")
            stages.append(("path", [("[through.up, through.down]", b, b)]))
        return lines, stages

    def member(self, layers, name, u, v):
        rng = self.rng
        between = layers.other(u)
        if not layers.reaches(between, v):
            between = u
        first, rest = self.part(layers, u, between), self.part(layers, between, v)
        forms = ["single", "single", "chain", "chain", "record", "tuple", "nested"]
        if u.kind == "sequence" and v.kind in ("sequence", "vector") and u.element == "float" and (len(v.dims) == 2 or v.dims[1] == u.dims[1]):
            forms += ["cell", "rnn"]
        if u == v and u.element == "float":
            forms += ["list", "list", "pairs", "records"]
        form = rng.choice(forms)
        if form == "single":
            one = self.part(layers, u, v)
            # A function alone has no weights to ask for, and a call of one alone is its value.
            return f"  {name} = {one if one[0].isupper() or '[' in one[:1] else f'[{one}, q => q]'}", ("path", [(name, u, v)])
        if form == "chain":
            return f"  {name} = [{', '.join(layers.chain(u, v))}, q => q]", ("path", [(name, u, v)])
        if form == "record":
            return (f"  {name} = (first = {first}, rest = {rest})", ("path", [(f"{name}.first", u, between), (f"{name}.rest", between, v)]))
        if form == "tuple":
            return f"  {name} = ({first}, {rest})", ("path", [(f"{name}[0]", u, between), (f"{name}[1]", between, v)])
        if form == "nested":
            return (f"  {name} = (of = (up = {first}, n = 2), down = ({self.part(layers, between, between)}, {rest}))",
                    ("path", [(f"{name}.of.up", u, between), (f"{name}.down[0]", between, between), (f"{name}.down[1]", between, v)]))
        if form in ("cell", "rnn"):
            return self.recurrent(layers, form, name, u, v)
        count = rng.choice(("1", "2", "3", *layers.names[:1]))
        if form == "list":
            return f"  {name} = [{self.part(layers, u, u)} for i in 0 .. {count}]", ("list", name, u, count)
        if form == "pairs":
            return f"  {name} = [({self.part(layers, u, u)}, {self.part(layers, u, u)}) for i in 0 .. {count}]", ("pairs", name, u, count)
        return (f"  {name} = [(f = {self.part(layers, u, u)}, g = {self.part(layers, u, u)}) for i in 0 .. {count}]",
                ("records", name, u, count))

    def part(self, layers, u, v):
        chain = layers.chain(u, v, 1)
        whole = chain_of(chain)
        return chain[0] if len(chain) == 1 and whole == f"[{chain[0]}]" else whole

    def recurrent(self, layers, form, name, u, v):
        wide, out = u.dims[2].text(self.rng), v.dims[-1].text(self.rng)
        if form == "cell":
            cell = self.rng.choice(("GRUCell", "RNNCell"))
            return f"  {name} = {cell}({wide}, {out})", ("cell", name, u, v)
        rnn = self.rng.choice(("GRU", "RNN", "LSTM"))
        return f"  {name} = {rnn}({wide}, {out}{self.rng.choice(('', ', layers = 2'))})", ("rnn", name, u, v)

    def roots(self, lines):
        return [line.split(" = ")[0].strip() for line in lines]

    # ---- code

    def body(self, layers, stages, host=()):
        flow = Flow(self.rng, layers, host)
        for stage in stages:
            flow.through(stage)
        return flow
