#!/usr/bin/env python3
"""C++ functions of programs: called, checked, differentiated, rebuilt; GPT-2 with its rotary kernel takes three steps.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import pathlib
import random
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import EXAMPLES, LTRC, build, check, finish, fit, newest, run, scratch

# The rotation, written with the functions of the language: pairs (k, k + K / 2) turn by s * 10000^(-2k / K).
ROPE = """ltr 1

extern "{kernel}" {{
  fn rope[B, H, S, K](x: float[B, H, S, K]) -> float[B, H, S, K] where K % 2 == 0
}}

fn turned[B, H, S](x: float[B, H, S, 8]) -> float[B, H, S, 8] {{
  angle = arange(S).to(float).unsqueeze(1) * exp(arange(4).to(float) * (-9.210340371976184 / 4.0)).unsqueeze(0)
  c = cos(angle)
  s = sin(angle)
  a = x[:, :, :, 0 .. 4]
  b = x[:, :, :, 4 .. 8]
  return cat([a * c - b * s, a * s + b * c], dim = -1)
}}

test "it is the rotation" {{
  x = randn(2, 3, 7, 8)
  assert close(rope(x), turned(x), 1e-6)
}}

test "position 0 is not turned, and lengths are kept" {{
  x = randn(2, 3, 7, 8)
  y = rope(x)
  assert close(y[:, :, 0], x[:, :, 0], 1e-6)
  assert close(sum(y * y, dim = -1), sum(x * x, dim = -1), 1e-4)
}}

test "products hang on the distance alone" {{
  q = randn(8)
  k = randn(8)
  far = zeros(1, 1, 9, 8) + q
  near = zeros(1, 1, 9, 8) + k
  a = rope(far)[0, 0]
  b = rope(near)[0, 0]
  assert close(sum(a[5] * b[2]), sum(a[8] * b[5]), 1e-4)
}}

test "an odd size is refused" fails E0305 {{
  rope(randn(1, 1, 2, 7))
}}
"""

GRADIENT = """ltr 1

extern "cube.cpp" {
  fn cube[N](x: float[N]) -> float[N] backward cube_grad
  fn pair[N](x: float[N], y: float[N], n: int) -> (float[N], float[N]) backward pair_grad
  fn wrong[N](x: float[N]) -> float[N + 1]
  fn failing[N](x: float[N], how: int) -> float[N]
}

data Numbers() {
  batch[B] { i: i64[B] }
  train = range(4) |> shuffle(1) |> collate(4)
}

block Vector() {
  weight w: float[3] = full(3, 2.0)
  fn forward() -> float[3] = w
}

model Cube() {
  a = Vector()
  optimizer opt = SGD(a.weights, lr = 0.01)
  step train[B](i: i64[B]) {
    x, y = pair(a(), cube(a()), 3)
    loss = sum(x) + sum(y)
    minimize loss
    log loss
  }
}

experiment e { data = Numbers(), model = Cube(), trainer { epochs = 2, log_every = 1 }, loggers { Csv() } }

test "the result must be of the declared size" {
  assert sum(wrong(ones(3))) > 0.0
}

test "an exception" {
  assert sum(failing(ones(3), 0)) > 0.0
}

test "an error of the library" {
  assert sum(failing(ones(3), 1)) > 0.0
}
"""

CUBE = """#include "cube.ltr.h"

#include <stdexcept>

ltr::Tensor cube(const ltr::Tensor& given) {
  const ltr::Tensor x = ltr::contiguous(given), y = ltr::empty_like(x);
  const float* from = ltr::data<float>(x);
  float* to = ltr::data<float>(y);
  for (int64_t i = 0; i < ltr::numel(x); ++i) to[i] = from[i] * from[i] * from[i];
  return y;
}

ltr::Tensor cube_grad(const ltr::Tensor& x, const ltr::Tensor& output, const ltr::Tensor& gradient) {
  return gradient * x * x * 3;
}

std::tuple<ltr::Tensor, ltr::Tensor> pair(const ltr::Tensor& x, const ltr::Tensor& y, int64_t n) {
  return {x * n, x * y};
}

std::tuple<ltr::Tensor, ltr::Tensor> pair_grad(const ltr::Tensor& x, const ltr::Tensor& y, int64_t n, const ltr::Tensor&,
                                               const ltr::Tensor&, const ltr::Tensor& first, const ltr::Tensor& second) {
  return {first * n + second * y, second * x};
}

ltr::Tensor wrong(const ltr::Tensor& x) { return x; }

ltr::Tensor failing(const ltr::Tensor& x, int64_t how) {
  if (how == 0) throw std::runtime_error("the kernel gave up");
  return ltr::cat({x, ltr::zeros({2, 2})}, 0);
}
"""


# Headers of the system have functions of these names, with other parameters.
NAMED = """ltr 1

extern "named.cpp" {
  fn pause(seconds: float) -> float
  fn index(x: float[2]) -> float[2] backward link
}

test "named" { assert pause(1.0) == 2.0 and equal(index(ones(2)), 3 * ones(2)) }
"""
NAMED_CPP = """#include "named.ltr.h"

double pause(double seconds) { return 2 * seconds; }
ltr::Tensor index(const ltr::Tensor& x) { return x * 3; }
ltr::Tensor link(const ltr::Tensor&, const ltr::Tensor&, const ltr::Tensor& gradient) { return gradient * 3; }
"""


def named(folder):
    (folder / "named.ltr").write_text(NAMED)
    (folder / "named.cpp").write_text(NAMED_CPP)
    result = run(LTRC, "test", folder / "named.ltr")
    check("names that the system has too", result.returncode == 0, result.text)


def rope(folder):
    program = folder / "rope.ltr"
    program.write_text(ROPE.format(kernel=EXAMPLES / "kernels/rope.cpp"))
    result = run(LTRC, "test", program)
    check("rope: equal to the formula, and a rotation", result.returncode == 0 and "4 passed, 0 failed" in result.text,
          result.text)


def gradient(folder):
    (folder / "cube.ltr").write_text(GRADIENT)
    (folder / "cube.cpp").write_text(CUBE)
    program = build(folder / "cube.ltr", folder)
    fit(program, folder / "runs-cube")
    losses = [float(row.split(",")[2]) for row in (newest(folder / "runs-cube") / "metrics.csv").read_text().splitlines()[1:]]
    # loss = 3 (3 w + w^4), so w falls by 0.01 (3 + 4 w^3) each step.
    w, wanted = 2.0, []
    for _ in losses:
        wanted.append(3 * (3 * w + w ** 4))
        w -= 0.01 * (3 + 4 * w ** 3)
    check("backward: the losses of gradient descent by hand",
          len(losses) == 2 and all(abs(a - b) < 1e-3 * b for a, b in zip(losses, wanted)), f"{losses} {wanted}")
    result = run(program, "fit", "--no-bar", "--out", folder / "runs-native", "--backend", "native")
    check("a gradient of its own has no plan", result.returncode == 2 and "R2015" in result.text and "a gradient of its own" in result.text, result.text)
    result = run(LTRC, "test", folder / "cube.ltr")
    lines = GRADIENT.splitlines()
    for what, message, call in (("a wrong result", "gave f32[3], but float[N + 1] is declared", "assert sum(wrong("),
                                ("an exception", "R1012", "assert sum(failing(ones(3), 0"),
                                ("an error inside", "in the C++ function `failing`", "assert sum(failing(ones(3), 1")):
        line = next(i for i, text in enumerate(lines, 1) if text.strip().startswith(call))
        check(f"{what} is shown with its .ltr line", message in result.text and f"cube.ltr:{line}" in result.text, result.text)
    check("and no backtrace", "frame #" not in result.text and "terminate called" not in result.text, result.text)


def rebuilt(folder):
    source, kernel, header = folder / "change.ltr", folder / "change.cpp", folder / "factor.h"
    source.write_text('ltr 1\n\nextern "change.cpp" {\n  fn f[N](x: float[N]) -> float[N]\n}\n\n'
                      'test "doubles" {\n  assert equal(f(ones(2)), full(2, 2.0))\n}\n')
    text = '#include "change.ltr.h"\n\n#include "factor.h"\n\nltr::Tensor f(const ltr::Tensor& x) { return x * kFactor; }\n'
    kernel.write_text(text)
    header.write_text("constexpr int kFactor = 3;\n")
    result = run(LTRC, "test", source)
    check("a C++ function that is wrong", "0 passed, 1 failed" in result.text, result.text)
    header.write_text("constexpr int kFactor = 2;\n")
    result = run(LTRC, "test", source)
    check("is compiled again when its header changes", "1 passed, 0 failed" in result.text, result.text)
    kernel.write_text(text.replace("return", "int unused = 0; return"))
    result = run(LTRC, "build", source, "-o", folder / "change")
    check("warnings of the C++ compiler are shown", result.returncode == 0 and "unused variable" in result.text, result.text)
    kernel.write_text(text.replace("kFactor;", "kFaktor;"))
    result = run(LTRC, "build", source, "-o", folder / "change")
    check("what it refuses is E0708 with the C++ line",
          result.returncode == 1 and "E0708" in result.text and "change.cpp:5" in result.text and "kFaktor" in result.text,
          result.text)


def shard(path, count, header):
    random.seed(count)
    tokens = [random.randrange(50304) for _ in range(count)]
    lead = struct.pack("<256i", 20240520, 1, count, *[0] * 253) if header else b""
    path.write_bytes(lead + struct.pack(f"<{count}H", *tokens))


def gpt2(folder):
    result = run(LTRC, "test", EXAMPLES / "gpt2.ltr")
    check("ltrc test gpt2.ltr", result.returncode == 0 and "2 passed, 0 failed" in result.text, result.text)
    program = build(EXAMPLES / "gpt2.ltr", folder)
    data = folder / "work/data"
    data.mkdir(parents=True)
    shard(data / "fineweb_train_0001.bin", 2000, True)
    shard(data / "fineweb_train_0002.bin", 1000, False)
    shard(data / "fineweb_val_0001.bin", 500, True)
    small = ("--D", 32, "--layers", 2, "--heads", 4, "--T", 32, "--size", 4, "--tokens_per_step", 256)
    result = run(program, "fit", "gpt2_124m", "--topology", "one", "--devices", "cpu", "--no-bar", "--threads", 1,
                 "--out", folder / "runs-gpt2", "--steps", 3, "--limit-val", 1, *small, cwd=folder / "work")
    check("gpt2: three small steps with the kernel, on shards of tokens",
          result.returncode == 0 and "finished: 3 steps" in result.text and "train 90 samples" in result.text, result.text)


with scratch() as place:
    folder = pathlib.Path(place)
    named(folder)
    rope(folder)
    gradient(folder)
    rebuilt(folder)
    gpt2(folder)
finish()
