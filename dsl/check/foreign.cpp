#include "dsl/check/foreign.h"

#include <map>

namespace ltr::check {

const char* foreign_advice(std::string_view name) {
  static const std::map<std::string_view, const char*> kAdvice = {
#define LTR_FOREIGN(name, advice) {#name, advice},
#include "dsl/check/foreign.def"
  };
  const auto found = kAdvice.find(name);
  return found == kAdvice.end() ? nullptr : found->second;
}

}  // namespace ltr::check
