#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include "ltr/operators.h"
#include "runtime/tensor/handle.h"

namespace ltr {

namespace {

/// Memory of a tensor that grows: how much of it is in use by the longest of the tensors that share it.
struct Growing {
  at::DataPtr memory;
  size_t used = 0;
};

void drop_growing(void* context) { delete static_cast<Growing*>(context); }

/// The memory that `tensor` grows in, or null if it was made elsewhere.
Growing* growing(const at::Tensor& tensor) {
  const at::DataPtr& data = tensor.storage().data_ptr();
  return data.get_deleter() == &drop_growing ? static_cast<Growing*>(data.get_context()) : nullptr;
}

/// `size` bytes beside `like`, none of them in use.
c10::Storage grow(const at::Tensor& like, size_t size) {
  c10::Allocator* allocator = like.storage().allocator();
  if (allocator == nullptr) allocator = at::empty({0}, like.options()).storage().allocator();
  auto* kept = new Growing{allocator->allocate(size)};
  void* data = kept->memory.get();
  return {c10::Storage::use_byte_size_t(), size, at::DataPtr(data, kept, &drop_growing, like.device()), nullptr, false};
}

at::Tensor first_of(const c10::Storage& storage, const at::Tensor& like, int64_t rows) {
  std::vector<int64_t> sizes = like.sizes().vec();
  sizes[0] = rows;
  return at::empty({0}, like.options()).set_(storage, 0, sizes, {});
}

/// Whether nothing but the elements in a row is asked for, of one type and without gradients.
bool is_plain(const at::Tensor& kept, const at::Tensor& more) {
  return kept.dim() == more.dim() && kept.dim() > 0 && kept.sizes().slice(1) == more.sizes().slice(1) &&
         kept.scalar_type() == more.scalar_type() && kept.device() == more.device() &&
         !(c10::GradMode::is_enabled() && (kept.requires_grad() || more.requires_grad()));
}

}  // namespace

Tensor append(const Tensor& kept_, const Tensor& more_) {
  return guarded([&] {
    const In kept(kept_), more(more_);
    if (!is_plain(kept, more)) return give(at::cat({kept, more}));
    const int64_t rows = kept->size(0) + more->size(0);
    const size_t before = kept->nbytes(), after = before + more->nbytes();
    Growing* memory = kept->is_contiguous() && kept->storage_offset() == 0 ? growing(kept) : nullptr;
    // Behind `kept` another tensor may have grown already.
    const bool has_room = memory != nullptr && memory->used == before && kept->storage().nbytes() >= after;
    at::Tensor all;
    if (has_room) {
      all = first_of(kept->storage(), kept, rows);
    } else {
      all = first_of(grow(kept, 2 * after), kept, rows);
      all.narrow(0, 0, kept->size(0)).copy_(kept);
      memory = growing(all);
    }
    all.narrow(0, kept->size(0), more->size(0)).copy_(more);
    memory->used = after;
    return give(all);
  });
}

}  // namespace ltr
