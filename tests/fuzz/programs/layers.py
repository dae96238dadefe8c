"""Random layers between two shapes: what stands in a chain, a record or a list of a block."""
import re

from dims import Shape, dim, floats


class Layers:
    """Elements of chains. `names` are ints in scope, `sizes` what they are worth; `known` holds members as
    (text, from, to); `declare` gives the call of a block of the program that leads from one shape to another."""

    def __init__(self, rng, names, sizes, declare=None, functions=()):
        self.rng = rng
        self.names, self.sizes = list(names), sizes
        self.declare = declare
        self.functions = functions
        self.known = []
        self.fresh = 0

    def size(self, of):
        return of.size(self.sizes)

    def width(self):
        """Some number of features."""
        pick = self.rng.random()
        if not self.names or pick < 0.25:
            return dim(self.rng.choice((2, 3, 4, 6, 8)))
        one = dim(self.rng.choice(self.names))
        if pick < 0.4:
            one = one * self.rng.choice((2, 3))
        elif pick < 0.5:
            one = one + self.rng.choice((1, 2))
        elif pick < 0.6:
            one = one + self.rng.choice(self.names)
        return one if self.size(one) <= 24 else dim(4)

    def text(self, of):
        return of.text(self.rng)

    def name(self):
        self.fresh += 1
        return f"q{self.fresh}"

    def other(self, shape):
        """A shape that `shape` may lead to."""
        pick = self.rng.random()
        if shape.kind == "i64":
            return floats(*shape.dims, self.width())
        if shape.kind == "sequence" and pick < 0.3 or shape.kind == "image" and pick < 0.2:
            return floats(shape.dims[0], self.width())
        if shape.kind == "image" and pick < 0.5:
            side = self.rng.choice((2, 3, 4))
            return shape.with_dim(1, self.width()).with_dim(2, side).with_dim(3, side)
        return shape.with_dim(shape.features, self.width())

    # ---- elements

    def chain(self, a, b, depth=2, builds=True):
        """Elements that lead from `a` to `b` one after another."""
        if depth == 0 or self.rng.random() < 0.35:
            return [self.element(a, b, depth, builds)]
        if a == b and self.rng.random() < 0.5:
            return [self.element(a, a, depth - 1, builds) for _ in range(self.rng.randint(1, 3))]
        between = self.other(a) if builds and b.kind != "i64" else a
        if not self.reaches(between, b):
            between = a
        return [*self.chain(a, between, depth - 1, builds), *self.chain(between, b, depth - 1, builds)]

    def reaches(self, a, b):
        return b.kind in ("vector", a.kind) or a.kind == "i64" and b.kind == "sequence"

    def element(self, a, b, depth=1, builds=True):
        known = [text for text, source, target in self.known if (source, target) == (a, b)]
        pick = self.rng.random()
        if known and pick < 0.25:
            return self.rng.choice(known)
        if depth > 0 and pick < 0.4:
            return chain_of([*self.chain(a, b, depth - 1, builds), *self.chain(b, b, 0, builds)])
        if depth > 0 and pick < 0.5 and (a == b or known):
            return self.closure(a, b, depth - 1)
        if builds and self.declare and pick < 0.65:
            return self.declare(self, a, b)
        if a == b and (pick < 0.8 or not builds):
            return self.same(a, builds)
        return self.layer(a, b) if builds else self.rng.choice(known)

    def closure(self, a, b, depth):
        """A lambda. A layer built inside would be new at every call, so functions and members stand there."""
        q = self.name()
        flow = q
        for step in self.chain(a, b, depth, builds=False):
            flow = self.rng.choice((f"({flow} |> {wrapped(step)})", f"({step})({flow})" if "=>" in step else f"({flow} |> {step})"))
        if a == b and self.rng.random() < 0.5:
            flow = self.rng.choice((f"{q} + {flow}", f"0.5 * {flow} + {q}", f"({flow} - {q}) * 0.25")) if a.kind != "i64" else flow
        return f"{q} => {flow}"

    def same(self, shape, builds):
        """A layer or function that keeps the shape."""
        if shape.kind == "i64":
            return self.rng.choice(("q => q", "abs", "flip(0)", "clamp(0, 3)"))
        width = self.text(shape.dims[shape.features])
        plain = ["relu", "gelu", "silu", "tanh", "leaky_relu(0.2)", "elu", "softplus", "dropout(0.1)", "mish", "clamp(-2.0, 2.0)",
                 "hardswish", *self.functions]
        if not builds:
            return self.rng.choice(plain)
        layers = ["Dropout(0.1)", "Identity()", "PReLU()"]
        if shape.kind == "image":
            layers += [f"BatchNorm2d({width})", f"GroupNorm(1, {width})", f"Conv2d({width}, {width}, 3, padding = 1)", "Dropout2d(0.2)",
                       f"Conv2d({width}, {width}, kernel = 1, bias = false)", f"Conv2d({width}, {width}, 5, padding = 2, groups = {width})"]
        else:
            layers += [f"LayerNorm({width})", f"RMSNorm({width})", f"Linear({width}, {width})", f"Linear({width}, {width}, bias = false)",
                       f"LayerNorm({width}, eps = 1e-6, bias = false)"]
        if shape.kind == "vector":
            layers += [f"BatchNorm1d({width})", f"BatchNorm1d(features = {width}, momentum = 0.2)"]
        if shape.kind == "sequence":
            layers += [f"TransformerEncoderLayer({width}, 1, inner = {self.text(self.width())})", f"MultiheadAttention({width}, 1)"]
        return self.rng.choice(plain + layers)

    def layer(self, a, b):
        """One layer of the library, or several in a list, from `a` to `b`."""
        wide, out = self.text(a.dims[a.features]), self.text(b.dims[b.features])
        if a.kind == "i64":
            embedding = f"Embedding({self.rng.choice(('4', '8', '2 * 3'))}, {out})"
            return embedding if len(b.dims) == len(a.dims) + 1 else f"[{embedding}, mean(1)]"
        if (a.kind, b.kind) == ("image", "image"):
            return self.between_images(a, b, wide, out)
        if a.kind == b.kind:
            return f"Linear({wide}, {out})" if self.rng.random() < 0.7 else f"Linear(inputs = {wide}, outputs = {out}, bias = false)"
        if a.kind == "sequence":
            rows = a.dims[1]
            if all(name in self.names for names, _ in rows.terms for name in names) and self.rng.random() < 0.3:
                return f"[flatten(1), Linear({self.text(rows * a.dims[2])}, {out})]"
            pooled = self.rng.choice(("mean(1)", "q => q[:, -1]", "q => q.sum(1)", f"q => q[:, 0, 0 .. {wide}]"))
            return f"[{pooled}, Linear({wide}, {out})]"
        pooled = self.rng.choice(("mean([2, 3])", "[AdaptiveAvgPool2d(1), Flatten()]", "q => q.mean([2, 3])", "q => q[:, :, 0, -1]"))
        return f"[{pooled}, Linear({wide}, {out})]"

    def between_images(self, a, b, wide, out):
        side, wanted = a.dims[2].number, b.dims[2].number
        if side == wanted:
            return f"Conv2d({wide}, {out}, 3, padding = 1)"
        if side == 2 * wanted:
            return self.rng.choice((f"[MaxPool2d(2), Conv2d({wide}, {out}, 1)]", f"Conv2d({wide}, {out}, 2, stride = 2)",
                                    f"[Conv2d({wide}, {out}, 3, padding = 1), AvgPool2d(2)]"))
        if wanted == 2 * side:
            return self.rng.choice((f"[Upsample(2), Conv2d({wide}, {out}, 1)]", f"ConvTranspose2d({wide}, {out}, 2, stride = 2)"))
        return f"[AdaptiveAvgPool2d({wanted}), Conv2d({wide}, {out}, 1)]"


def chain_of(elements):
    """A list that is a chain: calls without their first argument, alone in a list, would be values."""
    text = ", ".join(elements)
    only_calls = not re.sub(r"[a-z_]\w*\([^()]*\)|[\[\], ]", "", text)
    return f"[{text}, q => q]" if only_calls else f"[{text}]"


def wrapped(step):
    return f"({step})" if "=>" in step and not step.startswith("[") else step


def applies(text, value, rng):
    """What a member is put to, in one of the ways a program may write it."""
    forms = [f"{text}({value})", f"({value} |> {text})"]
    if "[" not in text:
        forms.append(f"({value} |> [{text}, y => y])")
        forms.append(f"[{text}]({value})")
    return rng.choice(forms)


def batch_of(shape):
    return Shape(shape.element, (dim("B"), *shape.dims[1:]))
