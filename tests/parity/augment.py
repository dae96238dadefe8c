#!/usr/bin/env python3
"""Drawn augmentation against torchvision's: whatever `rand_augment` and `trivial_augment` draw is one of the images that
torchvision's operations give at their strengths, each comes, and mixtures of a batch are those of the shares in their labels.
A byte may be one off, where a colour is a whole number but for rounding, and of the pixels of a turned image one in fifty may be
another one: ties between neighbours fall where f32 says. Skipped where PyTorch or torchvision is not installed.

LTRC and LTR_SOURCE say which compiler and sources, if not those of this tree.
"""
import itertools
import pathlib
import sys

try:
    import numpy
    import torch
    from torchvision.transforms.v2 import InterpolationMode, RandAugment, TrivialAugmentWide
    from torchvision.transforms.v2.functional import adjust_hue, affine
except ImportError:
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "run/support"))
from harness import build, check, finish, run, scratch

PROGRAM = """ltr 1

import std.vision.{color_jitter, rand_augment, random_affine, trivial_augment}

fn picture() -> u8[3, 20, 24] = (arange(1440) * 37 % 251).to(u8).reshape(3, 20, 24)

data Drawn() {
  batch[B] { x: u8[B, 3, 20, 24] }
  fn one(s: {i: int}) -> {x: u8[3, 20, 24]} = (x = CALL)
  train   = range(2) |> shuffle(1) |> map(one) |> collate(2)
  predict = range(1200) |> map(one) |> collate(100)
}

model Show() {
  weight w: float[1] = ones(1)
  optimizer opt = SGD([w], lr = 0.1)
  step train[B](x: u8[B, 3, 20, 24]) { minimize mean(w) * mean(x.to(float)) }
  step predict[B](x: u8[B, 3, 20, 24]) -> u8[B, 3, 20, 24] = x
}

experiment show { data = Drawn(), model = Show(), trainer { epochs = 1 } }
"""
MIXED = """ltr 1

import std.vision.{mixup, cutmix}

data Mixed() {
  batch[B] { x: float[B, 1, 8, 8], y: float[B, 4] }
  fn one(s: {i: int}) -> {x: float[1, 8, 8], y: i64} = (x = full(1, 8, 8, 1.0 * (s.i % 4)), y = s.i % 4)
  fn mixed[B](b: {x: float[B, 1, 8, 8], y: i64[B]}) -> {x: float[B, 1, 8, 8], y: float[B, 4]} {
    x, y = CALL(b.x, b.y, 4, alpha = 0.7)
    return (x = x, y = y)
  }
  train   = range(4) |> shuffle(1) |> map(one) |> collate(4) |> map(mixed)
  predict = range(800) |> map(one) |> collate(4) |> map(mixed)
}

model Show() {
  weight w: float[1] = ones(1)
  optimizer opt = SGD([w], lr = 0.1)
  step train[B](x: float[B, 1, 8, 8], y: float[B, 4]) { minimize mean(w) * mean(x) }
  step predict[B](x: float[B, 1, 8, 8], y: float[B, 4]) -> {x: float[B, 64], y: float[B, 4]} = (x = x.reshape(B, 64), y = y)
}

experiment show { data = Mixed(), model = Show(), trainer { epochs = 1 } }
"""
PICTURE = ((torch.arange(1440) * 37) % 251).to(torch.uint8).reshape(3, 20, 24)


def twins(space, transform, bins):
    """Every image that an operation of `space` gives at the strengths `bins`, by the operation's name."""
    found = []
    for name, (strengths, is_signed) in space.items():
        all_strengths = strengths(31, 20, 24)
        chosen = [0.0] if all_strengths is None else [float(all_strengths[i]) for i in bins]
        for strength, sign in itertools.product(chosen, (1, -1) if is_signed else (1,)):
            image = transform._apply_image_or_video_transform(PICTURE, name, strength * sign, InterpolationMode.NEAREST, transform._fill)
            found.append((name, image.numpy().reshape(-1)))
    return found


def drawn(folder, name, call, text=PROGRAM):
    source = folder / f"{name}.ltr"
    source.write_text(text.replace("CALL", call))
    program = build(source, folder)
    result = run(program, "predict", "--weights", "new", "--write", folder / f"{name}.npy", cwd=folder)
    if result.returncode != 0:
        sys.exit(result.text)
    return result


def compare(folder, name, call, transform, bins):
    drawn(folder, name, call)
    ours = numpy.load(folder / f"{name}.npy").reshape(1200, -1)
    wanted = twins(transform._AUGMENTATION_SPACE, transform, bins)
    names, strangers = set(), []
    table = numpy.stack([image for _, image in wanted]).astype(int)
    for image in ours:
        differing = (numpy.abs(table - image) > 1).mean(axis=1)
        best = int(differing.argmin())
        if differing[best] > 0.02:
            strangers.append((wanted[best][0], float(differing[best])))
        names |= {wanted[i][0] for i in numpy.flatnonzero(differing == differing[best])}
    check(f"{name}: every image is one of torchvision's", not strangers, strangers)
    check(f"{name}: every operation comes", names == set(transform._AUGMENTATION_SPACE), sorted(set(transform._AUGMENTATION_SPACE) - names))
    check(f"{name}: another one for each record", len({image.tobytes() for image in ours}) > 12)


def drawn_numbers(folder, name, call, make, most):
    """Every image is one that torchvision makes of some number in [-most, most], found on a fine grid, and those drawn fill it."""
    drawn(folder, name, call)
    ours = numpy.load(folder / f"{name}.npy").reshape(1200, -1)[:200].astype(int)
    grid = numpy.linspace(-most, most, 1001)
    table = numpy.stack([make(float(number)).numpy().reshape(-1) for number in grid]).astype(int)
    best = [numpy.abs(table - image).mean(axis=1) for image in ours]
    far = [float(one.min()) for one in best if one.min() > 0.6]
    check(f"{name}: every image is one of torchvision's", not far, far[:5])
    found = grid[[int(one.argmin()) for one in best]]
    check(f"{name}: drawn evenly", abs(found.mean()) < 0.15 * most and abs(found.std() - most / 3 ** 0.5) < 0.1 * most, (found.mean(), found.std()))


def mixtures(folder, name):
    drawn(folder, name, name, MIXED)
    rows = {field: numpy.load(folder / f"{name}.{field}.npy") for field in ("x", "y")}
    values, shares = rows["x"].reshape(200, 4, 64), rows["y"].reshape(200, 4, 4)
    check(f"{name}: shares make a whole", numpy.allclose(shares.sum(-1), 1, atol=1e-6))
    expected = (shares * numpy.arange(4)).sum(-1)
    check(f"{name}: an image is the mixture that its label says", numpy.allclose(values.mean(-1), expected, atol=1e-5))
    own = shares[:, numpy.arange(4), numpy.arange(4)]
    neighbour = shares[:, numpy.arange(4), numpy.arange(4) - 1]
    check(f"{name}: one share for the batch, with the neighbour's label", numpy.allclose(own, own[:, :1], atol=1e-6)
          and numpy.allclose(own + neighbour, 1, atol=1e-6))
    check(f"{name}: shares of Beta(0.7, 0.7)" if name == "mixup" else f"{name}: shares differ",
          abs(own[:, 0].mean() - 0.5) < 0.08 and abs(own[:, 0].std() - 0.3227) < 0.05 if name == "mixup" else own[:, 0].std() > 0.1,
          (own[:, 0].mean(), own[:, 0].std()))
    distinct = [len(numpy.unique(image.round(5))) for batch in values for image in batch]
    check(f"{name}: " + ("one value each" if name == "mixup" else "two values at most"), max(distinct) <= (1 if name == "mixup" else 2), max(distinct))


with scratch() as place:
    folder = pathlib.Path(place)
    compare(folder, "rand_augment", "rand_augment(picture(), ops = 1, magnitude = 9)", RandAugment(num_ops=1, magnitude=9), [9])
    compare(folder, "trivial_augment", "trivial_augment(picture())", TrivialAugmentWide(), range(31))
    drawn_numbers(folder, "hue", "color_jitter(picture(), hue = 0.4)", lambda turn: adjust_hue(PICTURE, turn), 0.4)
    drawn_numbers(folder, "shear", "(random_affine(picture().to(float), 0.0, shear = 20.0) + 0.5).to(u8)",
                  lambda lean: (affine(PICTURE.float(), 0.0, [0, 0], 1.0, [lean, 0.0], InterpolationMode.BILINEAR) + 0.5).to(torch.uint8), 20.0)
    for name in ("mixup", "cutmix"):
        mixtures(folder, name)
finish()
