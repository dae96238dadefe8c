#include "codegen/ir/element.h"

#include <algorithm>
#include <array>

namespace ltr::ir {
namespace {

/// In the order of the enumerators.
constexpr std::array<std::string_view, 12> kNames = {"float", "f16", "bf16", "f32", "f64",  "i8",
                                                     "i16",   "i32", "i64",  "u8",  "bool", "str"};
static_assert(kNames.size() == size_t(Element::Str) + 1);

}  // namespace

bool is_floating(Element element) { return element <= Element::F64; }

std::string_view to_text(Element element) { return kNames[size_t(element)]; }

std::optional<Element> find_element(std::string_view name) {
  const auto known = std::find(kNames.begin(), kNames.end(), name);
  return known == kNames.end() ? std::nullopt : std::optional(Element(known - kNames.begin()));
}

}  // namespace ltr::ir
