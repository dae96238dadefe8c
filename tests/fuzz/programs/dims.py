"""Dims as polynomials over names: their normal form, their size and the many ways to write them."""
from dataclasses import dataclass
from functools import reduce


@dataclass(frozen=True)
class Dim:
    """A sum of products: a sorted tuple of (names, factor), names sorted too."""
    terms: tuple

    def __add__(self, other):
        return _sum([*self.terms, *dim(other).terms])

    def __mul__(self, other):
        return _sum([(tuple(sorted(a + b)), m * n) for a, m in self.terms for b, n in dim(other).terms])

    @property
    def number(self):
        """Its size if no name is in it, else None."""
        if not self.terms:
            return 0
        return self.terms[0][1] if len(self.terms) == 1 and not self.terms[0][0] else None

    def size(self, sizes):
        return sum(factor * reduce(lambda n, name: n * sizes[name], names, 1) for names, factor in self.terms)

    def put(self, dims):
        """With dims in the place of names; a name that is not among them stays."""
        whole = dim(0)
        for names, factor in self.terms:
            whole += reduce(lambda d, name: d * dims.get(name, dim(name)), names, dim(factor))
        return whole

    def text(self, rng=None):
        """One way to write it: in the order of its terms without `rng`."""
        shown = []
        for names, factor in self.terms:
            words = [*names] if factor == 1 and names else [str(factor), *names]
            if rng and names and factor == 2 and rng.random() < 0.2:
                shown += [" * ".join(names)] * 2
                continue
            if rng:
                rng.shuffle(words)
            shown.append(" * ".join(words))
        if rng:
            rng.shuffle(shown)
        return " + ".join(shown) or "0"


def dim(of):
    if isinstance(of, Dim):
        return of
    return _sum([((), of)]) if isinstance(of, int) else Dim((((of,), 1),))


def _sum(terms):
    total = {}
    for names, factor in terms:
        total[names] = total.get(names, 0) + factor
    return Dim(tuple(sorted((names, factor) for names, factor in total.items() if factor)))


@dataclass(frozen=True)
class Shape:
    """The type of a tensor that flows between layers; its first dim is that of the batch."""
    element: str
    dims: tuple

    @property
    def kind(self):
        return self.element if self.element != "float" else {2: "vector", 3: "sequence", 4: "image"}[len(self.dims)]

    def put(self, dims):
        return Shape(self.element, tuple(d.put(dims) for d in self.dims))

    def with_dim(self, at, size):
        dims = list(self.dims)
        dims[at] = dim(size)
        return Shape(self.element, tuple(dims))

    @property
    def features(self):
        """Where the features stand: behind the batch of an image, last in all else."""
        return 1 if self.kind == "image" else len(self.dims) - 1

    def text(self, rng=None):
        return f"{self.element}[{', '.join(d.text(rng) for d in self.dims)}]"


def floats(*dims):
    return Shape("float", tuple(map(dim, dims)))
