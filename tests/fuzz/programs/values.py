"""Random right expressions of a wanted type, each with what it is worth: text for the program, a function for us.

All numbers are multiples of 1/4096 and small, so that f32, f64 and Python agree to the last bit.
"""
import functools
import math
from dataclasses import dataclass

INT, FLOAT, BOOL, STR = ("int",), ("float",), ("bool",), ("str",)
SCALARS = (INT, FLOAT, BOOL, STR)
WORDS = ["a", "b c", "", "Zürich", "x{y", "\"q\"", "tab\t"]


class Bad(Exception):
    """The value is outside what all sides agree on: another expression is tried."""


@dataclass(frozen=True)
class Tensor:
    dims: tuple
    flat: tuple


@dataclass(frozen=True)
class Expr:
    text: str
    value: object  # of an environment {name: value}


def number(value):
    if not -2000 <= value <= 2000 or value * 4096 % 1:
        raise Bad
    return value


def tensor(dims, flat):
    return Tensor(tuple(dims), tuple(map(number, flat)))


def taken(kind, value):
    """What a place of that type keeps of a value."""
    head = kind[0]
    if head == "float":
        return float(value)
    if head == "list":
        return tuple(taken(kind[1], one) for one in value)
    if head == "tuple":
        return tuple(taken(part, one) for part, one in zip(kind[1], value))
    if head == "record":
        return {name: taken(part, value[name]) for name, part in kind[1]}
    if head == "option":
        return None if value is None else taken(kind[1], value)
    return value


def list_of(element, length):
    return ("list", element, length)


def type_text(kind):
    head = kind[0]
    if head == "list":
        return f"list[{type_text(kind[1])}]"
    if head == "tuple":
        return "(" + ", ".join(type_text(part) for part in kind[1]) + ")"
    if head == "record":
        return "{" + ", ".join(f"{name}: {type_text(part)}" for name, part in kind[1]) + "}"
    if head == "option":
        return f"option[{type_text(kind[1])}]"
    if head == "tensor":
        return f"{kind[1]}[{', '.join(str(d) for d in kind[2])}]"
    return head


@functools.cache
def parts_of(name, kind):
    """{type: [what reads one]} of a variable, its elements and fields."""
    found = {}

    def search(text, of, read, depth):
        found.setdefault(of, []).append(Expr(text, read))
        if depth == 0:
            return
        if of[0] == "list":
            for i in {0, of[2] - 1}:
                search(f"{text}[{i}]", of[1], lambda env, i=i: read(env)[i], depth - 1)
        elif of[0] == "tuple":
            for i, part in enumerate(of[1]):
                search(f"{text}[{i}]", part, lambda env, i=i: read(env)[i], depth - 1)
        elif of[0] == "record":
            for field, part in of[1]:
                search(f"{text}.{field}", part, lambda env, field=field: read(env)[field], depth - 1)

    search(name, kind, lambda env: env[name], 3)
    return found


def literal(kind, value):
    """The text of a host value, as it is written in a program."""
    head = kind[0]
    if value is None:
        return "none"
    if head == "str":
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("{", "\\{").replace("\t", "\\t")
        return f'"{escaped}"'
    if head == "bool":
        return "true" if value else "false"
    if head == "list":
        return "[" + ", ".join(literal(kind[1], v) for v in value) + "]"
    if head == "tuple":
        return "(" + ", ".join(literal(k, v) for k, v in zip(kind[1], value)) + ")"
    if head == "record":
        return "(" + ", ".join(f"{n} = {literal(k, value[n])}" for n, k in kind[1]) + ")"
    if head == "option":
        return literal(kind[1], value)
    return f"({value!r})" if value < 0 else repr(value)


class Expressions:
    """`scope` is {name: type} of what may be read; a function is ("fn", params, result, is_pipeable), one without types of its own
    ("fn", …, "exact")."""

    def __init__(self, random, scope=None, uses_item=True):
        self.random = random
        self.scope = dict(scope or {})
        self.uses_item = uses_item
        self.fresh = 0

    # ---- types and constants

    def host_type(self, depth=2):
        pick = self.random.random()
        if depth == 0 or pick < 0.5:
            return self.random.choice(SCALARS)
        if pick < 0.67:
            return list_of(self.host_type(0 if pick < 0.6 else depth - 1), self.random.randint(1, 3))
        if pick < 0.84:
            return ("tuple", tuple(self.host_type(depth - 1) for _ in range(self.random.randint(2, 3))))
        names = self.random.sample(["n", "size", "rate", "kind", "on_it"], self.random.randint(1, 3))
        return ("record", tuple((name, self.host_type(depth - 1)) for name in names))

    def tensor_type(self):
        dims = tuple(self.random.choice((2, 3, 4)) for _ in range(self.random.choice((1, 1, 2, 2, 3, 0))))
        return ("tensor", self.random.choice(("float", "float", "float", "i64", "bool")), dims)

    def any_type(self):
        return self.tensor_type() if self.random.random() < 0.35 else self.host_type()

    def constant(self, kind):
        head = kind[0]
        if head == "int":
            return self.random.choice((0, 1, 2, 3, 5, 7, -1, -2, -4, 12))
        if head == "float":
            return self.random.choice((0.0, 0.5, 1.0, 1.5, -0.25, 2.0, -3.0, 0.125))
        if head == "bool":
            return self.random.random() < 0.5
        if head == "str":
            return self.random.choice(WORDS)
        if head == "list":
            return tuple(self.constant(kind[1]) for _ in range(kind[2]))
        if head == "tuple":
            return tuple(self.constant(part) for part in kind[1])
        if head == "record":
            return {name: self.constant(part) for name, part in kind[1]}
        if head == "option":
            return None if self.random.random() < 0.5 else self.constant(kind[1])
        raise AssertionError(kind)

    # ---- expressions

    def readable(self, kind):
        """What gives a `kind` without computing: variables, their elements and fields."""
        return [one for name, of in self.scope.items() for one in parts_of(name, of).get(kind, ())]

    def make(self, kind, depth):
        """A random expression; may be worth something Bad."""
        known = self.readable(kind)
        if known and self.random.random() < (0.8 if depth <= 0 else 0.3):
            return self.random.choice(known)
        if depth <= 0:
            return self.leaf(kind)
        if depth > 1 and self.random.random() < 0.08:
            return self.choice_of(kind, depth)
        if depth > 1 and self.random.random() < 0.12:
            return self.applied(kind, depth)
        calls = [(name, of) for name, of in self.scope.items() if of[0] == "fn" and of[2] == kind]
        if calls and self.random.random() < 0.4:
            return self.call(*self.random.choice(calls), depth)
        return getattr(self, "make_" + kind[0])(kind, depth)

    def leaf(self, kind):
        if kind[0] == "tensor":
            return self.created(kind)
        value = self.constant(kind)
        return Expr(literal(kind, value), lambda env: value)

    def choice_of(self, kind, depth):
        test, a, b = self.make(BOOL, depth - 1), self.make(kind, depth - 1), self.make(kind, depth - 1)
        return Expr(f"(if {test.text} then {a.text} else {b.text})",
                    lambda env: a.value(env) if test.value(env) else b.value(env))

    def applied(self, kind, depth):
        """A function without a name, applied where it stands."""
        of = self.any_type()
        given = self.make(of, depth - 2)
        self.fresh += 1
        name = f"p{self.fresh}"
        hidden = self.scope
        self.scope = {**hidden, name: of}
        body = self.make(kind, depth - 1)
        self.scope = hidden
        return Expr(f"({given.text} |> ({name} => {body.text}))", lambda env: body.value({**env, name: given.value(env)}))

    def loose(self, kind):
        """A type whose values a place of type `kind` takes as well: ints for floats, records with more fields."""
        head = kind[0]
        if head == "float":
            return INT if self.random.random() < 0.3 else FLOAT
        if head == "list":
            return list_of(self.loose(kind[1]), kind[2])
        if head == "tuple":
            return ("tuple", tuple(self.loose(part) for part in kind[1]))
        if head == "record":
            fields = [(name, self.loose(part)) for name, part in kind[1]]
            return ("record", tuple(fields + ([("more", INT)] if self.random.random() < 0.3 else [])))
        return kind

    def call(self, name, of, depth):
        give = self.make if of[-1] == "exact" else self.fitting
        given = [give(kind, depth - 2) for kind in of[1]]
        texts = [one.text for one in given]
        if of[3] and self.random.random() < 0.3:
            text = f"({texts[0]} |> {name}({', '.join(texts[1:])}))" if len(texts) > 1 else f"({texts[0]} |> {name})"
        else:
            text = f"{name}({', '.join(texts)})"
        return Expr(text, lambda env: env[name](*[one.value(env) for one in given]))

    def fitting(self, kind, depth):
        """What a param of type `kind` may be given."""
        one = self.make(self.loose(kind), depth)
        return Expr(one.text, lambda env: taken(kind, one.value(env)))

    def binary(self, kind, depth, table):
        sign, function = self.random.choice(table)
        a, b = self.make(kind, depth - 1), self.make(kind, depth - 1)
        text = f"{sign}({a.text}, {b.text})" if sign.isalpha() else f"({a.text} {sign} {b.text})"
        return Expr(text, lambda env: number(function(a.value(env), b.value(env))))

    def make_int(self, kind, depth):
        pick = self.random.random()
        if pick < 0.5:
            return self.binary(INT, depth, [("+", lambda a, b: a + b), ("-", lambda a, b: a - b), ("*", lambda a, b: a * b),
                                            ("min", min), ("max", max)])
        a = self.make(INT, depth - 1)
        if pick < 0.6:
            by = self.random.choice((2, 3, 5, -2))
            shown = literal(INT, by)
            if self.random.random() < 0.5:
                return Expr(f"({a.text} % {shown})", lambda env: a.value(env) % abs(by))
            return Expr(f"floor({a.text} / {shown})", lambda env: a.value(env) // by)
        if pick < 0.7:
            x = self.make(FLOAT, depth - 1)
            name, function = self.random.choice((("floor", math.floor), ("ceil", math.ceil)))
            return Expr(f"{name}({x.text})", lambda env: function(x.value(env)))
        if pick < 0.8:
            return Expr(f"(-{a.text})", lambda env: -a.value(env))
        if pick < 0.9:
            of = self.tensor_type()
            t = self.make(of, depth - 1)
            if of[2]:
                return Expr(f"{t.text}.shape[{len(of[2]) - 1}]", lambda env: of[2][-1])
        return Expr(f"abs({a.text})", lambda env: abs(a.value(env)))

    def make_float(self, kind, depth):
        pick = self.random.random()
        if pick < 0.5:
            return self.binary(FLOAT, depth, [("+", lambda a, b: a + b), ("-", lambda a, b: a - b), ("*", lambda a, b: a * b),
                                              ("min", min), ("max", max)])
        if pick < 0.62:
            a, b = self.make(INT, depth - 1), self.make(FLOAT, depth - 1)
            return Expr(f"({a.text} * {b.text})", lambda env: number(a.value(env) * b.value(env)))
        if pick < 0.72:
            a = self.make(FLOAT, depth - 1)
            # Not by a whole number: where an int may stand for a float, a division of two of them has to be exact.
            return Expr(f"({a.text} / 4.0)", lambda env: number(a.value(env) / 4))
        if pick < 0.82 and self.uses_item:
            t = self.make(("tensor", "float", ()), depth - 1)
            return Expr(f"{t.text}.item()", lambda env: t.value(env).flat[0])
        a = self.make(FLOAT, depth - 1)
        return Expr(f"(-{a.text})", lambda env: -a.value(env))

    def make_bool(self, kind, depth):
        pick = self.random.random()
        if pick < 0.35:
            of = self.random.choice((INT, FLOAT))
            sign, function = self.random.choice((("<", lambda a, b: a < b), ("<=", lambda a, b: a <= b), (">", lambda a, b: a > b),
                                                 (">=", lambda a, b: a >= b), ("!=", lambda a, b: a != b)))
            a, b = self.make(of, depth - 1), self.make(of, depth - 1)
            return Expr(f"({a.text} {sign} {b.text})", lambda env: function(a.value(env), b.value(env)))
        if pick < 0.55:
            of = self.host_type(1)
            a, b = self.make(of, depth - 1), self.make(of, depth - 1)
            return Expr(f"({a.text} == {b.text})", lambda env: a.value(env) == b.value(env))
        if pick < 0.7:
            of = self.random.choice((INT, STR))
            a, b = self.make(of, depth - 1), self.make(list_of(of, self.random.randint(1, 3)), depth - 1)
            return Expr(f"({a.text} in {b.text})", lambda env: a.value(env) in b.value(env))
        a, b = self.make(BOOL, depth - 1), self.make(BOOL, depth - 1)
        if pick < 0.8:
            return Expr(f"(not {a.text})", lambda env: not a.value(env))
        if pick < 0.9:
            return Expr(f"({a.text} and {b.text})", lambda env: a.value(env) and b.value(env))
        return Expr(f"({a.text} or {b.text})", lambda env: a.value(env) or b.value(env))

    def make_str(self, kind, depth):
        a, b = self.make(INT, depth - 1), self.make(STR, depth - 1)
        if self.random.random() < 0.5 or '"' in a.text:
            return self.choice_of(STR, depth)
        return Expr(f'"<{{{a.text}}}>"', lambda env: f"<{a.value(env)}>")

    def make_list(self, kind, depth):
        _, of, length = kind
        if self.random.random() < 0.4:
            self.fresh += 1
            name = f"i{self.fresh}"
            start = self.random.randint(0, 2)
            hidden = self.scope
            self.scope = {**hidden, name: INT}
            one = self.make(of, depth - 1)
            self.scope = hidden
            return Expr(f"[{one.text} for {name} in {start} .. {start + length}]",
                        lambda env: tuple(one.value({**env, name: i}) for i in range(start, start + length)))
        parts = [self.make(of, depth - 1) for _ in range(length)]
        return Expr("[" + ", ".join(part.text for part in parts) + "]", lambda env: tuple(part.value(env) for part in parts))

    def make_tuple(self, kind, depth):
        parts = [self.make(of, depth - 1) for of in kind[1]]
        return Expr("(" + ", ".join(part.text for part in parts) + ")", lambda env: tuple(part.value(env) for part in parts))

    def make_record(self, kind, depth):
        parts = {name: self.make(of, depth - 1) for name, of in kind[1]}
        order = self.random.sample(list(parts), len(parts))
        return Expr("(" + ", ".join(f"{name} = {parts[name].text}" for name in order) + ")",
                    lambda env: {name: parts[name].value(env) for name, _ in kind[1]})

    def make_option(self, kind, depth):
        return Expr("none", lambda env: None) if self.random.random() < 0.3 else self.make(kind[1], depth - 1)

    # ---- tensors

    def created(self, kind):
        _, element, dims = kind
        size = math.prod(dims)
        if element == "bool":
            value = self.random.random() < 0.5
            shown = ", ".join([*map(str, dims), "1.0"])
            return Expr(f"(full({shown}) {'>' if value else '<'} 0.0)", lambda env: Tensor(dims, (value,) * size))
        if len(dims) == 1 and self.random.random() < 0.5:
            of = INT if element == "i64" else FLOAT
            values = [self.constant(of) for _ in range(size)]
            stacked = tensor(dims, values)
            return Expr(f"stack([{', '.join(f'full({literal(of, v)})' for v in values)}])", lambda env: stacked)
        of = INT if element == "i64" else FLOAT
        value = self.constant(of)
        filled = tensor(dims, (value,) * size)
        return Expr(f"full({', '.join([*map(str, dims), literal(of, value)])})", lambda env: filled)

    def make_tensor(self, kind, depth):
        _, element, dims = kind
        if element == "bool":
            return self.tensor_test(dims, depth)
        return self.random.choice((self.elementwise, self.elementwise, self.mapped, self.mixed, self.reduced, self.shaped,
                                   self.chosen, self.chained))(element, dims, depth)

    def tensor_test(self, dims, depth):
        of = ("tensor", self.random.choice(("float", "i64")), dims)
        sign, function = self.random.choice((("<", lambda a, b: a < b), (">=", lambda a, b: a >= b), ("==", lambda a, b: a == b)))
        a, b = self.make(of, depth - 1), self.make(of, depth - 1)
        return Expr(f"({a.text} {sign} {b.text})", lambda env: Tensor(dims, tuple(map(function, a.value(env).flat, b.value(env).flat))))

    def elementwise(self, element, dims, depth):
        sign, function = self.random.choice((("+", lambda a, b: a + b), ("-", lambda a, b: a - b), ("*", lambda a, b: a * b),
                                             ("minimum", min), ("maximum", max)))
        of = ("tensor", element, dims)
        a, b = self.make(of, depth - 1), self.make(of, depth - 1)
        text = f"{sign}({a.text}, {b.text})" if sign.isalpha() else f"({a.text} {sign} {b.text})"
        return Expr(text, lambda env: tensor(dims, map(function, a.value(env).flat, b.value(env).flat)))

    def mapped(self, element, dims, depth):
        a = self.make(("tensor", element, dims), depth - 1)
        form, function = self.random.choice((("abs({})", abs), ("{}.abs()", abs), ("(-{})", lambda v: -v), ("relu({})", lambda v: max(v, 0)),
                                             ("({} |> relu)", lambda v: max(v, 0))) if element == "float" else
                                            (("abs({})", abs), ("(-{})", lambda v: -v)))
        return Expr(form.format(a.text), lambda env: tensor(dims, map(function, a.value(env).flat)))

    def mixed(self, element, dims, depth):
        def each(tensors, hosts, env, function):
            one = hosts.value(env)
            return tensor(dims, (function(v, one) for v in tensors.value(env).flat))

        host = self.make(INT if element == "i64" else FLOAT, depth - 1)
        a = self.make(("tensor", element, dims), depth - 1)
        sign, function = self.random.choice((("+", lambda a, b: a + b), ("*", lambda a, b: a * b), ("-", lambda a, b: a - b)))
        if self.random.random() < 0.5:
            return Expr(f"({a.text} {sign} {host.text})", lambda env: each(a, host, env, function))
        return Expr(f"({host.text} {sign} {a.text})", lambda env: each(a, host, env, lambda v, one: function(one, v)))

    def reduced(self, element, dims, depth):
        """The sum over one axis more, at the front."""
        if len(dims) == 3:
            return self.elementwise(element, dims, depth)
        count = self.random.choice((2, 3))
        a = self.make(("tensor", element, (count, *dims)), depth - 1)
        size = math.prod(dims)
        text = f"sum({a.text}, dim = 0)" if self.random.random() < 0.5 else f"{a.text}.sum(0)"
        return Expr(text, lambda env: tensor(dims, (sum(a.value(env).flat[i::size]) for i in range(size))))

    def shaped(self, element, dims, depth):
        if len(dims) == 2:
            rows, columns = dims
            a = self.make(("tensor", element, (columns, rows)), depth - 1)
            turned = lambda flat: tuple(flat[c * rows + r] for r in range(rows) for c in range(columns))
            return Expr(f"{a.text}.transpose(0, 1)", lambda env: tensor(dims, turned(a.value(env).flat)))
        if len(dims) == 1:
            if self.random.random() < 0.5:
                a = self.make(("tensor", element, (2, *dims)), depth - 1)
                size = dims[0]
                return Expr(f"{a.text}[1]", lambda env: tensor(dims, a.value(env).flat[size:]))
            a = self.make(("tensor", element, (dims[0] + 1,)), depth - 1)
            return Expr(f"{a.text}[1 .. {dims[0] + 1}]", lambda env: tensor(dims, a.value(env).flat[1:]))
        if len(dims) == 3:
            a = self.make(("tensor", element, (dims[0] * dims[1], dims[2])), depth - 1)
            return Expr(f"{a.text}.reshape({dims[0]}, {dims[1]}, {dims[2]})", lambda env: tensor(dims, a.value(env).flat))
        a = self.make(("tensor", element, (2,)), depth - 1)
        return Expr(f"sum({a.text})", lambda env: tensor((), (sum(a.value(env).flat),)))

    def chosen(self, element, dims, depth):
        test = self.make(("tensor", "bool", dims), depth - 1)
        of = ("tensor", element, dims)
        a, b = self.make(of, depth - 1), self.make(of, depth - 1)
        return Expr(f"where({test.text}, {a.text}, {b.text})",
                    lambda env: tensor(dims, (x if t else y for t, x, y in zip(test.value(env).flat, a.value(env).flat, b.value(env).flat))))

    def chained(self, element, dims, depth):
        """A list of functions without names, applied in order."""
        of = ("tensor", element, dims)
        a = self.make(of, depth - 1)
        steps = []
        for _ in range(self.random.randint(1, 3)):
            self.fresh += 1
            name = f"p{self.fresh}"
            hidden = self.scope
            self.scope = {**hidden, name: of}
            steps.append((name, self.make(of, depth - 2)))
            self.scope = hidden

        def value(env):
            flowing = a.value(env)
            for name, step in steps:
                flowing = step.value({**env, name: flowing})
            return flowing

        chain = "[" + ", ".join(f"{name} => {step.text}" for name, step in steps) + "]"
        return Expr(f"({a.text} |> {chain})" if self.random.random() < 0.5 else f"{chain}({a.text})", value)
