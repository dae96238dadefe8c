#include "dsl/weights/comparison.h"

#include <algorithm>

#include "dsl/diagnostics/suggest.h"

namespace ltr::weights {

using check::Element;
using check::Polynomial;
using check::WeightRule;
using diagnostics::Diagnostic;

namespace {

/// The element type that a stored one is.
std::optional<Element> element_of_dtype(const std::string& dtype) {
  static const std::map<std::string, Element> kElements = {
      {"F64", Element::F64}, {"F32", Element::F32},  {"F16", Element::F16}, {"BF16", Element::BF16},
      {"I64", Element::I64}, {"I32", Element::I32},  {"I16", Element::I16}, {"I8", Element::I8},
      {"U8", Element::U8},   {"BOOL", Element::Bool}};
  const auto found = kElements.find(dtype);
  return found == kElements.end() ? std::nullopt : std::optional(found->second);
}

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

/// One mistake mostly shows in several tensors: what is found behind the first is a note to it.
void add(std::optional<Diagnostic>& all, Diagnostic one) {
  constexpr size_t kMostNotes = 8;
  if (!all) {
    all = std::move(one);
  } else if (all->notes.size() < kMostNotes) {
    all->note("{}", one.message);
  }
}

}  // namespace

std::string joined(const std::vector<std::string>& names) {
  constexpr size_t kShown = 8;
  std::string text;
  for (size_t i = 0; i < names.size() && i < kShown; ++i) text += (i == 0 ? "`" : ", `") + names[i] + "`";
  if (names.size() > kShown) text += " and " + std::to_string(names.size() - kShown) + " more";
  return text;
}

Comparison::Comparison(const check::Member& member, WeightsFile file, const Files& files, Findings& found)
    : member_(member), source_(*member.source), file_(std::move(file)), files_(files), found_(found) {
  for (const StoredTensor& tensor : file_.tensors) stored_names_.push_back(tensor.name);
  for (const StoredTensor& tensor : file_.tensors) stored_.emplace(tensor.name, &tensor);
}

void Comparison::compare_alone(const MemberTensors& tensors) {
  const LoadPlan plan = plan_for(tensors);
  if (!is_there()) return frozen_names(tensors, plan);
  names(tensors, plan);
  was_complete_ = tensors.is_complete();
  shapes(tensors, plan, false);
}

void Comparison::compare_in_experiment(const MemberTensors& tensors) {
  const LoadPlan plan = plan_for(tensors);
  if (!is_there()) {
    if (!was_complete_) frozen_names(tensors, plan);
    return;
  }
  if (!was_complete_ && tensors.is_complete()) names(tensors, plan);
  shapes(tensors, plan, true);
}

LoadPlan Comparison::plan_for(const MemberTensors& tensors) const {
  return files_.plan(tensors.wanted(), stored_names_, source_.rules);
}

void Comparison::frozen_names(const MemberTensors& tensors, const LoadPlan& plan) {
  was_complete_ = tensors.is_complete();
  for (const size_t rule : plan.idle_rules) {
    if (was_complete_ && source_.rules[rule].kind == WeightRule::Kind::Freeze) idle(rule, tensors);
  }
}

void Comparison::names(const MemberTensors& tensors, const LoadPlan& plan) {
  if (!plan.rename_from.empty()) {
    found_.sink.report(missing(plan.missing)
                           .help("the names fit with `{ rename \"{}\" => \"{}\" }`", plan.rename_from, plan.rename_to));
    return;
  }
  for (const size_t rule : plan.idle_rules) {
    if (tensors.is_complete() || source_.rules[rule].kind == WeightRule::Kind::Rename) idle(rule, tensors);
  }
  // A rule that matches nothing is why names are left over.
  if (!plan.idle_rules.empty()) return;
  // Where hardly any name fits, and none is said to be another, the file is of something else.
  const bool is_plain =
      std::ranges::all_of(source_.rules, [](const WeightRule& rule) { return rule.kind == WeightRule::Kind::Freeze; });
  const bool is_other = is_plain && plan.missing.size() > 2 && plan.loads.size() * 5 <= plan.missing.size();
  if (is_other && tensors.is_complete() && !plan.unexpected.empty()) {
    found_.sink.report(diag::weights_missing(source_.span, file_name(), plan.missing.front())
                           .label(member_.span, "`{}` has {}", member_.name, joined(plan.missing))
                           .note("it has {}", joined(plan.unexpected))
                           .help("the file is of another architecture: build the member as the file has it, or name "
                                 "another file"));
    return;
  }
  if (!plan.missing.empty()) {
    Diagnostic diagnostic = missing(plan.missing);
    if (const WeightRule* skip = skipped_by(plan.missing.front(), tensors)) {
      diagnostic.label(skip->span, "this `skip` takes it").help("let \"{}\" match less", skip->pattern);
    } else {
      diagnostic.help("leave it out with `skip \"{}\"`, or name what it is called there with `rename`",
                      plan.missing.front());
    }
    found_.sink.report(std::move(diagnostic));
  }
  if (tensors.is_complete() && !plan.unexpected.empty()) unexpected(plan.unexpected);
  dtypes(tensors, plan);
}

void Comparison::shapes(const MemberTensors& tensors, const LoadPlan& plan, bool is_wired) {
  std::optional<Diagnostic> differing;
  for (const auto& [name, stored] : plan.loads) {
    const check::Type type = tensors.type_of(name);
    const std::vector<int64_t>& shape = stored_.at(stored)->shape;
    bool fits = type.dims.size() == shape.size();
    for (size_t i = 0; fits && i < shape.size(); ++i) {
      const auto size = type.dims[i].size.constant();
      fits = !size || *size == shape[i];
    }
    if (!fits && reported_.insert(name).second)
      add(differing, diag::weights_shape(source_.span, name, shape_text(shape), check::to_text(type, found_.atoms)));
    for (size_t i = 0; fits && is_wired && i < shape.size(); ++i) oblige(type.dims[i].size, shape[i], name);
  }
  if (differing) found_.sink.report(std::move(*differing));
}

void Comparison::dtypes(const MemberTensors& tensors, const LoadPlan& plan) {
  std::optional<Diagnostic> differing;
  for (const auto& [name, there] : plan.loads) {
    const Element wanted = tensors.type_of(name).element;
    const std::string& dtype = stored_.at(there)->dtype;
    const auto element = element_of_dtype(dtype);
    // Floats become floats of another width; nothing else changes its type.
    const bool fits = element && (*element == wanted || (check::is_floating(*element) && check::is_floating(wanted)));
    if (fits) continue;
    const std::string shown = element ? std::string(check::to_text(*element)) : dtype;
    add(differing, diag::weights_dtype(source_.span, name, shown, std::string(check::to_text(wanted))));
  }
  if (differing) found_.sink.report(std::move(*differing));
}

const WeightRule* Comparison::skipped_by(const std::string& name, const MemberTensors& tensors) const {
  for (size_t i = 0; i < source_.rules.size(); ++i) {
    if (source_.rules[i].kind != WeightRule::Kind::Skip) continue;
    std::vector<WeightRule> others = source_.rules;
    others.erase(others.begin() + long(i));
    const std::vector<std::string> missing = files_.plan(tensors.wanted(), stored_names_, others).missing;
    if (std::find(missing.begin(), missing.end(), name) == missing.end()) return &source_.rules[i];
  }
  return nullptr;
}

Diagnostic Comparison::missing(const std::vector<std::string>& names) const {
  Diagnostic diagnostic = diag::weights_missing(source_.span, file_name(), names.front());
  diagnostic.label(member_.span, "`{}` needs it", member_.name);
  if (const auto near = diagnostics::suggest(names.front(), stored_names_)) diagnostic.note("it has `{}`", *near);
  if (names.size() > 1) diagnostic.note("nor {}", joined({names.begin() + 1, names.end()}));
  return diagnostic;
}

void Comparison::unexpected(const std::vector<std::string>& names) {
  Diagnostic diagnostic = diag::weights_unexpected(source_.span, file_name(), names.front(), member_.name);
  if (names.size() > 1) diagnostic.note("and {}", joined({names.begin() + 1, names.end()}));
  found_.sink.report(std::move(diagnostic).help("leave it out with `skip \"{}\"`", names.front()));
}

void Comparison::idle(size_t index, const MemberTensors& tensors) {
  const WeightRule& rule = source_.rules[index];
  const bool is_block_side = rule.kind == WeightRule::Kind::Freeze;
  std::vector<std::string> names = stored_names_;
  if (is_block_side) {
    names.clear();
    for (const WantedTensor& tensor : tensors.wanted()) names.push_back(tensor.name);
  }
  found_.sink.report(diag::weights_pattern(rule.span, word_of(rule.kind), rule.pattern)
                         .note("{} has {}", is_block_side ? "`" + member_.name + "`" : file_name(), joined(names)));
}

void Comparison::oblige(const Polynomial& size, int64_t stored, const std::string& name) {
  if (size.constant() || found_.atoms.mentions_unknown(size)) return;
  check::Requirement requirement;
  requirement.left = size;
  requirement.right = Polynomial(stored);
  requirement.text =
      found_.atoms.to_text(size) + " == " + std::to_string(stored) + ", as `" + name + "` of " + file_name();
  requirement.origin = source_.span;
  found_.requirements.push_back(std::move(requirement));
}

const std::string& Comparison::file_name() const { return source_.path.get<check::node::StrConst>()->text; }

}  // namespace ltr::weights
