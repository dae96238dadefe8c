#include "runtime/train/planned_forms.h"

#include <algorithm>

#include <fmt/format.h>

namespace ltr {

namespace {

void visit_texts(Archive& archive, const Str& name, std::set<Str>& texts) {
  std::vector<Str> list(texts.begin(), texts.end());
  archive.list(name, list, [&](Str& text) { archive.value("text", text); });
  texts = {list.begin(), list.end()};
}

Str of(const Str& step, const Str& held) { return held.empty() ? step : step + " without " + held; }

}  // namespace

PlannedForms::Admission PlannedForms::admit(const Str& step, const Str& held, const Str& form) {
  Forms& forms = forms_[of(step, held)];
  if (forms.known.contains(form)) return Admission::Yes;
  const bool is_full = forms.known.size() >= kMost;
  if (is_full && forms.runs < int64_t(kMost) * kWorthwhile) return Admission::No;
  if (is_full) forms = {};
  forms.known.insert(form);
  return is_full ? Admission::InPlaceOfAll : Admission::Yes;
}

int64_t& PlannedForms::runs(const Str& step, const Str& held) { return forms_[of(step, held)].runs; }

bool PlannedForms::is_closed(const Str& step, const Str& held, const Str& key) const {
  const auto known = forms_.find(of(step, held));
  if (known == forms_.end() || known->second.known.size() < kMost) return false;
  const std::set<Str>& forms = known->second.known;
  const auto first = forms.lower_bound(key);  // Behind a key stands a blank, which sorts in front of its signs.
  return first == forms.end() || (*first != key && !first->starts_with(key + " "));
}

void PlannedForms::visit(Archive& archive) {
  if (!archive.has("plans")) return;
  const Archive::Part part(archive, "plans");
  visit_texts(archive, "op_by_op", op_by_op_);
  std::vector<Str> steps;
  for (const auto& [step, forms] : forms_) steps.push_back(step);
  archive.list("steps", steps, [&](Str& step) {
    archive.value("step", step);
    visit_texts(archive, "forms", forms_[step].known);
    if (archive.has("runs")) archive.value("runs", forms_[step].runs);
  });
}

Str form_of(const Str& key, const std::vector<plan::Guard>& guards) {
  Str form = key;
  for (const plan::Guard& guard : guards) {
    if (const auto* count = std::get_if<plan::CountRead>(&guard)) {
      form += fmt::format(" {}", count->value);
    } else if (const auto* period = std::get_if<plan::PeriodRead>(&guard)) {
      form += fmt::format(" {}{}={}", period->is_end ? "end " : "", period->period.to_text(), period->is_due);
    } else {
      const auto& truth = std::get<plan::TruthRead>(guard);
      form += fmt::format(" {}={}", truth.number, truth.value);
    }
  }
  return form;
}

}  // namespace ltr
