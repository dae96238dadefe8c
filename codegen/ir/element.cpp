#include "codegen/ir/element.h"

#include <algorithm>
#include <array>

namespace ltr::ir {
namespace {

/// In the order of the enumerators.
constexpr std::array kNames = {
#define LTR_ELEMENT(Name, name, ...) std::string_view(#name),
#include "runtime/tables/elements.def"
#undef LTR_ELEMENT
    std::string_view("str")};

}  // namespace

bool is_floating(Element element) { return element <= Element::F64; }

std::string_view to_text(Element element) { return kNames[size_t(element)]; }

std::optional<Element> find_element(std::string_view name) {
  const auto known = std::find(kNames.begin(), kNames.end(), name);
  return known == kNames.end() ? std::nullopt : std::optional(Element(known - kNames.begin()));
}

}  // namespace ltr::ir
