"""Statements of a random program and what they do to its values."""
import math
import random

from values import BOOL, FLOAT, INT, STR, Bad, Expr, Expressions, Tensor, list_of, number, taken, tensor, type_text

DEPTH = 3


class Body:
    """Statements of a `fn`, step, hook or test, and what they do to an environment."""

    def __init__(self, rng, scope, samples, uses_item=True, assigns=None, has_clock=False):
        self.rng = rng
        self.exprs = Expressions(rng, scope, uses_item)
        self.samples = [dict(sample) for sample in samples]
        self.assigns = assigns or {}  # What may be written although the body did not make it.
        self.has_clock = has_clock    # Of a step or hook: `every 2 steps` may stand there.
        self.lines = []
        self.actions = []
        self.own = {}
        self.indent = "  "

    def expression(self, kind, depth=DEPTH):
        """An expression that holds under all samples."""
        for attempt in range(60):
            one = self.exprs.make(kind, depth if attempt < 20 else 1)
            if len(one.text) > 600:
                continue
            try:
                for sample in self.samples:
                    one.value(sample)
                return one
            except Bad:
                pass
        return self.exprs.leaf(kind)

    def do(self, line, action):
        self.lines.append(self.indent + line)
        self.actions.append(action)
        for sample in self.samples:
            action(sample)

    def assign(self, name, kind, one):
        self.do(f"{name} = {one.text}", lambda env: env.__setitem__(name, one.value(env)))
        self.exprs.scope[name] = kind
        self.own[name] = kind

    def run(self, env):
        for action in self.actions:
            action(env)

    # ---- statements

    def statement(self, number):
        pick = self.rng.random()
        changed = [name for name, kind in {**self.own, **self.assigns}.items() if kind[0] != "fn"]
        if pick < 0.3 or not changed:
            kind = self.exprs.any_type()
            self.assign(f"v{number}", kind, self.expression(kind))
        elif pick < 0.36:
            self.option(f"v{number}")
        elif pick < 0.44:
            self.function(f"f{number}")
        elif pick < 0.5:
            self.chain(f"f{number}")
        elif pick < 0.56:
            self.taken_apart(number)
        elif pick < 0.64:
            name = self.rng.choice(changed)
            self.changing(name)
        elif pick < 0.76:
            self.branch(self.rng.choice(changed))
        elif pick < 0.82:
            self.loop(self.rng.choice(changed), number)
        elif pick < 0.88:
            self.counted(self.rng.choice(changed), number)
        elif pick < 0.96 or not self.has_clock:
            self.scan(number)
        else:
            self.every(self.rng.choice(changed))

    def changing(self, name):
        kind = {**self.own, **self.assigns}[name]
        if kind[0] in ("int", "float", "tensor") and kind[1:2] != ("bool",) and self.rng.random() < 0.6:
            sign, function = self.rng.choice((("+", lambda a, b: a + b), ("-", lambda a, b: a - b)))
            one = self.expression(kind, 2)
            whole = Expr(f"({name} {sign} {one.text})", lambda env: both(function, env[name], one.value(env)))
            if self.holds(whole):
                self.do(f"{name} {sign}= {one.text}", lambda env: env.__setitem__(name, whole.value(env)))
                return
        one = self.expression(kind)
        # In its own body a variable takes the type of what it is given, which may be more than an option.
        declared = f": {type_text(kind)}" if kind[0] == "option" and name in self.own else ""
        self.do(f"{name}{declared} = {one.text}", lambda env: env.__setitem__(name, taken(kind, one.value(env))))

    def holds(self, one):
        try:
            for sample in self.samples:
                one.value(sample)
            return True
        except Bad:
            return False

    def function(self, name):
        """A local function without a name of its own: it keeps what it reads."""
        params = [self.exprs.any_type() for _ in range(1)]
        result = self.exprs.any_type()
        hidden = self.exprs.scope
        self.exprs.scope = {**hidden, "q": params[0]}
        for _ in range(20):
            body = self.exprs.make(result, DEPTH)
            trial = Expr("", lambda env, body=body: body.value({**env, "q": self.value_for(params[0])}))
            if self.holds(trial):
                break
        else:
            self.exprs.scope = hidden
            return
        self.exprs.scope = hidden

        def define(env):
            kept = dict(env)
            env[name] = lambda given: body.value({**kept, "q": given})

        self.do(f"{name} = q => {body.text}", define)
        # Its code is read with the type of what it is given, so that is the one that was thought of.
        kind = ("fn", (params[0],), result, True, "exact")
        self.exprs.scope[name] = kind
        self.own[name] = kind

    def chain(self, name):
        """Functions in a list: with names and without, of the program and of the library."""
        of = self.exprs.tensor_type()
        known = [f for f, kind in self.exprs.scope.items() if kind[0] == "fn" and kind[1] == (of,) and kind[2] == of]
        hidden, parts = self.exprs.scope, []
        for _ in range(self.rng.randint(1, 3)):
            if of[1] == "float" and self.rng.random() < 0.2:
                parts.append(("relu", lambda env: lambda x: Tensor(x.dims, tuple(max(v, 0) for v in x.flat))))
            elif known and self.rng.random() < 0.6:
                f = self.rng.choice(known)
                parts.append((f, lambda env, f=f: env[f]))
            else:
                self.exprs.scope = {**hidden, "q": of}
                body = self.exprs.make(of, DEPTH)
                self.exprs.scope = hidden
                parts.append((f"q => {body.text}", lambda env, body=body: lambda x: body.value({**env, "q": x})))
        if len(parts) == 1 and "=>" not in parts[0][0]:
            return

        def define(env):
            kept = dict(env)

            def flow(x):
                for _, part in parts:
                    x = part(kept)(x)
                return x

            env[name] = flow

        def tried(env):
            env = dict(env)
            define(env)
            env[name](self.value_for(of))

        if not self.holds(Expr("", tried)):
            return
        self.do(f"{name} = [{', '.join(text for text, _ in parts)}]", define)
        kind = ("fn", (of,), of, True)
        self.exprs.scope[name] = kind
        self.own[name] = kind

    def option(self, name):
        kind = ("option", self.rng.choice((INT, FLOAT, STR)))
        one = self.expression(kind, 2)
        self.do(f"{name}: {type_text(kind)} = {one.text}", lambda env: env.__setitem__(name, taken(kind, one.value(env))))
        self.exprs.scope[name] = kind
        self.own[name] = kind

    def value_for(self, kind):
        if kind[0] == "tensor":
            of = {"float": 1.5, "i64": 2, "bool": True}[kind[1]]
            return Tensor(kind[2], (of,) * math.prod(kind[2]))
        return Expressions(random.Random(1)).constant(kind)

    def taken_apart(self, number):
        kinds = tuple(self.exprs.any_type() for _ in range(2))
        one = self.expression(("tuple", kinds))
        names = (f"a{number}", f"b{number}")
        self.do(f"{names[0]}, {names[1]} = {one.text}", lambda env: env.update(zip(names, one.value(env))))
        for name, kind in zip(names, kinds):
            self.exprs.scope[name] = kind
            self.own[name] = kind

    def nested(self):
        inner = Body(self.rng, self.exprs.scope, self.samples, self.exprs.uses_item, {**self.assigns, **self.own})
        inner.indent = self.indent + "  "
        inner.assigns = {name: kind for name, kind in inner.assigns.items() if kind[0] != "fn"}
        return inner

    def branch(self, name):
        test = self.expression(BOOL)
        arms = [self.nested(), self.nested()]
        for arm in arms:
            for i in range(self.rng.randint(1, 2)):
                arm.changing(name if i == 0 else self.rng.choice(list(arm.assigns)))

        def action(env):
            arm = arms[0] if test.value(env) else arms[1]
            arm.run(env)

        if not self.holds(Expr("", lambda env: action(dict(env)))):
            return
        self.lines.append(f"{self.indent}if {test.text} {{")
        self.lines += arms[0].lines
        self.lines.append(f"{self.indent}}} else {{")
        self.lines += arms[1].lines
        self.do("}", action)

    def loop(self, name, number):
        variable = f"k{number}"
        over_list = self.rng.random() < 0.4
        if over_list:
            of = list_of(self.exprs.host_type(1), self.rng.randint(1, 3))
            values = self.expression(of)
            head, items, kind = values.text, values.value, of[1]
        else:
            count = self.rng.randint(0, 3)
            head, items, kind = f"0 .. {count}", lambda env: range(count), INT
        inner = self.nested()
        # As large as it gets, and not only its first value.
        inner.samples = [{**sample, variable: item} for sample in self.samples for item in items(sample)]
        inner.exprs.scope[variable] = kind
        inner.changing(name)

        def action(env):
            for item in items(env):
                env[variable] = item
                inner.run(env)
            env.pop(variable, None)

        if not self.holds(Expr("", lambda env: action(dict(env)))):
            return
        self.lines.append(f"{self.indent}for {variable} in {head} {{")
        self.lines += inner.lines
        self.do("}", action)

    def counted(self, name, number):
        """`while`, with a counter of its own."""
        counter, count = f"w{number}", self.rng.randint(1, 3)
        test = self.expression(BOOL) if self.rng.random() < 0.4 else Expr("", lambda env: True)
        inner = self.nested()
        inner.samples = [{**sample, counter: i} for sample in self.samples for i in range(count)]
        inner.exprs.scope[counter] = INT
        inner.changing(name)

        def action(env):
            env[counter] = 0
            while env[counter] < count and test.value(env):
                inner.run(env)
                env[counter] += 1

        if not self.holds(Expr("", lambda env: action(dict(env)))):
            return
        more = f" and {test.text}" if test.text else ""
        self.lines += [f"{self.indent}{counter} = 0", f"{self.indent}while {counter} < {count}{more} {{", *inner.lines,
                       f"{self.indent}  {counter} += 1"]
        self.do("}", action)
        self.exprs.scope[counter] = self.own[counter] = INT

    def scan(self, number):
        """A loop over an axis, whose yields are stacked along it."""
        element, dims = self.rng.choice(("float", "float", "i64")), tuple(self.rng.choice((2, 3)) for _ in range(self.rng.randint(1, 3)))
        axis = self.rng.randrange(len(dims))
        sequence = self.expression(("tensor", element, dims))
        item = f"e{number}"
        carried = {f"s{number}{letter}": self.exprs.tensor_type() for letter in "ab"[:self.rng.randint(1, 2)]}
        initial = {name: self.expression(kind, 2) for name, kind in carried.items()}
        inner = self.nested()
        inner.assigns = dict(carried)
        inner.exprs.scope.update({item: ("tensor", element, dims[:axis] + dims[axis + 1:]), **carried})

        def start(env):
            return {**env, **{name: one.value(env) for name, one in initial.items()}}

        inner.samples = [{**start(sample), item: cut(sequence.value(sample), axis, i)}
                         for sample in self.samples for i in range(dims[axis])]
        for name in carried:
            inner.changing(name)
        rank = self.rng.randint(axis, 2)
        of = ("tensor", self.rng.choice(("float", "i64", "bool")), tuple(self.rng.choice((2, 3)) for _ in range(rank)))
        value = inner.expression(of)

        def action(env):
            inside, rows, steps = start(env), [], sequence.value(env)
            for i in range(dims[axis]):
                inside[item] = cut(steps, axis, i)
                inner.run(inside)
                rows.append(value.value(inside))
            env[f"v{number}"] = stacked(rows, axis)

        if not self.holds(Expr("", lambda env: action(dict(env)))):
            return
        shown = axis - len(dims) if self.rng.random() < 0.3 else axis
        with_ = ", ".join(f"{name} = {one.text}" for name, one in initial.items())
        self.lines += [f"{self.indent}v{number} = scan {item} over {sequence.text} dim {shown} with {with_} {{", *inner.lines,
                       f"{self.indent}  yield {value.text}"]
        self.do("}", action)
        self.exprs.scope[f"v{number}"] = self.own[f"v{number}"] = ("tensor", of[1], of[2][:axis] + (dims[axis],) + of[2][axis:])

    def every(self, name):
        """Whether it runs is for the trainer to know, so what follows holds either way."""
        inner = self.nested()
        inner.changing(name)
        after = [dict(sample) for sample in self.samples]
        try:
            for sample in after:
                inner.run(sample)
        except Bad:
            return
        period = self.rng.choice(("2 steps", "3 steps", "1 epoch"))
        self.lines += [f"{self.indent}every {period} {{", *inner.lines, f"{self.indent}}}"]
        self.samples += after


def cut(value, axis, index):
    """Row `index` of an axis."""
    dims, inner = value.dims, math.prod(value.dims[axis + 1:])
    flat = tuple(value.flat[(outer * dims[axis] + index) * inner + i]
                 for outer in range(math.prod(dims[:axis])) for i in range(inner))
    return Tensor(dims[:axis] + dims[axis + 1:], flat)


def stacked(rows, axis):
    dims, inner = rows[0].dims, math.prod(rows[0].dims[axis:])
    flat = tuple(v for outer in range(math.prod(dims[:axis])) for row in rows for v in row.flat[outer * inner:(outer + 1) * inner])
    return Tensor(dims[:axis] + (len(rows),) + dims[axis:], flat)


def both(function, a, b):
    if isinstance(a, Tensor):
        return tensor(a.dims, map(function, a.flat, b.flat))
    return number(function(a, b))
