#include "runtime/data/image_cells.h"

#include <cstring>

#include <ATen/ATen.h>

#include "doors/file.h"
#include "doors/image_file.h"
#include "doors/limits.h"
#include "runtime/data/files_read.h"
#include "runtime/data/json_cells.h"
#include "runtime/tensor/handle.h"

namespace ltr {

bool is_image(const FieldInfo& field) {
  return field.host[0] == '\0' && field.dtype == DType::U8 && field.form == FieldForm::Plain &&
         field.dims.size() == 3 && (field.dims[0] == 1 || field.dims[0] == 3);
}

namespace {

Cell decoded(std::string_view bytes, const Str& name, const FieldInfo& field) {
  const Str begin = name.empty() ? "" : name + ": ";
  try {
    const doors::Image image = doors::decode_image(bytes, "", field.dims[0]);
    at::Tensor pixels = at::empty({image.height, image.width, field.dims[0]}, at::kByte);
    std::memcpy(pixels.data_ptr(), image.pixels.data(), image.pixels.size());
    Cell cell;
    const at::Tensor planes = pixels.permute({2, 0, 1}).contiguous();
    if (!sizes_fit(field, planes.sizes()))
      throw Misfit{fmt::format("{}the image is {} x {}", begin, image.height, image.width)};
    cell.tensor = give(planes);
    return cell;
  } catch (const doors::FormatError& error) {
    throw Misfit{begin + error.placed()};
  }
}

}  // namespace

Cell image_of_bytes(std::string_view bytes, const FieldInfo& field) { return decoded(bytes, "", field); }

Cell image_of_file(const Str& path, const FieldInfo& field) {
  FilesRead::note(path);
  try {
    return decoded(doors::read_plain_file(path, doors::limits::kImageBytes), path, field);
  } catch (const std::system_error& error) {
    throw Misfit{fmt::format("cannot read {}: {}", path, error.code().message())};
  } catch (const doors::FormatError& error) {
    throw Misfit{fmt::format("{}: {}", path, error.reason)};
  }
}

}  // namespace ltr
