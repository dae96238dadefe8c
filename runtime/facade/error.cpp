#include "runtime/api/error.h"

#include <c10/util/Exception.h>
#include <algorithm>

#include <cstdlib>
#include <new>
#include <string_view>
#include <system_error>

#include "runtime/tensor/determinism.h"
#include "runtime/tensor/device.h"
#include "runtime/tensor/handle.h"

namespace ltr {

namespace {

[[gnu::tls_model("initial-exec")]] thread_local Location here;

/// "Could not run 'aten::x' … back end" errors list every back end: the first sentence says it all.
Str shortened(Str text) {
  constexpr size_t kLimit = 300;
  const size_t line = text.find('\n');
  if (line != Str::npos && line > 0) text.resize(line);
  if (text.size() <= kLimit) return text;
  const size_t sentence = text.find(". ");
  text.resize(sentence < kLimit ? sentence + 1 : kLimit);
  return text;
}

/// What LibTorch's allocator of host memory was asked for, without the names of its parts.
Str asked_for(const Str& text) {
  static constexpr std::string_view kBefore = "you tried to allocate ";
  const size_t place = text.find(kBefore);
  if (place == Str::npos) return text;
  return fmt::format("a tensor of {:.1f} GiB was asked for",
                     std::strtod(text.c_str() + place + kBefore.size(), nullptr) / 0x1p30);
}

/// What its allocator of device memory was asked for, and what the device has left.
Str asked_of_device(const Str& text) {
  static constexpr std::string_view kBefore = "Tried to allocate ";
  const size_t begin = text.find(kBefore);
  if (begin == Str::npos || accelerator() == nullptr) return text;
  const size_t number = begin + kBefore.size(), end = text.find(". ", number);
  return fmt::format("{} has {:.1f} GiB left of {:.1f}, and a tensor of {} was asked for", compute_device_name(),
                     double(compute_device_memory().free) / 0x1p30, double(compute_device_memory().total) / 0x1p30,
                     text.substr(number, end == Str::npos ? Str::npos : end - number));
}

/// What the device is out of order by, from now on: in the words of its driver.
Error failed_device(const c10::AcceleratorError& error) {
  // Of the driver's codes the one of memory; the device is as it was.
  constexpr int kNoMemory = 2;
  if (error.get_error_code() == kNoMemory)
    return error_here(err::out_of_memory, compute_device().str() + " has no room left");
  Str what = shortened(error.what_without_backtrace());
  static constexpr std::string_view kBefore = "CUDA error: ";
  if (what.starts_with(kBefore)) what.erase(0, kBefore.size());
  const bool is_assert = what.find("assert") != Str::npos;
  return with_help(
      error_here(err::device_failed, compute_device().str(), what),
      is_assert
          ? "most likely a class, an id or an index that does not exist: --devices cpu says which, of which record"
          : "CUDA_LAUNCH_BLOCKING=1 in the environment makes the line exact");
}

/// Whether a library of the device found no memory for its own work.
bool has_no_workspace(const Str& text) {
  return text.find("CUBLAS_STATUS_ALLOC_FAILED") != Str::npos || text.find("CUDNN_STATUS_ALLOC_FAILED") != Str::npos;
}

}  // namespace

void at(const Location& location) { here = location; }

const Location& current_location() { return here; }

Error::Error(Str code_, Str message_, Location location_, Str help_)
    : code(std::move(code_)), message(std::move(message_)), location(location_), help(std::move(help_)) {
  what_ = fmt::format("error[{}]: {}", code, message);
  if (location.line > 0) what_ += fmt::format("\n  --> {}:{}:{}", location.file, location.line, location.column);
  if (!help.empty()) what_ += "\n  = help: " + help;
}

Error::~Error() = default;

const char* Error::what() const noexcept { return what_.c_str(); }

int Error::exit_code() const {
  // E… codes are obligations that could only be checked at start: settings, or data.
  if (code.size() > 1 && code[0] == 'R') return code[1] - '0';
  return code.rfind("E05", 0) == 0 ? 3 : 2;
}

void rethrow_translated() {
  try {
    throw;
  } catch (const Error&) {
    throw;
  } catch (const c10::OutOfMemoryError& error) {
    throw error_here(err::out_of_memory, shortened(asked_of_device(error.what_without_backtrace())));
  } catch (const c10::IndexError& error) {
    throw error_here(err::value_out_of_range, shortened(error.what_without_backtrace()));
  } catch (const c10::LinAlgError& error) {
    throw error_here(err::value_out_of_range, shortened(error.what_without_backtrace()));
  } catch (const c10::AcceleratorError& error) {
    throw failed_device(error);
  } catch (const c10::Error& error) {
    const Str text = shortened(error.what_without_backtrace());
    if (text.find("can't allocate memory") != Str::npos) throw error_here(err::out_of_memory, asked_for(text));
    if (has_no_workspace(text))
      throw error_here(err::out_of_memory, "a product or a convolution has no room to work in");
    if (const Str op = without_deterministic_form(text); !op.empty()) {
      throw with_help(
          error_here(err::not_deterministic, op),
          "--set trainer.deterministic=warn goes on and names every such op once; then runs may differ in last digits");
    }
    if (text.find("index out of range") != Str::npos) throw error_here(err::value_out_of_range, text);
    throw error_here(err::shape_check_failed, text);
  } catch (const std::bad_alloc&) {
    throw error_here(err::out_of_memory, "the host has no memory left");
  } catch (const std::system_error& error) {
    // What asks the system for room here is a new thread, for its stack.
    if (error.code() == std::errc::resource_unavailable_try_again)
      throw error_here(err::out_of_memory, "no thread could be started");
    throw error_here(err::shape_check_failed, shortened(error.what()));
  } catch (const std::exception& error) {
    // oneDNN's, of a product that was found possible when it was described: there is no room for its code, or for what it needs
    // meanwhile.
    constexpr std::string_view kNoRoom[] = {"could not create a primitive", "could not create a memory",
                                            "could not execute a primitive"};
    if (std::ranges::find(kNoRoom, std::string_view(error.what())) != std::end(kNoRoom))
      throw error_here(err::out_of_memory, "a product has no room to work in");
    throw error_here(err::shape_check_failed, shortened(error.what()));
  }
}

}  // namespace ltr
