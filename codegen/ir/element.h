#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ltr::ir {

/// What the elements of a tensor are; `Float` is the type that the precision of a run says.
enum class Element : uint8_t {
#define LTR_ELEMENT(Name, ...) Name,
#include "runtime/tables/elements.def"
#undef LTR_ELEMENT
  Str
};

bool is_floating(Element element);
std::string_view to_text(Element element);
std::optional<Element> find_element(std::string_view name);

}  // namespace ltr::ir
