#include "codegen/training_logic/gradients.h"

#include <set>
#include <utility>

namespace ltr::training_logic {

namespace {

struct Tables {
  std::set<std::string> no_gradient, views, draws;
  std::set<std::pair<std::string, std::string>> activated;

  Tables() {
#define LTR_NO_GRADIENT(name) no_gradient.insert(#name);
#define LTR_VIEW(name) views.insert(#name);
#define LTR_DRAW(name) draws.insert(#name);
#define LTR_ACTIVATED(loss, name) activated.insert({#loss, #name});
#include "codegen/training_logic/gradients.def"
  }
};

const Tables& tables() {
  static const Tables kTables;
  return kTables;
}

}  // namespace

bool stops_gradient(const std::string& function) {
  return tables().no_gradient.count(function) != 0;
}
bool is_view(const std::string& function) {
  return tables().views.count(function) != 0;
}
bool draws(const std::string& function) {
  return tables().draws.count(function) != 0;
}
bool doubles(const std::string& loss, const std::string& activation) {
  return tables().activated.count({loss, activation}) != 0;
}

}  // namespace ltr::training_logic
