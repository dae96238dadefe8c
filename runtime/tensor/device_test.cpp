#include "runtime/tensor/device.h"

#include <doctest/doctest.h>

#include <c10/util/Exception.h>

#include "ltr/ops.h"
#include "runtime/tensor/determinism.h"
#include "runtime/tensor/draw.h"
#include "runtime/tensor/fake_accelerator.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/host_read.h"
#include "runtime/tensor/random.h"

namespace ltr {

namespace {

/// What becomes of an exception of LibTorch; `code` is the driver's.
template <class Thrown, class... Code>
Error translated(const Str& text, Code... code) {
  try {
    guarded([&] { throw Thrown({__func__, __FILE__, __LINE__}, code..., text); });
  } catch (const Error& error) {
    return error;
  }
  return Error("", "");
}

}  // namespace

TEST_CASE("without an accelerator all is the CPU, and its numbers are there") {
  CHECK(accelerator() == nullptr);
  CHECK(compute_device().is_cpu());
  CHECK(compute_device_name() == "cpu");
  CHECK(!comes_later(at::ones({})));
  const int64_t reads = host_reads();
  on_host(at::ones({2}));
  CHECK(host_reads() == reads);
}

TEST_CASE("on a device every number that the host takes is a read that counts") {
  const fake::OnFakeDevice there;
  CHECK(there.device.chosen == 0);
  CHECK(comes_later(at::ones({})));
  const int64_t reads = host_reads();
  DeviceValues values;
  for (int i = 0; i < 100; i++) values.keep(at::full({}, i));
  CHECK(host_reads() == reads);
  CHECK(values.read()[42] == 42);
  CHECK(host_reads() == reads + 1);
}

TEST_CASE("new tensors and draws go where the thread computes; the numbers are those of the CPU") {
  const auto drawn = [] {
    seed_random(random_key(7, "test", {1}));
    return aten(uniform({64}, -1, 1));
  };
  const at::Tensor here = drawn();
  const DeviceScope meta(c10::Device(c10::DeviceType::Meta));
  CHECK(In(zeros({2}))->device().is_meta());
  CHECK(drawn().device().is_meta());
  CHECK(aten(tensor_of(Floats{1, 2}, DType::F32)).device().is_meta());
  const DeviceScope back(c10::Device(c10::DeviceType::CPU));
  CHECK(at::equal(drawn(), here));
}

TEST_CASE("a device without room says what it has and what was asked for") {
  const Str text =
      "CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 8.00 GiB of which 100.00 MiB is "
      "free.";
  const fake::OnFakeDevice there;
  const Error error = translated<c10::OutOfMemoryError>(text);
  CHECK(error.code == "R1001");
  CHECK(error.message ==
        "out of memory: cpu Fake 1000 has 0.1 GiB left of 8.0, and a tensor of 1.50 GiB was asked for");
}

TEST_CASE("a device that failed is R1014 in the words of its driver, one without room R1001") {
  const Error error =
      translated<c10::AcceleratorError>("CUDA error: device-side assert triggered\nSearch for `cudaErrorAssert'", 710);
  CHECK(error.code == "R1014");
  CHECK(error.message == "cpu failed: device-side assert triggered");
  CHECK(error.help.find("--devices cpu") != Str::npos);
  CHECK(translated<c10::AcceleratorError>("CUDA error: out of memory", 2).code == "R1001");
  CHECK(translated<c10::Error>("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`").code ==
        "R1001");
}

TEST_CASE("an op without a deterministic kernel is R1008 that names it") {
  const Str text = "upsample_bilinear2d_backward_out_cuda does not have a deterministic implementation, but you set …";
  const Error error = translated<c10::Error>(text);
  CHECK(error.code == "R1008");
  CHECK(error.message == "upsample_bilinear2d_backward_out_cuda has no deterministic form");
  CHECK(error.help.find("trainer.deterministic=warn") != Str::npos);
  CHECK(without_deterministic_form("mat1 and mat2 shapes cannot be multiplied").empty());
}

}  // namespace ltr
