// Calls of the program's own C++ functions: what they give is checked, what they throw is
// translated, and a `backward` becomes a node of autograd.

#include <torch/csrc/autograd/custom_function.h>

#include "ltr/foreign.h"
#include "runtime/tensor/device.h"
#include "runtime/tensor/dtype.h"
#include "runtime/tensor/handle.h"
#include "runtime/tensor/precision.h"
#include "runtime/tensor/step_watch.h"

namespace ltr {

Tensor empty(const Ints& dims, DType dtype, const Tensor& like) {
  return guarded([&] { return give(at::empty(dims, In(like)->options().dtype(aten(dtype)))); });
}

Tensor empty_like(const Tensor& x) {
  return guarded([&] { return give(at::empty_like(In(x), at::MemoryFormat::Contiguous)); });
}

Tensor contiguous(const Tensor& x) {
  return guarded([&] { return give(In(x)->contiguous()); });
}

void* elements(const Tensor& x, DType dtype) {
  refuse_plan(Unplanned::OnElements);
  const In tensor(x);
  const at::ScalarType wanted = aten(dtype);
  if (!x.defined() || tensor->scalar_type() != wanted || !tensor->is_contiguous()) {
    throw error_here(
        err::shape_check_failed,
        !x.defined() ? Str("an undefined tensor has no elements")
        : tensor->scalar_type() != wanted
            ? fmt::format("the elements are {}, not {}", c10::toString(tensor->scalar_type()), c10::toString(wanted))
            : Str("the elements are not contiguous; `ltr::contiguous(x)` has them in order"));
  }
  return tensor->data_ptr();
}

bool is_cuda(const Tensor& x) { return In(x)->is_cuda(); }

void* stream() { return accelerator() == nullptr ? nullptr : accelerator()->stream(); }

namespace foreign {

namespace {

Str shape_text(const at::Tensor& tensor) {
  return fmt::format("{}[{}]", to_text(dtype_of(tensor.scalar_type())), fmt::join(tensor.sizes().vec(), ", "));
}

/// `float` is what the program computes in: the policy type, or the narrow one.
bool fits(at::ScalarType type, DType wanted) {
  return type == aten(wanted) || (wanted == DType::Float && precision().narrows && type == precision().compute);
}

}  // namespace

void fail(const char* name) {
  const auto throw_failed = [&](const Str& text) { throw error_here(err::extern_failed, name, text); };
  try {
    throw;
  } catch (const Error& error) {
    throw Error(error.code, fmt::format("in the C++ function `{}`: {}", name, error.message), error.location,
                error.help);
  } catch (const std::bad_alloc&) {
    throw_failed("the host has no memory left");
  } catch (const c10::Error& error) {
    throw_failed(error.what_without_backtrace());
  } catch (const std::exception& error) {
    throw_failed(error.what());
  } catch (...) {
    throw_failed("it threw something that is no std::exception");
  }
  std::abort();  // Every handler throws.
}

void fail_device(const char* name, const char* file, bool on_cuda) {
  const char* form =
      on_cuda ? "no CUDA form: it was built without nvcc" : "no form for the CPU: there is no .cpp file of this name";
  throw Error("E0705", fmt::format("`{}` of {} has {}", name, file, form));
}

const Tensor& check_result(const Tensor& result, DType dtype, std::initializer_list<int64_t> dims, const char* text,
                           const Tensor& like, int64_t like_last) {
  const In tensor(result);
  const auto last = int64_t(dims.size());
  const auto is_right = [&] {
    if (!result.defined() || !fits(tensor->scalar_type(), dtype)) return false;
    const int64_t leading = like.defined() ? In(like)->dim() - like_last : 0;
    if (tensor->dim() != leading + last) return false;
    for (int64_t axis = 0; axis < leading; ++axis) {
      if (tensor->size(axis) != In(like)->size(axis)) return false;
    }
    int64_t axis = leading;
    for (const int64_t dim : dims) {
      if (dim >= 0 && tensor->size(axis) != dim) return false;
      ++axis;
    }
    return true;
  };
  if (is_right()) return result;
  Str message = text;
  const size_t gap = message.find("{}");
  if (gap != Str::npos) message.replace(gap, 2, result.defined() ? shape_text(tensor) : "an undefined tensor");
  throw error_here(err::shape_check_failed, message);
}

namespace {

struct Work : torch::CustomClassHolder {
  explicit Work(Pair given) : pair(std::move(given)) {}
  Pair pair;
};

/// The gradients that the pair's backward gives, one for each floating input, each of its shape or
/// undefined.
std::vector<at::Tensor> gradients_of(const Pair& pair, const std::vector<at::Tensor>& inputs, const Tensors& outputs,
                                     const Tensors& gradients) {
  Tensors given;
  // A thread of autograd makes new tensors where the gradients are.
  const DeviceScope there(gradients.empty() ? run_device() : In(gradients.front())->device());
  try {
    given = pair.backward(give(inputs), outputs, gradients);
  } catch (...) {
    fail(pair.backward_name);
  }
  std::vector<at::Tensor> result(inputs.size());
  size_t next = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined() || !inputs[i].is_floating_point()) continue;
    if (next == given.size()) break;
    result[i] = aten(given[next++]);
    if (result[i].defined() && result[i].sizes() != inputs[i].sizes()) {
      throw error_here(err::shape_check_failed, fmt::format("`{}` gave {} as gradient of {}", pair.backward_name,
                                                            shape_text(result[i]), shape_text(inputs[i])));
    }
  }
  return result;
}

struct Node : torch::autograd::Function<Node> {
  static std::vector<at::Tensor> forward(torch::autograd::AutogradContext* cx, const c10::intrusive_ptr<Work>& work,
                                         at::TensorList given) {
    const std::vector<at::Tensor> inputs = given.vec();
    Tensors outputs;
    try {
      outputs = work->pair.forward(give(inputs));
    } catch (...) {
      fail(work->pair.name);
    }
    std::vector<at::Tensor> saved = inputs, results = aten(outputs);
    saved.insert(saved.end(), results.begin(), results.end());
    cx->save_for_backward(std::move(saved));
    cx->saved_data["work"] = c10::IValue::make_capsule(work);
    cx->saved_data["inputs"] = int64_t(inputs.size());
    return results;
  }

  static std::vector<at::Tensor> backward(torch::autograd::AutogradContext* cx,
                                          const std::vector<at::Tensor>& gradients) {
    const auto work = c10::static_intrusive_pointer_cast<Work>(cx->saved_data["work"].toCapsule());
    const auto count = cx->saved_data["inputs"].toInt();
    std::vector<at::Tensor> inputs = cx->get_saved_variables();
    const std::vector<at::Tensor> outputs(inputs.begin() + count, inputs.end());
    inputs.resize(size_t(count));
    std::vector<at::Tensor> result = gradients_of(work->pair, inputs, give(outputs), give(gradients));
    result.insert(result.begin(), at::Tensor());  // That of `work`.
    return result;
  }
};

}  // namespace

Tensors differentiable(const Tensors& inputs, Pair pair) {
  // A recording would see what the forward function computes, and take its gradient for the one to use.
  refuse_plan(Unplanned::OwnGradient);
  return guarded([&] {
    // A list of another type would not be seen as variables.
    const std::vector<at::Tensor> list = aten(inputs);
    return give(Node::apply(c10::make_intrusive<Work>(std::move(pair)), at::TensorList(list)));
  });
}

}  // namespace foreign
}  // namespace ltr
