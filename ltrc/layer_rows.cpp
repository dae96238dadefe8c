#include "ltrc/layer_rows.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string_view>

namespace ltr::driver {

std::vector<LayerRow> layer_rows(const elaborate::Plan& plan) {
  std::vector<LayerRow> rows;
  for (const elaborate::Object& object : plan.tree.objects) {
    if (object.kind != check::Kind::Block || !object.path) continue;
    LayerRow row{*object.path, object.type, object.is_called ? &object.output : nullptr};
    for (const elaborate::Weight& weight : plan.tree.weights) {
      if (!weight.is_buffer && elaborate::is_below(weight.path, *object.path))
        row.weights += elaborate::count_elements(weight.dims).value_or(0);
    }
    for (const elaborate::Operation& operation : plan.tape) {
      if (!plan.tree.objects[operation.object].lies_below(*object.path)) continue;
      row.flops += operation.flops.value_or(0);
      row.is_counted = row.is_counted && operation.flops.has_value();
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string shape_text(const std::vector<elaborate::Size>& dims, const std::string& batch, elaborate::Size batch_size) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) {
    const bool is_batch = i == 0 && batch_size && dims[0] == batch_size;
    text += (i > 0 ? ", " : "") + (is_batch ? batch : dims[i] ? std::to_string(*dims[i]) : "?");
  }
  return text + "]";
}

std::string setting_text(const elaborate::Value& value) {
  std::string list;
  switch (value.kind) {
    case elaborate::Value::Kind::None: return "none";
    case elaborate::Value::Kind::Bool: return value.whole != 0 ? "true" : "false";
    case elaborate::Value::Kind::Int: return std::to_string(value.whole);
    case elaborate::Value::Kind::Float:
      return fmt::format("{}", value.real) + (value.text.empty() ? "" : " " + value.text);
    case elaborate::Value::Kind::List:
      for (const elaborate::Value& item : value.items) list += (list.empty() ? "" : ", ") + setting_text(item);
      return "[" + list + "]";
    default: return value.text;
  }
}

elaborate::Size count_characters(const std::string& path, const std::string& program) {
  namespace fs = std::filesystem;
  for (const fs::path& place : {fs::path(path), fs::path(program).parent_path() / path}) {
    std::ifstream file(place, std::ios::binary);
    if (!file) continue;
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    std::set<std::string_view> seen;
    std::array<bool, 128> is_seen{};
    for (size_t i = 0; i < text.size();) {
      const size_t begin = i++;
      if ((text[begin] & '\x80') == 0) {
        is_seen[size_t(text[begin])] = true;
        continue;
      }
      while (i < text.size() && (text[i] & '\xc0') == '\x80') ++i;
      seen.insert(std::string_view(text).substr(begin, i - begin));
    }
    return int64_t(seen.size()) + std::ranges::count(is_seen, true);
  }
  return std::nullopt;
}

}  // namespace ltr::driver
