#include <map>
#include <set>

#include "codegen/training_logic/paths.h"
#include "codegen/training_logic/rules.h"

namespace ltr::training_logic {

void check_elements(const Object& object, const Heap& heap, Sink& sink) {
  struct Owned {
    Span span;
    std::set<int64_t> elements;
  };
  std::map<std::string, Owned> lists;  // by what their elements have in common: one block may lie in two
  for (const Owner& owner : heap.owners) {
    for (const WeightUse& use : owner.weights) {
      if (!use.element || heap.weights[use.weight].is_owned_whole || use.scope.root != object.scope.root) continue;
      Owned& list = lists[use.scope.path.substr(0, use.scope.path.find(".*"))];
      list.span = use.span;
      list.elements.insert(*use.element);
    }
  }
  for (const auto& [path, owned] : lists) {
    if (owned.elements.size() != 1) continue;
    const std::string list = code_of(path);
    diagnostics::Diagnostic diagnostic =
        diag::element_trained(owned.span, list, list + "[" + std::to_string(*owned.elements.begin()) + "]");
    if (const auto span = object.span_of(path.substr(0, path.find('.'))))
      diagnostic.label(*span, "as many as a run gives it");
    sink.report(std::move(
        diagnostic.help("`{}.weights` are those of all; what is not to learn is used as `frozen(…)(x)`", list)));
  }
}

}  // namespace ltr::training_logic
