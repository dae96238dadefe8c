#include "runtime/cli/device_choice.h"

#include <doctest/doctest.h>

#include "runtime/tensor/fake_accelerator.h"

namespace ltr::cli {

namespace {

/// A machine with `devices` fake GPUs.
struct FakeMachine {
  explicit FakeMachine(int64_t devices, int architecture = 90) : device(devices, architecture), count(devices) {}
  Machine machine() {
    return {[this] { return file; }, [this] { return count; },
            [this](const Str&) {
              return ++loaded, loads ? Plugin{&device, ""} : Plugin{nullptr, "libcudnn.so.9: not found"};
            }};
  }
  FakeMachine(FakeMachine&&) = delete;
  fake::FakeAccelerator device;
  Str file = "libltr_runtime_cuda.so";
  int64_t count;
  bool loads = true;
  int64_t loaded = 0;
};

DeviceWish wish_of(const Str& devices, const Str& precision, int64_t local_rank) {
  return {.devices = *read_devices(devices),
          .precision = precision,
          .local_rank = local_rank,
          .topology = "box",
          .fitting = [] { return std::vector<Str>{"laptop", "small"}; }};
}

/// `cpu`, `cuda:1`, or the error's text and cure.
Str outcome(FakeMachine&& given, const Str& devices, const Str& precision = "f32", int64_t local_rank = 0) {
  const DeviceWish wish = wish_of(devices, precision, local_rank);
  try {
    const DeviceChoice choice = choose_device(wish, given.machine());
    return choice.accelerator == nullptr ? "cpu" : fmt::format("cuda:{}", choice.index);
  } catch (const Error& error) {
    return fmt::format("{}: {} | {}", error.code, error.message, error.help);
  }
}

/// What helps where `devices` are not there.
Str cure(const Str& devices) {
  return fmt::format(" | use --devices {}, or --topology laptop, --topology small", devices);
}

}  // namespace

TEST_CASE("auto is the first GPU, else the CPU") {
  CHECK(outcome(FakeMachine(0), "auto") == "cpu");
  CHECK(outcome(FakeMachine(2), "auto") == "cuda:0");
  CHECK(outcome(FakeMachine(2), "auto", "f32", 1) == "cuda:1");
  CHECK(outcome(FakeMachine(2), "cpu") == "cpu");
  FakeMachine without(2);
  without.file = "";
  CHECK(outcome(std::move(without), "auto") == "cpu");
}

TEST_CASE("a GPU that is not there is one error that says what is, and what would do") {
  CHECK(outcome(FakeMachine(0), "cuda[8]") ==
        Str("R2008: the topology box asks for cuda[8], but the NVIDIA driver shows no device here") + cure("cpu[8]"));
  CHECK(outcome(FakeMachine(2), "cuda[8]") ==
        Str("R2008: the topology box asks for cuda[8], but this machine has 2 of Fake 1000") + cure("cpu[8]"));
  FakeMachine without(1);
  without.file = "";
  CHECK(outcome(std::move(without), "cuda") == Str("R2008: the topology box asks for cuda, but this runtime was built "
                                                   "without CUDA; build Ltr with LTR_CUDA=ON ./bootstrap") +
                                                   cure("cpu"));
  FakeMachine broken(1);
  broken.loads = false;
  CHECK(outcome(std::move(broken), "cuda") ==
        Str("R2008: the topology box asks for cuda, but the CUDA runtime cannot be loaded: libcudnn.so.9: not found") +
            cure("cpu"));
  FakeMachine behind(0);
  behind.count = 1;
  CHECK(outcome(std::move(behind), "cuda") ==
        Str("R2008: the topology box asks for cuda, but CUDA finds no device: no driver") + cure("cpu"));
}

TEST_CASE("devices and precision that were typed are the place of their error") {
  DeviceWish wish = wish_of("cuda[8]", "f32", 0);
  wish.location = {"a.ltr", 3, 1};
  const auto refusal = [&](int64_t devices) {
    FakeMachine given(devices);
    try {
      choose_device(wish, given.machine());
    } catch (const Error& error) {
      return fmt::format("{} {} | {}", error.location.line, error.message, error.help);
    }
    return Str();
  };
  CHECK(refusal(0).starts_with("3 the topology box asks for cuda[8], but "));
  wish.typed_devices = "--devices cuda[8]";
  CHECK(
      refusal(0).starts_with("0 --devices cuda[8], but the NVIDIA driver shows no device here | use --devices cpu[8]"));
  wish = wish_of("cpu", "f16", 0);
  wish.location = {"a.ltr", 3, 1};
  wish.typed_devices = "--devices cpu";
  CHECK(refusal(0) ==
        "3 precision f16 needs a GPU, and --devices cpu is the CPU here | use f32, bf16, bf16_pure or f64");
  wish.typed_devices = "";
  wish.typed_precision = "--set topology.precision=f16";
  CHECK(refusal(0) ==
        "0 --set topology.precision=f16: precision f16 needs a GPU, and the topology box runs on the CPU here | "
        "--set topology.precision=N, where N is f32, bf16, bf16_pure or f64");
}

TEST_CASE("ranks that are still to come are refused by what the driver knows, without loading anything") {
  FakeMachine given(2);
  const auto refusal = [&](const Str& devices, int64_t last) -> Str {
    try {
      check_devices(wish_of(devices, "f32", last), given.machine());
      return "";
    } catch (const Error& error) {
      return fmt::format("{}: {} | {}", error.code, error.message, error.help);
    }
  };
  CHECK(refusal("cpu[8]", 7) == "");
  CHECK(refusal("auto", 1) == "");
  CHECK(refusal("cuda", 1) == "");
  CHECK(refusal("cuda[2]", 1) == "");
  CHECK(refusal("cuda", 3) ==
        Str("R2008: the topology box asks for cuda, one for each of 4 ranks, but the NVIDIA driver shows 2 here") +
            cure("cpu"));
  CHECK(refusal("cuda[8]", 7) ==
        Str("R2008: the topology box asks for cuda[8], but the NVIDIA driver shows 2 here") + cure("cpu[8]"));
  given.count = 0;
  CHECK(refusal("auto", 3) == "");
  CHECK(refusal("cuda", 0) ==
        Str("R2008: the topology box asks for cuda, but the NVIDIA driver shows no device here") + cure("cpu"));
  CHECK(given.loaded == 0);
}

TEST_CASE("a GPU that is too old is refused before anything is allocated") {
  CHECK(outcome(FakeMachine(1, 52), "cuda") ==
        Str("R2008: Fake 1000 is sm_52; this LibTorch has code for sm_80, sm_90") + cure("cpu"));
  CHECK(outcome(FakeMachine(1, 89), "cuda") == "cuda:0");  // runs the code of sm_80
  CHECK(outcome(FakeMachine(1, 100), "cuda").starts_with("R2008"));
}

TEST_CASE("a precision that the device lacks is refused") {
  CHECK(outcome(FakeMachine(0), "auto", "f16")
            .starts_with("R2008: precision f16 needs a GPU, and the topology box runs on the CPU here"));
  CHECK(outcome(FakeMachine(0), "cpu", "tf32").starts_with("R2008: precision tf32 needs a GPU"));
  CHECK(outcome(FakeMachine(1), "cuda", "f16") == "cuda:0");
  CHECK(outcome(FakeMachine(1), "cuda", "tf32") == "cuda:0");
}

}  // namespace ltr::cli
