#include "runtime/cli/tensor_param.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cctype>

#include "doors/file.h"
#include "doors/json.h"
#include "doors/safetensors.h"
#include "runtime/api/error.h"
#include "runtime/cli/predictions.h"
#include "runtime/data/foreign_tensor.h"
#include "runtime/data/rows.h"
#include "runtime/data/sources/source.h"
#include "runtime/tensor/dtype.h"
#include "runtime/tensor/handle.h"

namespace ltr::cli {

namespace {

/// The ids of `text` as i64[1, N]; R3007 for a character that the data does not have.
at::Tensor encode(const Str& text, const std::vector<int32_t>& characters) {
  std::vector<int64_t> ids;
  for (size_t i = 0; i < text.size();) {
    Str one;
    auto found = characters.begin();
    for (; found != characters.end(); ++found) {
      one.clear();
      put_utf8(one, *found);
      if (text.compare(i, one.size(), one) == 0) break;
    }
    if (found == characters.end()) {
      throw error_at({}, err::value_out_of_range,
                     fmt::format("the data's text has no character like the one at byte {} of \"{}\"", i, text));
    }
    ids.push_back(found - characters.begin());
    i += one.size();
  }
  return at::tensor(ids, at::kLong).unsqueeze(0);
}

/// Of the elements of a tensor type; nothing for what is none, such as `list[int]`.
Option<at::ScalarType> type_of(const Str& type) {
  const size_t open = type.find('[');
  if (open == Str::npos) return std::nullopt;
  const Option<DType> dtype = dtype_named(type.substr(0, open));
  return dtype ? Option<at::ScalarType>(aten(*dtype)) : std::nullopt;
}

/// The tensor of a file that is named like the parameter, or the one that it holds.
at::Tensor tensor_of_safetensors(const Str& path, const Str& param, at::ScalarType type) {
  return reading(path, [&] {
    const doors::SafetensorsFile file = doors::SafetensorsFile::open(path);
    const doors::TensorEntry* entry = file.tensors().size() == 1 ? &file.tensors()[0] : file.find(param);
    if (entry == nullptr) {
      std::vector<Str> names;
      for (const doors::TensorEntry& one : file.tensors()) names.push_back(one.name);
      throw Misfit{fmt::format("{}, which has no tensor {}, but {}", path, param,
                               names.empty() ? "none at all" : fmt::format("{}", fmt::join(names, ", ")))};
    }
    const Option<at::ScalarType> stored = stored_type(entry->dtype);
    if (!stored) throw Misfit{fmt::format("{}, whose {} is {}", path, entry->name, entry->dtype)};
    const auto* bytes = static_cast<const std::byte*>(entry->data);
    return as_type(borrow(bytes, entry->shape, *stored), type, path).clone();
  });
}

at::Tensor tensor_of_file(const Str& path, const Str& param, at::ScalarType type) {
  if (path.ends_with(".npy")) return tensor_of_npy(path, type);
  if (path.ends_with(".safetensors")) return tensor_of_safetensors(path, param, type);
  return reading(path, [&] {
    try {
      return tensor_of_json(doors::read_json(path), type);
    } catch (const doors::FormatError& error) {
      throw Misfit{fmt::format("no .npy, .safetensors or .json file ({})", error.what())};
    }
  });
}

/// The sizes of a tensor type that are numbers hold; binders stand for any size.
void check_sizes(const at::Tensor& tensor, const Str& type) {
  const size_t open = type.find('[');
  const Str inner = type.substr(open + 1, type.find(']', open) - open - 1);
  if (inner.find("...") != Str::npos) return;
  std::vector<Str> sizes;
  for (size_t begin = 0; begin < inner.size();) {
    const size_t end = std::min(inner.find(',', begin), inner.size());
    const size_t first = inner.find_first_not_of(' ', begin);
    sizes.push_back(inner.substr(first, end - first));
    begin = end + 1;
  }
  bool fits = int64_t(sizes.size()) == tensor.dim();
  for (size_t i = 0; fits && i < sizes.size(); ++i) {
    const bool is_number = std::ranges::all_of(sizes[i], [](unsigned char c) { return std::isdigit(c) != 0; });
    fits = !is_number || std::to_string(tensor.size(int64_t(i))) == sizes[i];
  }
  if (!fits) throw Misfit{fmt::format("of the sizes [{}]", fmt::join(tensor.sizes().vec(), ", "))};
}

}  // namespace

const std::vector<int32_t>* characters_of(const Data& data) {
  for (const Data::RoleStream& one : data.streams) {
    if (const std::vector<int32_t>* found = one.stream.state()->characters()) return found;
  }
  return nullptr;
}

bool is_tensor_type(const Str& type) { return type_of(type).has_value(); }

at::Tensor tensor_param(const StepParam& param, const Str& given, const Data& data, bool& is_text) {
  const Str shown = Str("--") + param.name;
  const at::ScalarType type = type_of(param.type).value_or(at::kFloat);
  try {
    const auto checked = [&](at::Tensor tensor) {
      check_sizes(tensor, param.type);
      return tensor;
    };
    if (given.starts_with("@")) return checked(tensor_of_file(given.substr(1), param.name, type));
    nlohmann::json json;
    Str reason;
    try {
      json = doors::parse_json(given, shown);
    } catch (const doors::FormatError& error) {
      reason = error.reason;
    }
    if (json.is_array()) return checked(tensor_of_json(json, type));
    const std::vector<int32_t>* characters = type == at::kLong ? characters_of(data) : nullptr;
    if (characters == nullptr) throw Misfit{reason.empty() ? "no list" : reason};
    is_text = true;
    return checked(encode(given, *characters));
  } catch (const Misfit& misfit) {
    throw with_help(error_at({}, err::wrong_type, shown, misfit.text, param.type), "as JSON, such as [[1, 2], [3, 4]]");
  }
}

}  // namespace ltr::cli
