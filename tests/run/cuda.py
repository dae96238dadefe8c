#!/usr/bin/env python3
"""What can be said of GPUs without one: the plug-in loads, devices that are not there are one clear error, and kernels of a
program are compiled by nvcc, where it is.

Python's standard library alone; LTRC and LTR_SOURCE say which compiler and sources, if not these.
"""
import os
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from harness import EXAMPLES, LTRC, build, check, finish, run, scratch

PLUGIN = LTRC.parent.parent / "lib/ltr/libltr_runtime_cuda.so"
NVCC = os.environ.get("CUDACXX") or shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
GPU = pathlib.Path("/dev/nvidiactl").exists()

TOPOLOGIES = """
topology box   { devices = cuda[8], precision = bf16 }
topology small { devices = cpu }
"""

KERNELS = """ltr 1

extern "kernels.cu" {
  fn doubled[N](x: float[N]) -> float[N]
}

test "twice as much" {
  assert equal(doubled(ones(3)), full(3, 2.0))
}
"""

ON_GPU = """#include "kernels.ltr.h"

#include <cuda_runtime.h>

__global__ void twice(const float* from, float* to, int64_t count) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) to[i] = 2 * from[i];
}

ltr::Tensor doubled(const ltr::Tensor& given) {
  const ltr::Tensor x = ltr::contiguous(given), y = ltr::empty_like(x);
  const int64_t count = ltr::numel(x);
  twice<<<int((count + 255) / 256), 256, 0, static_cast<cudaStream_t>(ltr::stream())>>>(
      ltr::data<float>(x), ltr::data<float>(y), count);
  return y;
}
"""

ON_CPU = """#include "kernels.ltr.h"

#include <stdexcept>

ltr::Tensor doubled(const ltr::Tensor& x) {
  if (ltr::stream() != nullptr) throw std::runtime_error("the CPU has no queue");
  return x * 2;
}
"""


def version(program):
    result = run(program, "version")
    line = next((line for line in result.stdout.splitlines() if line.startswith("CUDA")), "")
    wanted = "sm_90" if PLUGIN.exists() else "none: this runtime was built for the CPU"
    check(f"version says what of CUDA there is: {line}", result.returncode == 0 and wanted in line, result.text)
    if PLUGIN.exists() and not GPU:
        check("and why there is no device", "no device: " in line, line)


def refused(program):
    result = run(program, "describe", "--devices", "cuda")
    check("a GPU that is not there is one R2008",
          result.returncode == 2 and result.text.count("error[") == 1 and "error[R2008]" in result.text, result.text)
    check("that says what would do", "use --devices cpu, or --topology laptop, --topology small" in result.text, result.text)
    result = run(program, "describe", "--topology", "box")
    check("so is a topology of eight of them", result.returncode == 2 and result.text.count("error[") == 1 and
          "asks for cuda[8]" in result.text, result.text)
    for precision in ("f16", "tf32"):
        result = run(program, "describe", "--set", f"topology.precision={precision}")
        check(f"{precision} is refused on the CPU", result.returncode == 2 and f"precision {precision} needs a GPU" in result.text,
              result.text)
    result = run(program, "describe")
    check("auto is the CPU here", result.returncode == 0 and "· cpu, f32 ·" in result.text, result.text)


def settings(program):
    result = run(program, "describe", "--set", "trainer.benchmark=true")
    check("algorithms chosen by timing are not deterministic", result.returncode == 2 and "error[R2006]" in result.text, result.text)
    result = run(program, "describe", "--set", "trainer.benchmark=true", "--set", "trainer.deterministic=false")
    check("unless nobody asks for that", result.returncode == 0, result.text)
    result = run(program, "describe", "--set", "trainer.host_ahead=1000")
    check("the host does not run any number of windows ahead", result.returncode == 2 and "error[R2004]" in result.text, result.text)


def kernels(folder):
    program = folder / "kernels.ltr"
    program.write_text(KERNELS)
    (folder / "kernels.cu").write_text(ON_GPU)
    os.environ["CUDACXX"] = str(folder / "no_nvcc")
    result = run(LTRC, "check", program)
    check("without nvcc and a form for the CPU: E0705", result.returncode == 1 and "error[E0705]" in result.text and
          "install the CUDA toolkit, set CUDACXX" in result.text, result.text)
    other = folder / "cuda-12/bin/nvcc"
    other.parent.mkdir(parents=True)
    other.touch()
    os.environ["CUDACXX"] = str(other)
    (folder / "kernels.cpp").write_text(ON_CPU)
    result = run(LTRC, "check", program)
    check("the toolkit of another CUDA: E0705, with a form for the CPU too", result.returncode == 1 and
          "error[E0705]" in result.text and "is not CUDA 13: it has no lib64/libcudart.so.13" in result.text, result.text)
    (folder / "kernels.cpp").unlink()
    del os.environ["CUDACXX"]
    if NVCC is None:
        print("skip  there is no nvcc: no kernel is compiled")
        return
    os.environ["CUDACXX"] = NVCC
    result = run(LTRC, "test", program)
    check("with nvcc, but called on the CPU, the form for it is missed when it is called",
          result.returncode == 1 and "E0705" in result.text and "no form for the CPU" in result.text, result.text)
    (folder / "kernels.cpp").write_text(ON_CPU)
    result = run(LTRC, "test", program)
    check("both forms are in one program, and the CPU's runs", result.returncode == 0 and "1 passed" in result.text, result.text)
    needs = run("readelf", "-d", build(program, folder)).stdout
    check("it shares LibTorch's CUDA runtime", "libcudart.so.13" in needs, needs)
    libraries = pathlib.Path(NVCC).resolve().parent.parent / "lib64"
    path = next((line for line in needs.splitlines() if "RUNPATH" in line or "RPATH" in line), "")
    check("and finds it without LD_LIBRARY_PATH", str(libraries) in path, needs)


with scratch() as place:
    folder = pathlib.Path(place)
    source = folder / "iris.ltr"
    source.write_text((EXAMPLES / "iris.ltr").read_text() + TOPOLOGIES)
    shutil.copytree(EXAMPLES / "data", folder / "data")
    program = build(source, folder)
    version(program)
    if not GPU:
        refused(program)
    settings(program)
    kernels(folder)
finish()
