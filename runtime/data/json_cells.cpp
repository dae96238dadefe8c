#include "runtime/data/json_cells.h"

#include <nlohmann/json.hpp>

#include "runtime/data/rows.h"
#include "runtime/tensor/dtype.h"
#include "runtime/tensor/handle.h"

namespace ltr {

namespace {

bool sizes_fit(const FieldInfo& field, at::IntArrayRef sizes) {
  if (sizes.size() != field.dims.size()) return false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (field.dims[i] >= 0 && field.dims[i] != sizes[i]) return false;
  }
  return true;
}

}  // namespace

Cell cell_of(const nlohmann::json& json, const FieldInfo& field) {
  Cell cell;
  cell.is_missing = field.form == FieldForm::Option && json.is_null();
  if (cell.is_missing) return cell;
  switch (field.host[0]) {
    case 'i':
    case 'b': {
      if (field.host[0] == 'b' && !json.is_boolean()) break;
      cell.whole = aten(give(tensor_of_json(json, field.host[0] == 'b' ? at::kBool : at::kLong))).item().toLong();
      return cell;
    }
    case 'f':
      if (!json.is_number()) break;
      cell.real = json.get<double>();
      return cell;
    case 's':
    case 'p':
      if (!json.is_string()) break;
      cell.text = json.get<Str>();
      return cell;
    default: {
      const at::Tensor tensor = tensor_of_json(json, scalar_type(field.dtype));
      if (!sizes_fit(field, tensor.sizes())) {
        throw Misfit{fmt::format("is [{}]", fmt::join(tensor.sizes().begin(), tensor.sizes().end(), ", "))};
      }
      cell.tensor = give(tensor);
      return cell;
    }
  }
  throw Misfit{"is " + json.dump()};
}

void refuse_field(const FieldInfo& field, const Misfit& misfit) {
  throw Misfit{fmt::format("the field {} {}, but {} is wanted", field.name, misfit.text, type_text(field))};
}

}  // namespace ltr
