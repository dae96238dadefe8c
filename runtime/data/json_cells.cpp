#include "runtime/data/json_cells.h"

#include "doors/base64.h"
#include "doors/file.h"
#include "doors/json.h"
#include "doors/utf8.h"
#include "runtime/data/image_cells.h"
#include "runtime/data/rows.h"
#include "runtime/tensor/dtype.h"
#include "runtime/tensor/handle.h"

namespace ltr {

bool sizes_fit(const FieldInfo& field, at::IntArrayRef sizes) {
  if (sizes.size() != field.dims.size()) return false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (field.dims[i] >= 0 && field.dims[i] != sizes[i]) return false;
  }
  return true;
}

namespace {

/// `{"b64": "…"}`: the bytes of a file.
bool is_file(const nlohmann::json& json) {
  return json.is_object() && json.size() == 1 && json.contains("b64") && json["b64"].is_string();
}

/// Misfit: what is wrong with the value.
Cell value_of(const nlohmann::json& json, const FieldInfo& field) {
  if (is_image(field) && is_file(json)) {
    const auto bytes = doors::decode_base64(json["b64"].get_ref<const Str&>());
    if (!bytes) throw Misfit{"is no base64"};
    return image_of_bytes(*bytes, field);
  }
  Cell cell;
  cell.is_missing = field.form == FieldForm::Option && json.is_null();
  if (cell.is_missing) return cell;
  switch (field.host[0]) {
    case 'i':
    case 'b': {
      if (json.is_boolean() != (field.host[0] == 'b') || json.is_structured()) break;
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
  throw Misfit{"is " + shown(json)};
}

}  // namespace

Cell cell_of(const nlohmann::json& json, const FieldInfo& field) {
  try {
    return value_of(json, field);
  } catch (const Misfit& misfit) {
    if (is_image(field) && is_file(json)) throw Misfit{fmt::format("the field {}: {}", field.name, misfit.text)};
    refuse_field(field, misfit.text);
  }
}

nlohmann::json row_of(std::string_view line, const Str& place) {
  if (const Str fault = doors::utf8_fault(line); !fault.empty()) throw Misfit{fault};
  try {
    nlohmann::json row = doors::parse_json(line, place);
    if (!row.is_object()) throw Misfit{"no JSON object"};
    return row;
  } catch (const doors::FormatError& error) {
    throw Misfit{error.reason};
  }
}

void refuse_field(const FieldInfo& field, const Str& what) {
  throw Misfit{fmt::format("the field {} {}, but {} is wanted", field.name, what, type_text(field))};
}

}  // namespace ltr
