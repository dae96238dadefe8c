// The gradient of Einstein's sum by a factor is such a sum: of the gradient and all other factors, to the letters of that factor.

#include <map>

#include "runtime/plan/einsum_pattern.h"
#include "runtime/plan/rule.h"

namespace ltr::plan {

namespace {

/// Factor `of` of the sum, whose gradient has an axis for each of its letters.
class Factor {
 public:
  Factor(Step& s, const EinsumPattern& pattern, const std::vector<Term>& terms, size_t of)
      : s_(s), pattern_(pattern), terms_(terms), of_(of), sizes_(terms[of].sizes()) {
    take(pattern.result, s.out().sizes());
    for (size_t i = 0; i < terms.size(); ++i) {
      if (i != of) take(pattern.factors[i], terms[i].sizes());
    }
  }

  Term gradient() {
    const Str& letters = pattern_.factors[of_];
    Str kept;
    Ints sizes(letters.size(), 1);
    for (size_t axis = 0; axis < letters.size(); ++axis) {
      if (letters.find(letters[axis]) != axis || !is_summed_to(axis)) continue;
      kept += letters[axis];
      sizes[axis] = found_.at(letters[axis]);
    }
    Term all = sum_to(kept).call(Op::reshape, sizes);
    // A letter that stands twice takes a diagonal.
    for (size_t axis = 0; axis < letters.size(); ++axis) {
      const size_t first = letters.find(letters[axis]);
      if (first != axis) all = choose(diagonal(first, axis), all, 0.0);
    }
    return all.call(Op::expand, sizes_);
  }

 private:
  void take(const Str& letters, const Ints& sizes) {
    for (size_t axis = 0; axis < letters.size(); ++axis) {
      int64_t& size = found_.try_emplace(letters[axis], 1).first->second;
      if (size == 1) size = sizes[axis];
    }
  }
  /// Whether the sum has the letter of `axis`: others have it, and it is no axis of 1 that went with all of theirs.
  bool is_summed_to(size_t axis) const {
    const auto found = found_.find(pattern_.factors[of_][axis]);
    return found != found_.end() && (sizes_[axis] != 1 || found->second == 1);
  }
  Term sum_to(const Str& letters) const {
    Str text = pattern_.result;
    std::vector<ValueRef> values{{s_.gradient().id()}};
    for (size_t i = 0; i < terms_.size(); ++i) {
      if (i == of_) continue;
      text += "," + pattern_.factors[i];
      values.push_back({terms_[i].id()});
    }
    return {s_.builder(), s_.builder().call(Op::einsum, s_.gradient().dtype(), {text + "->" + letters, values})};
  }
  Term diagonal(size_t first, size_t second) const {
    Ints sizes(sizes_.size(), 1);
    sizes[first] = sizes[second] = sizes_[first];
    const Term ones{s_.builder(), s_.builder().call(Op::eye, s_.gradient().dtype(), {sizes_[first]})};
    return ones.call_as(Op::gt_number, DType::Bool, 0).call(Op::reshape, sizes);
  }

  Step& s_;
  const EinsumPattern& pattern_;
  const std::vector<Term>& terms_;
  size_t of_;
  Ints sizes_;
  std::map<char, int64_t> found_;  ///< of the letters of the gradient and of the others
};

void einsum(Step& s) {
  std::vector<Term> terms;
  std::vector<size_t> ranks;
  for (const ValueRef value : std::get<std::vector<ValueRef>>(s.node().arguments[1])) {
    terms.emplace_back(s.builder(), value.id);
    ranks.push_back(terms.back().sizes().size());
  }
  const EinsumPattern pattern = read_einsum(s.host<Str>(0), ranks);
  std::vector<Term> gradients;
  for (size_t i = 0; i < terms.size(); ++i) {
    gradients.push_back(terms[i].needs_grad() ? Factor(s, pattern, terms, i).gradient() : Term());
  }
  s.give(1, gradients);
}

constexpr RuleRow kEinsumRules[] = {{Op::einsum, einsum}};

}  // namespace

std::span<const RuleRow> einsum_rules() { return kEinsumRules; }

}  // namespace ltr::plan
