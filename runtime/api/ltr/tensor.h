#pragma once

// An opaque tensor, and the plain types that generated code says everything with.

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#define LTR_EXPORT [[gnu::visibility("default")]]

// Ops of steps. Programs call them where a recorder may listen, the runtime as they are (runtime/plan/README.md).
#ifdef LTR_RUNTIME
#define LTR_STEP_BEGIN
#define LTR_STEP_END
#else
#define LTR_STEP_BEGIN inline namespace step {
#define LTR_STEP_END }
#endif

namespace ltr {

using Str = std::string;
using Ints = std::vector<int64_t>;
using Floats = std::vector<double>;
template <class T>
using Option = std::optional<T>;

/// Where something stands in an `.ltr` file; lines and columns count from 1, line 0 is nowhere.
struct Location {
  const char* file = "";
  int32_t line = 0;
  int32_t column = 0;
};

/// Names the statement that runs now, for the message of whatever goes wrong in it. One store per
/// statement.
LTR_EXPORT void at(const Location& location);
/// What was named last, in this thread.
LTR_EXPORT const Location& current_location();

/// `Float` is the policy type: what the topology's precision says, f32 by default.
enum class DType : uint8_t { Float, F16, BF16, F32, F64, I8, I16, I32, I64, U8, Bool };

/// A host number that meets a tensor.
struct Scalar {
  double real = 0;
  int64_t whole = 0;
  bool is_int = false;
  Scalar(int value) : real(value), whole(value), is_int(true) {}              // NOLINT(google-explicit-constructor)
  Scalar(int64_t value) : real(double(value)), whole(value), is_int(true) {}  // NOLINT(google-explicit-constructor)
  Scalar(double value) : real(value) {}                                       // NOLINT(google-explicit-constructor)
  Scalar(bool value) : real(value), whole(value), is_int(true) {}             // NOLINT(google-explicit-constructor)
};

/// A tensor of any type, shape and device: one counted pointer. A default one is undefined, which
/// is how `none` is passed where a tensor is optional.
class LTR_EXPORT Tensor {
 public:
  Tensor() = default;
  Tensor(const Tensor& other);
  Tensor(Tensor&& other) noexcept : impl_(std::exchange(other.impl_, nullptr)) {}
  Tensor& operator=(const Tensor& other);
  Tensor& operator=(Tensor&& other) noexcept {
    std::swap(impl_, other.impl_);
    return *this;
  }
  ~Tensor() {
    if (impl_ != nullptr) release();
  }

  bool defined() const { return impl_ != nullptr; }
  int64_t dim() const;
  /// The size along `axis`; a negative one counts from the end.
  int64_t size(int64_t axis) const;
  Ints shape() const;
  DType dtype() const;
  /// The value of a tensor with one element; waits for the device.
  double item() const;
  int64_t item_int() const;

  Tensor unsqueeze(int64_t axis) const;
  Tensor narrow(int64_t axis, int64_t start, int64_t length) const;

  /// For the runtime alone: the implementation, borrowed or taken over.
  void* impl() const { return impl_; }
  static Tensor adopt(void* impl) {
    Tensor tensor;
    tensor.impl_ = impl;
    return tensor;
  }

 private:
  void release();
  void* impl_ = nullptr;
};

using Tensors = std::vector<Tensor>;

}  // namespace ltr
