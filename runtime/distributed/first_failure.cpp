#include "runtime/distributed/first_failure.h"

#include <sstream>

namespace ltr::distributed {

namespace {

constexpr const char* kKey = "failed";

Failure parsed(const Str& text) {
  std::istringstream words(text);
  Failure failure;
  words >> failure.exit_code >> failure.rank;
  return failure;
}

}  // namespace

Option<Failure> first_failure(c10d::Store& store) {
  return store.check({kKey}) ? Option<Failure>(parsed(store.get_to_str(kKey))) : std::nullopt;
}

Option<Failure> tell_failure(c10d::Store& store, const Failure& own) {
  const bool is_told = store.check({kKey});
  const Str text = fmt::format("{} {}", own.exit_code, own.rank);
  const Str first = store.compareSet(kKey, Str(), text);
  return is_told || first != text ? Option<Failure>(parsed(first)) : std::nullopt;
}

}  // namespace ltr::distributed
