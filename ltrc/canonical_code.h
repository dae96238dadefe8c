#pragma once

#include <map>
#include <string>
#include <vector>

#include "codegen/ir/tables.h"

namespace ltr::driver {

/// Code as text in which names that mean nothing have gone: values, functions and objects of the
/// program are numbered as they are met, parameters and `let`s by their place.
class CanonicalCode {
 public:
  explicit CanonicalCode(const ir::Module& module) : module_(module) {}

  bool is_function(const std::string& name) const { return module_.find(name) != nullptr; }
  /// The number of a function of the program; it is printed when `take` comes to it.
  std::string label_of(const std::string& function);
  std::string label_of_object(const std::string& object);
  /// How the states of a metric are joined and what computes its value; nothing of other objects.
  std::string rules_of(const ir::ObjectInfo& object);
  /// A path of members, `net.body.$size`, from an object of type `at`.
  std::string path_of(const std::string& path, const ir::Type& at) const;
  /// Everything that was labelled, and what that needs: names in the program, and texts.
  std::vector<std::pair<std::string, std::string>> take();
  /// Names of the objects by number.
  std::vector<std::string> objects() const;

 private:
  class Body;
  friend class Body;

  const ir::Module& module_;
  std::vector<std::string> order_;           ///< functions in the order met
  std::map<std::string, size_t> functions_;  ///< place in `order_`
  std::map<std::string, size_t> objects_;
};

std::string constant_text(const ir::Constant& constant);
/// Element type and rank; the names of dims mean nothing.
std::string type_text(const ir::Type& type, CanonicalCode& code);

}  // namespace ltr::driver
