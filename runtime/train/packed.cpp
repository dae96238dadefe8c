#include "runtime/train/packed.h"

#include <ATen/ATen.h>

#include <cstring>

#include "doors/bytes.h"
#include "runtime/api/error.h"

namespace ltr {

void pack(Str& out, int64_t number) { doors::put_le(out, number); }

void pack(Str& out, double number) { doors::put_le(out, number); }

void pack(Str& out, std::string_view text) {
  pack(out, int64_t(text.size()));
  out.append(text);
}

void pack(Str& out, const at::Tensor& tensor) {
  const at::Tensor host = tensor.detach().to(at::kCPU).contiguous();
  pack(out, int64_t(host.scalar_type()));
  pack(out, host.dim());
  for (const int64_t size : host.sizes()) pack(out, size);
  pack(out, std::string_view(static_cast<const char*>(host.const_data_ptr()), host.nbytes()));
}

std::string_view Unpacking::take(size_t bytes) {
  if (bytes > rest_.size()) throw error_at({}, err::rank_lost, "a message of another rank is too short");
  const std::string_view taken = rest_.substr(0, bytes);
  rest_.remove_prefix(bytes);
  return taken;
}

int64_t Unpacking::number() { return doors::get_le<int64_t>(take(sizeof(int64_t)).data()); }

double Unpacking::real() { return doors::get_le<double>(take(sizeof(double)).data()); }

std::string_view Unpacking::text() { return take(size_t(number())); }

at::Tensor Unpacking::tensor() {
  const auto type = at::ScalarType(number());
  std::vector<int64_t> sizes(size_t(number()), 0);
  for (int64_t& size : sizes) size = number();
  const std::string_view bytes = text();
  at::Tensor tensor = at::empty(sizes, type);
  if (tensor.nbytes() != bytes.size())
    throw error_at({}, err::rank_lost, "a message of another rank has a wrong length");
  std::memcpy(tensor.mutable_data_ptr(), bytes.data(), bytes.size());
  return tensor;
}

}  // namespace ltr
