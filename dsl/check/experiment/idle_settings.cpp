// W0429: settings that say something of what does not happen.

#include <algorithm>

#include "dsl/check/experiment/wired.h"
#include "dsl/check/expressions/expressions.h"

namespace ltr::check {

namespace {

/// What a call of the library is given for a parameter; nothing where its default stands.
std::optional<ExprView> written_argument(const node::Call& call, const std::string& name, const Context& cx) {
  const auto found = std::ranges::find(call.args, name, &node::NamedArg::name);
  if (found == call.args.end()) return std::nullopt;
  const ExprView value = cx.at(found->value);
  return value.span.is_empty() ? std::nullopt : std::optional(value);
}

struct IdleSettings {
  Context& cx;
  const Experiment& experiment;

  void report(Span place, const std::string& what, const auto& add) {
    if (is_reported(cx, diagnostics::Code::W0429, place)) return;
    diagnostics::Diagnostic diagnostic = diag::idle_setting(place, what);
    add(diagnostic);
    cx.report(std::move(diagnostic));
  }

  /// `nan_limit` counts batches that `nan = skip` leaves out.
  void check_nan_limit() {
    const SettingValue* limit = find_setting(experiment.trainer, "nan_limit");
    const SettingValue* rule = find_setting(experiment.trainer, "nan");
    const std::string word = rule != nullptr ? text_of(rule->value) : "stop";
    if (limit == nullptr || word.empty() || word == "skip") return;
    report(limit->span, "nan_limit", [&](diagnostics::Diagnostic& diagnostic) {
      diagnostic.note("it is the most batches in a row that `nan = skip` leaves out")
          .help("say `nan = skip`, or take it away");
    });
  }

  void check_callback(const node::Call& call, Span place) {
    if (call.op == library::Id::Checkpoint) {
      const auto mode = written_argument(call, "mode", cx);
      if (!mode || written_argument(call, "monitor", cx)) return;
      report(mode->span, "mode", [&](diagnostics::Diagnostic& diagnostic) {
        diagnostic.note("without a `monitor` no checkpoint is better than another")
            .help("say what is watched: `monitor = val.loss`");
      });
    } else if (call.op == library::Id::FreezeUntil) {
      const auto epoch = written_argument(call, "epoch", cx);
      const auto value = epoch ? evaluate(*epoch, cx.program) : std::nullopt;
      if (!value || value->whole != 0 || !epoch->is<node::IntConst>()) return;
      report(epoch->span, "FreezeUntil", [&](diagnostics::Diagnostic& diagnostic) {
        diagnostic.note("epochs count from 0: what is held until epoch 0 is never held");
      });
    } else if (call.op == library::Id::EarlyStop) {
      check_least_epochs(place);
    }
  }

  /// Where training has to come to its end, nothing ends it early.
  void check_least_epochs(Span stop) {
    for (const auto& [least, most] : {std::pair("min_epochs", "epochs"), std::pair("min_steps", "steps")}) {
      const SettingValue* from = find_setting(experiment.trainer, least);
      const SettingValue* to = find_setting(experiment.trainer, most);
      if (from == nullptr || to == nullptr) continue;
      const auto *low = from->value.get<node::IntConst>(), *high = to->value.get<node::IntConst>();
      if (low == nullptr || high == nullptr || low->value != high->value) continue;
      report(stop, "EarlyStop", [&](diagnostics::Diagnostic& diagnostic) {
        diagnostic.label(from->span, "training goes on to its end").help("give `{}` fewer than `{}`", least, most);
      });
    }
  }
};

}  // namespace

void check_idle_settings(Context& cx, const Experiment& experiment) {
  IdleSettings idle{cx, experiment};
  idle.check_nan_limit();
  for (const Expr& one : experiment.callbacks) {
    if (const auto* call = one.get<node::Call>()) idle.check_callback(*call, one.span);
  }
}

}  // namespace ltr::check
