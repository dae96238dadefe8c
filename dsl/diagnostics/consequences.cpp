// What follows on a mistake that is told, and is none of its own.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "dsl/diagnostics/one_cause.h"
#include "dsl/diagnostics/sink.h"

namespace ltr::diagnostics {

namespace {

bool is_error(const Diagnostic& one) { return one.severity == Severity::Error; }

/// What was computed for nothing reaches no loss either.
void withhold_unreached(std::vector<Diagnostic>& told) {
  const bool is_lost = std::ranges::any_of(told, [](const Diagnostic& one) {
    return one.code == Code::W0302 &&
           (one.words[0].starts_with("the local ") || one.words[0].starts_with("the parameter "));
  });
  if (!is_lost) return;
  std::erase_if(told, [](const Diagnostic& one) { return one.code == Code::W0408; });
}

/// A loss of constants reads nothing of the batch.
void withhold_unread_batch(std::vector<Diagnostic>& told) {
  const auto is_constant = [](const Diagnostic& one) { return one.code == Code::E0424; };
  if (std::ranges::none_of(told, is_constant)) return;
  std::erase_if(told, [](const Diagnostic& one) {
    return one.code == Code::W0302 && one.words[0].starts_with("the parameter ");
  });
}

/// Of what is an error nothing more is said.
void withhold_at_errors(std::vector<Diagnostic>& told) {
  std::set<Span> errors;
  for (const Diagnostic& one : told) {
    if (is_error(one) && !one.span.is_empty()) errors.insert(one.span);
  }
  std::erase_if(told, [&](const Diagnostic& one) { return !is_error(one) && errors.contains(one.span); });
}

/// Whether it is about what does not fit: said twice in the same words, it is one mistake.
bool is_of_fit(Code code) {
  return code == Code::E0303 || code == Code::E0304 || code == Code::E0513 || code == Code::E0615 ||
         code == Code::W0510;
}

/// Whether both say it of the same things: the types are in the words, or the helps are the same.
bool say_same(const Diagnostic& one, const Diagnostic& other) {
  // Shapes that do not broadcast are each a mistake, unless one function gives what fits nowhere.
  const auto given_by = [](const Diagnostic& each) {
    const auto label = std::ranges::find(each.labels, Tie::Gives, &Label::tie);
    return label != each.labels.end() ? label->span : Span{};
  };
  if (one.code == Code::E0304 && (given_by(one).is_empty() || given_by(one) != given_by(other))) return false;
  return one.code == other.code && one.message == other.message && one.span.source == other.span.source &&
         (one.helps == other.helps || one.message.starts_with("cannot "));
}

/// A sign of another language is read as what it is here, and may not fit where it stands; what ends a line that cannot be read
/// belongs nowhere.
void forget_misread(std::vector<Diagnostic>& told) {
  const auto follows = [](const Diagnostic& one, const Diagnostic& other) {
    return (one.code == Code::E0201 && other.code == Code::E0109) ||
           (one.code == Code::E0203 && other.code == Code::E0201);
  };
  // What stands right before a word of Python, `x is "a"`, is a part of what is meant.
  std::erase_if(told, [&](const Diagnostic& one) {
    return (one.code == Code::E0309 || one.code == Code::E0313) &&
           std::ranges::any_of(told, [&](const Diagnostic& other) {
             return other.code == Code::E0206 && other.span.source == one.span.source &&
                    (other.span.begin == one.span.end || other.span.begin == one.span.end + 1);
           });
  });
  // What is `true` here may not be what is wanted there.
  std::erase_if(told, [&](const Diagnostic& one) {
    return one.code == Code::E0206 && std::ranges::any_of(told, [&](const Diagnostic& other) {
             return (other.code == Code::E0309 || other.code == Code::E0313) && other.span == one.span;
           });
  });
  std::erase_if(told, [&](const Diagnostic& one) {
    return std::ranges::any_of(told, [&](const Diagnostic& other) {
      return follows(one, other) && other.span.source == one.span.source && other.span.begin == one.span.begin;
    });
  });
}

void join_same_words(std::vector<Diagnostic>& told) {
  std::vector<Diagnostic> out;
  for (Diagnostic& one : told) {
    const auto first =
        std::ranges::find_if(out, [&](const Diagnostic& other) { return is_of_fit(one.code) && say_same(one, other); });
    if (first == out.end()) {
      out.push_back(std::move(one));
      continue;
    }
    first->label(one.span, "here, too");
    first->fixes.insert(first->fixes.end(), one.fixes.begin(), one.fixes.end());
  }
  told = std::move(out);
}

/// The place of the same file that asks for what does not hold.
std::optional<Span> asked_at(const Diagnostic& one) {
  const auto label = std::ranges::find(one.labels, Tie::Required, &Label::tie);
  const bool is_size = one.code == Code::E0303 || one.code == Code::E0305;
  const bool is_here = label != one.labels.end() && is_size && label->span.source == one.span.source;
  return is_here ? std::optional(label->span) : std::nullopt;
}

/// Where a line asks for what several uses do not give, or what it has not itself, that line is the mistake.
void join_at_origin(std::vector<Diagnostic>& told) {
  std::map<Span, std::vector<size_t>> uses;  // by the place that asks
  for (size_t i = 0; i < told.size(); ++i) {
    if (const auto place = asked_at(told[i])) uses[*place].push_back(i);
  }
  std::vector<bool> is_joined(told.size());
  for (const auto& [place, indices] : uses) {
    const auto own = std::ranges::find_if(told, [&](const Diagnostic& one) {
      return is_error(one) && one.span.source == place.source && one.span.begin <= place.begin &&
             place.end <= one.span.end;
    });
    if (own == told.end() && indices.size() == 1) continue;
    Diagnostic& whole = own != told.end() ? *own : told[indices[0]];
    if (own == told.end()) {
      std::erase_if(whole.labels, [](const Label& label) { return label.tie == Tie::Required; });
      whole.labels.insert(whole.labels.begin(), {std::exchange(whole.span, place), "as it is built here"});
    }
    for (const size_t index : indices) {
      if (&told[index] == &whole || is_joined[index]) continue;
      is_joined[index] = true;
      whole.label(told[index].span, "{}", own != told.end() ? "nor does it fit here" : "and here");
    }
  }
  std::vector<Diagnostic> out;
  for (size_t i = 0; i < told.size(); ++i) {
    if (!is_joined[i]) out.push_back(std::move(told[i]));
  }
  told = std::move(out);
}

}  // namespace

std::vector<Diagnostic> without_consequences(std::vector<Diagnostic> sorted) {
  if (sorted.size() < 2) return sorted;
  withhold_unreached(sorted);
  withhold_unread_batch(sorted);
  withhold_at_errors(sorted);
  forget_misread(sorted);
  join_same_words(sorted);
  join_at_origin(sorted);
  join_of_one_cause(sorted);
  return sorted;
}

}  // namespace ltr::diagnostics
