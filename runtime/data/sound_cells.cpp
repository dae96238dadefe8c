#include "runtime/data/sound_cells.h"

#include <memory>

#include <ATen/ops/from_blob.h>

#include "runtime/data/rows.h"

namespace ltr {

at::Tensor tensor_of_sound(doors::Sound sound) {
  const auto kept = std::make_shared<doors::Sound>(std::move(sound));
  return at::from_blob(
             kept->samples.data(), {kept->channels, int64_t(kept->samples.size()) / kept->channels}, [kept](void*) {},
             at::TensorOptions().dtype(at::kFloat))
      .to(data_float());
}

}  // namespace ltr
