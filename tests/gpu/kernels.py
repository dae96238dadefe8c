#!/usr/bin/env python3
"""Kernels of a program's own on a GPU, in the queue of the step and with a gradient; a device that fails. Skipped where there is no
GPU; the kernels where there is no nvcc.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import csv
import os
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "run/support"))
from harness import LTRC, build, check, finish, fit, need_gpu, newest, result_of, run, scratch

need_gpu()

NVCC = os.environ.get("CUDACXX") or shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")

# The cube by a kernel and by the language; both train, and the losses are the same.
CUBES = """ltr 1
hparam own: bool = true
extern "cubes.cu" {
  fn cube[N, D](x: float[N, D]) -> float[N, D] backward cube_grad
}
data Points() {
  batch[B] { x: float[B, 64] }
  fn point(s: {i: int}) -> {x: float[64]} = (x = sin(arange(64).to(float) * (0.1 * s.i)))
  train = synthetic(256, point) |> collate(16)
}
model Net(own: bool) {
  net = Linear(64, 64)
  optimizer opt = SGD(net.weights, lr = 0.1)
  step train[B](x: float[B, 64]) {
    h = net(x)
    y = if own then cube(h) else h * h * h
    loss = (y - x).square().mean()
    minimize loss
    log loss
  }
}
experiment cubes { data = Points(), model = Net(own), trainer { epochs = 4, log_every = 1 }, loggers { Csv() } }

test "the cube of a sum that is still being computed" {
  x = randn(512, 512)
  h = matmul(x, x) / 100.0
  assert close(cube(h), h * h * h, 1e-4)
}
"""

KERNEL = """#include "cubes.ltr.h"

#include <cuda_runtime.h>

#include <stdexcept>

__global__ void cubes(const float* from, float* to, int64_t count) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) to[i] = from[i] * from[i] * from[i];
}

ltr::Tensor cube(const ltr::Tensor& given) {
  if (!ltr::is_cuda(given)) throw std::runtime_error("this is no tensor of the GPU");
  const ltr::Tensor x = ltr::contiguous(given), y = ltr::empty_like(x);
  const int64_t count = ltr::numel(x);
  cubes<<<int((count + 255) / 256), 256, 0, static_cast<cudaStream_t>(ltr::stream())>>>(ltr::data<float>(x), ltr::data<float>(y), count);
  return y;
}

ltr::Tensor cube_grad(const ltr::Tensor& x, const ltr::Tensor& output, const ltr::Tensor& gradient) {
  // A tensor that is made here lies where the gradients do.
  return gradient * x * x * (ltr::zeros({}) + 3);
}
"""

# A class that does not exist: of the loss, of an embedding, of a metric.
CLASSES = """ltr 1
data Points() {{
  batch[B] {{ x: float[B, 4], k: i64[B] }}
  fn point(s: {{i: int}}) -> {{x: float[4], k: i64}} = (x = full(4, 0.1 * s.i), k = full(1, if s.i == 21 then 7 else 1).sum().to(i64))
  train = synthetic(64, point) |> collate(4)
}}
model Net() {{
  net = Linear(4, 3)
  tok = Embedding(3, 4)
  accuracy = Accuracy(3)
  optimizer opt = Adam([net, tok].weights)
  step train[B](x: float[B, 4], k: i64[B]) {{
    {line}
    minimize loss
    log loss
  }}
}}
experiment classes {{ data = Points(), model = Net(), trainer {{ epochs = 1 }} }}
"""


def losses(runs):
    with open(newest(runs) / "metrics.csv") as file:
        return [float(row["train/loss"]) for row in csv.DictReader(file) if row["train/loss"]]


def kernels(folder):
    if NVCC is None:
        print("skip  there is no nvcc: no kernel is compiled")
        return
    os.environ["CUDACXX"] = NVCC
    (folder / "cubes.ltr").write_text(CUBES)
    (folder / "cubes.cu").write_text(KERNEL)
    result = run(LTRC, "test", folder / "cubes.ltr", "--devices", "cuda")
    check("a test runs the kernel, in the queue of what it reads", result.returncode == 0 and "1 passed" in result.text, result.text)
    program = build(folder / "cubes.ltr", folder)
    for name, options in (("own", ()), ("again", ()), ("plain", ("--own", "false"))):
        result = fit(program, folder / name, "--devices", "cuda", *options)
        check(f"fit {name}", result.returncode == 0, result.text)
    own, plain = losses(folder / "own"), losses(folder / "plain")
    gap = max(abs(one - other) / other for one, other in zip(own, plain, strict=True))
    check(f"the kernel and its gradient train as the language does, within {gap:.1e}", gap < 1e-5)
    check("equal runs give equal bytes", result_of(newest(folder / "own")) == result_of(newest(folder / "again")))


def failures(folder):
    lines = {"loss": "loss = cross_entropy(net(x), k)", "embedding": "loss = net(tok(k)).square().mean()"}
    for name, line in lines.items():
        (folder / f"{name}.ltr").write_text(CLASSES.format(line=line))
        program = build(folder / f"{name}.ltr", folder)
        result = fit(program, folder / f"{name}-runs", "--devices", "cuda", "--set", "trainer.log_every=1")
        check(f"{name}: a class that does not exist is one R1014, and no crash", result.returncode == 1
              and result.text.count("error[") == 1 and "error[R1014]" in result.text and "--devices cpu" in result.text, result.text)
        result = fit(program, folder / f"{name}-cpu", "--devices", "cpu")
        check(f"{name}: the CPU names it", result.returncode == 3 and "error[R3007]" in result.text and "record 21" in result.text, result.text)


with scratch() as place:
    folder = pathlib.Path(place)
    kernels(folder)
    failures(folder)
finish()
