#!/usr/bin/env python3
"""`--backend native` runs planned steps: it learns what `--backend torch` learns, goes on where the other stopped, and says at
which line a step has no plan."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from curves import farthest, rows
from harness import EXAMPLES, LTRC, SOURCE, build, check, finish, fit, newest, result_of, run, scratch
from programs import ROWS

# Relative, of each value of a short run in f32: sums may have another order.
TOLERANCE = 1e-4
# Of 100 steps in bf16, where the other back end keeps each result of a product in bf16 and a plan keeps it in f32: the first loss, and the mean
# of those of training. A loss of one late batch is no measure: both back ends are there as far from f32 as from each other.
BF16_TOLERANCE, BF16_MEAN_TOLERANCE = 1e-3, 2e-2
# What grows from a last bit shows in a hundred steps, and few samples make as many of them as many do.
HUNDRED = ("--steps", 100, "--limit-val", 1, "--set", "trainer.log_every=1")
EXAMPLE_RUNS = {
    "iris": (), "mnist": ("--size", 16), "forecast": (),
    "char_gpt": ("--size", 4, "--D", 32, "--layers", 2, "--heads", 2, "--T", 32, "--dropout", 0.2)}
# Adadelta's first steps divide by what a gradient was squared, and two networks that play against each other answer one another's last bits:
# each step multiplies a difference. Of these a hundred steps are compared in f64, where a plan has the same graph and the same gradients
# with LibTorch's sums. In f32 so many steps are within TOLERANCE, and none is farther than LARGEST.
CHAOTIC_RUNS = {"keras_cnn": (("--size", 8), 10), "gan": (("--set", "data.size=16"), 10)}
LARGEST = 0.5
BF16_LIMITS = ("--precision", "bf16", *HUNDRED)

PROGRAM = """ltr 1
data Points() {
  batch[B] { x: float[B, 4], y: i64[B] }
  fn point(s: {i: int}) -> {x: float[4], y: i64} = (x = stack([sin(0.3 * s.i), cos(0.7 * s.i), sin(1.1 * s.i), 0.5]), y = s.i % 3)
  train = synthetic(200, point) |> shuffle(1) |> collate(8)
  val = synthetic(30, point) |> collate(8)
}
block Body() {
  fc1 = Linear(4, 16)
  norm = BatchNorm1d(16)
  drop = Dropout(0.3)
  fc2 = Linear(16, 3)
  buffer seen: float[] = zeros()
  fn forward[B](x: float[B, 4]) -> float[B, 3] {
    seen = seen + 1
    return x |> fc1 |> norm |> relu |> drop |> fc2
  }
}
"""
MODEL = """
model Net() {
  net = Body()
  accuracy = Accuracy(3)
  optimizer opt = Adam(net.weights, lr = 1e-3) { clip_norm = 0.5 }
  step train[B](x: float[B, 4], y: i64[B]) {
    logits = net(x)
    loss = cross_entropy(logits, y) * (1 + 0.1 * epoch)
    minimize loss
    log loss
    log acc = accuracy(logits, y) on epoch
    log mask = sum(where(dropout(ones(32, 16), 0.3) > 0, arange(512).to(float).reshape(32, 16), 0.0))
    every 4 steps { log often = mean(logits) }
  }
  step val[B](x: float[B, 4], y: i64[B]) {
    log loss = cross_entropy(net(x), y)
  }
}
experiment net { data = Points()
  model = Net()
  trainer { epochs = 4, seed = 3, log_every = 1 }
  callbacks { Checkpoint(every = 1 epochs), Ema(decay = 0.9) }
  loggers { Csv() } }
"""
MANUAL = """
model Net() {
  net = Body()
  optimizer opt = SGD(net.weights, lr = 0.05)
  step train[B](x: float[B, 4], y: i64[B]) manual {
    log loss = cross_entropy(net(x), y)
    for i in 0 .. 3 {
      opt.zero_grad()
      again = cross_entropy(net(x), y)
      backward again
      opt.clip_norm(0.5)
      opt.step()
    }
    log behind = cross_entropy(net(x), y)
  }
}
experiment net { data = Points()
  model = Net()
  trainer { epochs = 3, seed = 3, log_every = 1 }
  loggers { Csv() } }
"""
# Most rows of the table are never read: their gradients are not made.
TABLE = """ltr 1
data Rows() {
  batch[B] { ids: i64[B, 5], y: i64[B] }
  fn row(s: {i: int}) -> {ids: i64[5], y: i64} = (ids = (arange(5) * s.i * 7) % 900, y = arange(3)[s.i % 3])
  train = range(120) |> map(row) |> shuffle(1) |> collate(8)
}
model Net() {
  table = Embedding(1000, 4)
  head = Linear(20, 3)
  optimizer opt = SGD([table.weights, head.weights], lr = 0.3) { clip_norm = 0.5 }
  step train[B](ids: i64[B, 5], y: i64[B]) {
    minimize cross_entropy(head(table(ids).flatten(1)), y)
    log all = norm(table.weight)
  }
}
experiment table { data = Rows()
  model = Net()
  trainer { epochs = 2, seed = 3, log_every = 1 }
  loggers { Csv() } }
"""
# Losses and functions that no example has, a mask that is trained, and a soft-max over as many numbers as there are samples.
OPS = """ltr 1
data Points() {
  batch[B] { x: float[B, 6, 8], y: i64[B], words: i64[B, 2] }
  fn point(s: {i: int}) -> {x: float[6, 8], y: i64, words: i64[2]} =
    (x = sin(arange(48).to(float) * 0.3 * s.i).reshape(6, 8), y = s.i % 3, words = arange(2) + s.i % 2 + 1)
  train = synthetic(96, point) |> shuffle(1) |> collate(8)
}
model Net() {
  rnn = RNN(8, 8)
  head = Linear(8, 5)
  pair = Bilinear(8, 8, 3)
  weight mix: float[8] = ones(8)
  weight bias: float[6, 6] = zeros(6, 6)
  optimizer opt = Adam([rnn.weights, head.weights, pair.weights, mix, bias], lr = 1e-2)
  step train[B](x: float[B, 6, 8], y: i64[B], words: i64[B, 2]) {
    seen, rest = rnn(x * softmax(mix, 0))
    heads = seen.unsqueeze(1)
    mixed = attention(heads, heads, heads, mask = bias).squeeze(1)
    first = seen[:, 0]
    last = seen[:, 5]
    scores = pair(last, first)
    probs = softmax(scores, 1)
    hot = one_hot(y, 3).to(float)
    signs = where(y == 0, 1.0, -1.0)
    classes = focal(scores, y) + dice(probs, hot) + soft_cross_entropy(scores, hot, label_smoothing = 0.1)
    pairs = contrastive(last, first) + cosine_embedding(last, first, signs) + triplet_margin(last, first, seen[:, 3]) + hinge(rest[0, :, 0], signs)
    text = ctc(log_softmax(head(seen), 2).transpose(0, 1), words, full([B], 6).to(i64), full([B], 2).to(i64))
    sums = mean(einsum("bti,bsi->bts", seen, mixed)) + mean(square(seen[:, stack([0, 5, 0])]))
    products = mean(prod(probs, 1)) + mean(cumprod(probs, 1)) + mean(logcumsumexp(scores, 1))
    loss = classes + pairs + text + sums + products
    minimize loss
    log loss
    log classes
    log pairs
    log text
    log sums
    log products
  }
}
experiment ops { data = Points()
  model = Net()
  trainer { epochs = 2, seed = 3, log_every = 1 }
  loggers { Csv() } }
"""
# Linear algebra, Fourier transforms and images at places of their own, which are LibTorch's inside a plan; rows of their own lengths in training,
# and losses that are weighed one by one.
MATRICES = """ltr 1
data Points() {
  batch[B] { x: float[B, 6, 8], n: i64[B], y: float[B, 6] }
  fn point(s: {i: int}) -> {x: float[6, 8], n: i64, y: float[6]} =
    (x = sin(arange(48).to(float) * 0.3 * s.i).reshape(6, 8), n = s.i % 6 + 1, y = (arange(6) % 2).to(float))
  train = synthetic(96, point) |> shuffle(1) |> collate(8)
  val = synthetic(16, point) |> collate(8)
}
model Net() {
  reader = LSTM(8, 4, directions = 2)
  head = Linear(8, 6)
  optimizer opt = Adam([reader.weights, head.weights], lr = 1e-2)
  step train[B](x: float[B, 6, 8], n: i64[B], y: float[B, 6]) {
    seen, state = reader(x, lengths = n)
    h, c = state
    each = bce_with_logits(head(seen.sum(1)), y, pos_weight = (arange(6) + 1).to(float), reduction = none)
    places = where(length_mask(n, 6).unsqueeze(2), square(seen), 0.0)
    loss = mean(each * (1 + y)) + mean(square(c)) + mean(h) + mean(places)
    minimize loss
    log loss
  }
  step val[B](x: float[B, 6, 8], n: i64[B], y: float[B, 6]) {
    a = x @ x.transpose(1, 2) + eye(6) * 3.0
    q, r = qr(x)
    u, s, v = svd(x)
    values, vectors = eigh(a)
    sign, size = slogdet(a)
    l = cholesky(a)
    theta = stack([1.0, 0.1, 0.2, -0.1, 0.9, 0.0]).reshape(1, 2, 3).expand(B, 2, 3)
    log solved = mean(square(solve(a, x))) + mean(square(inv(a))) + mean(square(pinv(x))) + mean(square(solve_triangular(l, x))) + mean(lstsq(a, x))
    log factors = mean(square(q) @ square(r)) + mean(square(u) @ square(v)) + mean(s) + mean(svdvals(x)) + mean(square(vectors)) + mean(eigvalsh(a)) + mean(values)
    log sizes = mean(size * sign) + mean(log(det(a))) + mean(matrix_norm(x, nuc)) + mean(matrix_exp(a / 100.0))
    waves = rfft(x)
    log spectrum = mean(norm(waves, dim = -1)) + mean(irfft(waves, 8)) + mean(square(ifft(fft(waves)))) + mean(square(ifft2(fft2(waves)))) + mean(square(stft(x[:, 0], 4, 2)))
    log warped = mean(square(grid_sample(x.unsqueeze(1), affine_grid(theta, 3, 4)))) + mean(bucketize(x, linspace(-1.0, 1.0, 5)).to(float))
  }
}
experiment matrices { data = Points()
  model = Net()
  trainer { epochs = 2, seed = 3, log_every = 1 }
  loggers { Csv() } }
"""
# What stands at the end of which step, and what is said of it.
REFUSED = {
    "item": ("val", "if mean(x).item() > 0 { log positive = mean(x) }", "it reads a tensor's value on the host"),
    "print": ("train", 'print "{loss}"', "it reads a tensor's value on the host"),
    "count": ("train", "log scaled = loss * global_step", "it comes in more than 8 forms"),
    "rate": ("train", "log now = opt.lr", "it reads a learning rate"),
    "rule": ("train", "minimize mean(net(x)[y > 0])", "the gradient of `index_tensor` has no plan"),
    "matrix": ("train", "minimize mean(svdvals(net(x)))", "the gradient of `svdvals` has no plan"),
}

# Of these a run that was stopped goes on: one is known before the run, one shows late, one has no gradient. The others go the same ways.
RESUMED = ("item", "count", "rule")

UNPLANNED = re.findall(r'^LTR_UNPLANNED\(\w+, "(.*)"\)$', (SOURCE / "runtime/tables/unplanned.def").read_text(), re.M)
KERNELS = """#include "ltr/extern.h"
ltr::Tensor twice(const ltr::Tensor& x) {
  ltr::Tensor y = ltr::empty_like(x);
  for (int64_t i = 0; i < ltr::numel(x); ++i) ltr::data<float>(y)[i] = 2 * ltr::data<float>(x)[i];
  return y;
}
ltr::Tensor cube(const ltr::Tensor& x) { return x * x * x; }
ltr::Tensor cube_grad(const ltr::Tensor& x, const ltr::Tensor& output, const ltr::Tensor& gradient) { return gradient * x * x * 3; }
"""
EXTERNS = """extern "kernels.cpp" {
  fn twice[B](x: float[B]) -> float[B]
  fn cube[B](x: float[B]) -> float[B] backward cube_grad
}
"""
# What `ltrc check -v` says of a step, as a run does: what stands in front of the model, which one, which step, the statement, the reason.
KNOWN = {
    "inner": ("", MODEL, "train", "log slope = mean(grad(mean(net(x)), x))", "takes a gradient inside of it"),
    "gradients": ("", MANUAL.replace("log loss = cross_entropy(net(x), y)\n", "loss = cross_entropy(net(x), y)\n    backward loss\n    log loss\n"), "train",
                  "log size = norm(opt.grads)", "reads gradients"),
    "elements": (EXTERNS, MODEL, "train", "log more = mean(twice(x.mean(1)))", "calls a C++ function that works on elements"),
    "own": (EXTERNS, MODEL, "train", "log more = mean(cube(x.mean(1)))", "calls a C++ function that has a gradient of its own"),
    "called": ("fn scaled(x: float[]) -> float[] {\n  factor = x.item()\n  return x * factor\n}\n", MODEL, "val",
               "log more = scaled(mean(x))", "reads a tensor's value on the host"),
}

# Of a sum of two weights both have one gradient: what clips it, or sums it, does so once for each.
SUMS = """ltr 1
data Pairs() {
  batch[B] { ids: i64[B, 3], y: float[B, 4] }
  fn pair(s: {i: int}) -> {ids: i64[3], y: float[4]} = (ids = (arange(3) + s.i) % 6, y = 5 * sin(arange(4).to(float) + s.i))
  train = synthetic(60, pair) |> shuffle(1) |> collate(5)
}
model Sums() {
  weight a: float[4] = [0.5, -1.0, 2.0, 0.1]
  weight b: float[4] = [1.5, 1.0, -2.0, 0.7]
  weight c: float[2, 2] = zeros(2, 2)
  table = Embedding(6, 4)
  other = Embedding(6, 4)
  optimizer opt = SGD([a, b, c, table.weights, other.weights], lr = 0.1, momentum = 0.9) { clip_norm = 0.5 }
  step train[B](ids: i64[B, 3], y: float[B, 4]) {
    seen = (table(ids) + other(ids)).mean(1)
    loss = mse(seen * (a + b + c.reshape(4)), y) + 0.01 * (norm(table.weights) ** 2 + norm(other.weights) ** 2)
    minimize loss
    log loss
    log size = norm(table.weights) + norm(a)
    log of_a = sum(a * a)
    log of_b = sum(b * b)
    log of_c = sum(c * c)
  }
}
experiment sums { data = Pairs(), model = Sums(), trainer { epochs = 9, log_every = 1 }, loggers { Csv() } }
"""


# What a step makes of weights past its operations is no constant, not even in its first batch.
COPIES = SUMS.replace("log size =", "log size = norm(clone(other.weights)) +")


def copies(folder):
    source = folder / "copies.ltr"
    source.write_text(COPIES)
    program = build(source, folder)
    found = []
    for backend in ("auto", "torch"):
        result = fit(program, folder / f"copies-{backend}", "--backend", backend, "--epochs", 1)
        found.append(rows(folder / f"copies-{backend}"))
        told = "step train runs op by op: it reads a tensor, f32[6, 4], that no op of the step made" in result.text
        check(f"copies: {backend} runs", result.returncode == 0 and told == (backend == "auto"), result.text)
    check("copies: the first step is right, too", found[0] == found[1], found)


def both(title, program, folder, *options):
    """The rows of both back ends, or nothing if one of them did not run."""
    found = []
    for backend in ("native", "torch"):
        out = folder / f"{title}-{backend}"
        result = run(program, "fit", "--no-bar", "--threads", 1, "--out", out, "--backend", backend, *options, cwd=EXAMPLES)
        if not check(f"{title}: {backend} runs", result.returncode == 0, result.text):
            return None
        found.append(rows(out))
    return found


def losses_of(found):
    """Which class is the likeliest one may hang on a last bit: losses alone."""
    return [[{name: row[name] for name in row if "loss" in name} for row in one] for one in found]


def steps_of(found):
    """Rows of training, of which each is a step."""
    return sum(any(name.startswith("train/") for name in row) for row in found[1])


def compare(title, program, folder, *options, losses_only=False, least=1):
    """Both back ends on the same program; values of at least so many steps are equal within TOLERANCE. Returns the rows."""
    found = both(title, program, folder, *options)
    if found is None:
        return None
    steps = steps_of(found)
    worst = farthest(*(losses_of(found) if losses_only else found))
    check(f"{title}: {steps} steps are equal within {TOLERANCE}", steps >= least and worst <= TOLERANCE, (steps, worst))
    return found


def compare_chaotic(title, program, folder, options, near):
    """Of steps that multiply differences."""
    compare(f"{title} in f64", program, folder, "--precision", "f64", *HUNDRED, *options, losses_only=True, least=100)
    found = both(title, program, folder, *HUNDRED, *options)
    if found is None:
        return
    ours, theirs = losses_of(found)
    worst = farthest(ours[:near], theirs[:near])
    check(f"{title}: {near} steps are equal within {TOLERANCE}", worst <= TOLERANCE, worst)
    worst = farthest(ours, theirs)
    check(f"{title}: {steps_of(found)} steps are equal within {LARGEST}", steps_of(found) >= 100 and worst <= LARGEST, worst)


def compare_narrow(title, program, folder, *options):
    """Both back ends in bf16."""
    found = both(title, program, folder, *BF16_LIMITS, *options)
    if found is None:
        return
    for name in {name for row in found[1] for name in row if name.startswith("train/") and name.endswith("loss")}:
        ours, theirs = ([row[name] for row in one if name in row] for one in found)
        check(f"{title}: {name} begins equal within {BF16_TOLERANCE}", abs(ours[0] / theirs[0] - 1) <= BF16_TOLERANCE, (ours[0], theirs[0]))
        means = [sum(losses) / len(losses) for losses in (ours, theirs)]
        check(f"{title}: its means are equal within {BF16_MEAN_TOLERANCE}", abs(means[0] / means[1] - 1) <= BF16_MEAN_TOLERANCE, means)


def masks(found):
    """Sums of the places that a mask of 512 keeps: whole numbers, the same only for the same masks, whoever sums them."""
    ours, theirs = ([row["train/mask"] for row in one if "train/mask" in row] for one in found)
    check(f"net: {len(theirs)} masks of dropout are equal", len(theirs) >= 100 and len(set(theirs)) > 90 and ours == theirs, (ours[:3], theirs[:3]))


def goes_on(program, folder):
    """A run that one back end stopped ends with the other as if it had been alone."""
    whole = folder / "whole"
    fit(program, whole, "--backend", "torch")
    for first, second in (("native", "torch"), ("torch", "native")):
        out = folder / f"{first}-{second}"
        begun = fit(program, out, "--backend", first, "--epochs", 2)
        result = fit(program, out, "--backend", second, "--resume", newest(out))
        check(f"{second} goes on where {first} stopped", begun.returncode == result.returncode == 0, result.text)
        worst = farthest(rows(out), rows(whole))
        check(f"and logs what one run logs, {first} then {second}", worst <= TOLERANCE, worst)


# The last lines of steps.
ENDS = {"train": "    log loss\n", "val": "    log loss = cross_entropy(net(x), y)\n"}


def refusals(folder):
    for name, (step, statement, reason) in REFUSED.items():
        text = PROGRAM + MODEL.replace(ENDS[step], f"{ENDS[step]}    {statement}\n")
        source = folder / f"{name}.ltr"
        source.write_text(text)
        line = text[:text.index(statement)].count("\n") + 1
        program = build(source, folder)
        listed = run(LTRC, "check", "-v", source)
        is_known = reason in {"it " + known for known in UNPLANNED}
        said = f"{source}:{line}:" if is_known else "planned "
        check(f"{name}: check -v", any(said in one and f" step {step} " in one and (not is_known or reason[3:] in one)
                                       for one in listed.text.splitlines()), listed.text)
        result = fit(program, folder / f"{name}-native", "--backend", "native")
        place = f"{name}.ltr:{line}" if name != "count" else f"{name}.ltr"
        check(f"{name}: R2015 at its line", result.returncode == 2 and f"error[R2015]: step {step} has no plan" in result.text and
              reason in result.text and place in result.text, result.text)
        result = fit(program, folder / f"{name}-torch", "--backend", "torch")
        check(f"{name}: torch runs it", result.returncode == 0, result.text)
        whole, out = folder / f"{name}-whole", folder / f"{name}-stopped"
        result = fit(program, whole, "--backend", "auto")
        said = [line for line in result.text.splitlines() if f"step {step} runs op by op: it " in line]
        check(f"{name}: auto runs it, and says so once", result.returncode == 0 and len(said) == 1 and reason in said[0] and place in said[0],
              result.text)
        if name not in RESUMED:
            continue
        fit(program, out, "--backend", "auto", "--epochs", 1)
        result = fit(program, out, "--backend", "auto", "--resume", newest(out))
        check(f"{name}: stopped and gone on with it is the same bits", result.returncode == 0 and
              result_of(newest(out)) == result_of(newest(whole)), result.text)


def known_before(folder):
    """What the table lists `check -v` says before a run does, with the same line."""
    (folder / "kernels.cpp").write_text(KERNELS)
    for name, (front, model, step, statement, reason) in KNOWN.items():
        check(f"{name}: stands in the table", reason in UNPLANNED)
        text = PROGRAM + front + model.replace(ENDS[step], f"{ENDS[step]}    {statement}\n", 1)
        source = folder / f"{name}.ltr"
        source.write_text(text)
        listed = run(LTRC, "check", "-v", source)
        said = [line for line in listed.text.splitlines() if "op by op" in line and f"step {step} " in line and reason in line]
        check(f"{name}: check -v", len(said) == 1, listed.text)
        program = build(source, folder)
        line = said[0].split(":")[1] if said else "-"
        result = run(program, "describe")
        check(f"{name}: describe", f"\nplanned, but step {step} op by op where it {reason} ({source}:{line})\n" in result.text, result.text)
        result = fit(program, folder / f"{name}-native", "--backend", "native")
        check(f"{name}: R2015, too", result.returncode == 2 and f"it {reason}" in result.text and f"{name}.ltr:{line}" in result.text, result.text)


def main():
    with scratch() as path:
        folder = pathlib.Path(path)
        for name, options in EXAMPLE_RUNS.items():
            program = build(EXAMPLES / f"{name}.ltr", folder)
            compare(name, program, folder, *HUNDRED, *options, losses_only=True, least=100)
            compare_narrow(f"{name} in bf16", program, folder, *options)
        for name, (options, near) in CHAOTIC_RUNS.items():
            program = build(EXAMPLES / f"{name}.ltr", folder)
            compare_chaotic(name, program, folder, options, near)
            compare_narrow(f"{name} in bf16", program, folder, *options)
        source = folder / "net.ltr"
        source.write_text(PROGRAM + MODEL)
        program = build(source, folder)
        found = compare("net", program, folder, least=100)
        if found is not None:
            masks(found)
        compare("net in f64", program, folder, "--precision", "f64")
        compare("net with windows of two batches", program, folder, "--set", "trainer.accumulate=2")
        goes_on(program, folder)
        source = folder / "rows.ltr"
        source.write_text(ROWS)
        compare("rows", build(source, folder), folder, "--epochs", 100, "--steps", 100, least=100)
        source = folder / "table.ltr"
        source.write_text(TABLE)
        program = build(source, folder)
        compare("table", program, folder, "--epochs", 7, least=100)
        compare("table with windows of two batches", program, folder, "--set", "trainer.accumulate=2")
        compare("table with norms", program, folder, "--set", "trainer.check_grads=true")
        source = folder / "sums.ltr"
        source.write_text(SUMS)
        program = build(source, folder)
        compare("sums", program, folder, least=100)
        compare("sums with windows of three batches", program, folder, "--set", "trainer.accumulate=3")
        copies(folder)
        source = folder / "ops.ltr"
        source.write_text(OPS)
        program = build(source, folder)
        compare("ops", program, folder, "--epochs", 9, least=100)
        result = run(program, "describe", "--plan")
        check("ops: all of it has kernels", "step train, batches of 8: " in result.text and "  LibTorch " not in result.text, result.text)
        source = folder / "matrices.ltr"
        source.write_text(MATRICES)
        matrices = build(source, folder)
        compare("matrices", matrices, folder, "--epochs", 9, least=100)
        for precision in ("f64", "bf16", "bf16_pure"):
            result = fit(matrices, folder / f"matrices-{precision}", "--precision", precision)
            check(f"matrices: runs in {precision}", result.returncode == 0, result.text)
        result = fit(program, folder / "bf16_pure", "--backend", "native", "--precision", "bf16_pure")
        check("bf16_pure has no plan", result.returncode == 2 and "R2015" in result.text, result.text)
        result = fit(program, folder / "other", "--backend", "xla")
        check("another back end is R2003", result.returncode == 2 and "auto, native or torch" in result.text, result.text)
        manual = folder / "manual.ltr"
        manual.write_text(PROGRAM + MANUAL)
        compare("manual", build(manual, folder), folder, "--epochs", 4, least=100)
        refusals(folder)
        known_before(folder)
    finish()


main()
