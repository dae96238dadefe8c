#pragma once

#include <functional>
#include <string>

#include "dsl/check/types/dims/polynomial.h"

namespace ltr::check {

/// Mixes what a value consists of into one number: FNV-1a, a word at a time.
class Hasher {
 public:
  void add(size_t value) { hash_ = (hash_ ^ value) * 0x100000001b3; }
  void add(const std::string& text) { add(std::hash<std::string>()(text)); }
  void add(const Polynomial& value) {
    add(size_t(value.loss()));
    for (const auto& [monomial, coefficient] : value.terms()) {
      add(size_t(coefficient));
      for (const auto& [atom, power] : monomial) add(size_t(atom) << 8U ^ size_t(power));
    }
  }
  size_t hash() const { return hash_; }

 private:
  size_t hash_ = 0xcbf29ce484222325;
};

}  // namespace ltr::check
