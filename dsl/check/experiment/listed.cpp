// `callbacks { … }` and `loggers { … }`.

#include "dsl/check/experiment/experiment.h"

#include <algorithm>

#include "dsl/check/declarations/declarations.h"
#include "dsl/check/experiment/settings.h"
#include "dsl/check/experiment/wired.h"
#include "dsl/check/expressions/call.h"
#include "dsl/check/library/library_call.h"
#include "dsl/resolve/library.h"

namespace ltr::check {

namespace {

/// "{epoch:03}-{val.acc:.3}" is filled in by the callback, with values of its time.
std::optional<Expr> filename_pattern(const ast::Expr& value, const Context& cx) {
  const auto* text = value.get<ast::StrLiteral>();
  if (text == nullptr) return std::nullopt;
  std::string pattern;
  for (const ast::StrPart& part : text->parts) {
    if (!part.value) {
      pattern += part.text;
    } else {
      pattern += "{" + cx.source_text((*part.value)->span) + (part.format.empty() ? "" : ":" + part.format) + "}";
    }
  }
  return str_const(pattern, value.span);
}

/// The functions of the library that give a `receiver`.
std::vector<std::string> receivers(const Context& cx) {
  std::vector<std::string> names;
  for (const auto& [name, symbol] : cx.graph.setting_values) {
    const auto* result = symbol.fn->result->get<ast::NamedType>();
    if (result != nullptr && result->name.text == "receiver") names.push_back(name);
  }
  return names;
}

void report_unknown_listed(const ast::Name& name, const std::vector<Given>& given, const std::string& what, Kind kind,
                           Scope& scope) {
  Context& cx = scope.cx;
  std::vector<std::string> known;
  for (const std::string& candidate : resolve::LibraryIndex::get().names(what + "s/")) known.push_back(candidate);
  // They stand in a callback.
  const std::vector<std::string> chats = receivers(cx);
  std::erase_if(known, [&](const std::string& one) { return std::ranges::find(chats, one) != chats.end(); });
  for (const std::string& candidate : cx.graph.visible(scope.module)) {
    const Symbol* other = cx.graph.find(scope.module, candidate);
    const bool is_own = other != nullptr && other->kind == SymbolKind::Callback && kind == Kind::CallbackValue;
    if (is_own && std::ranges::find(known, candidate) == known.end()) known.push_back(candidate);
  }
  diagnostics::Diagnostic diagnostic = diag::unknown_callback(name.span, what, name.text);
  const std::string of_file = "." + name.text;
  const auto qualified = std::find_if(known.begin(), known.end(),
                                      [&](const std::string& candidate) { return candidate.ends_with(of_file); });
  if (std::ranges::find(chats, name.text) != chats.end())
    diagnostic.help("`Notify(to = {}(…))` tells it", name.text);
  else if (qualified != known.end())
    diagnostic.help("it is in the file that is imported: `{}`", *qualified).fix(name.span, *qualified);
  else if (!did_you_mean(diagnostic, name.text, name.span, known))
    note_there_are(diagnostic, known);
  rename_arguments(diagnostic, given, scope);
  cx.report(std::move(diagnostic));
}

/// Reports a callback or logger that is named, and not called.
std::nullopt_t report_listed_name(const ast::Name& name, Span span, const std::string& what, Kind kind, Scope& scope) {
  Context& cx = scope.cx;
  const Symbol* symbol = cx.graph.find(scope.module, name.text);
  if (symbol != nullptr && symbol->kind == SymbolKind::Error) return std::nullopt;
  const std::vector<ParamInfo>* params = nullptr;
  if (symbol != nullptr && symbol->kind == SymbolKind::Op && fn_of(cx, *symbol).result.kind == kind)
    params = &fn_of(cx, *symbol).params;
  if (symbol != nullptr && symbol->kind == SymbolKind::Callback && kind == Kind::CallbackValue)
    params = &object_of(cx, *symbol).params;
  if (params == nullptr) {
    report_unknown_listed(name, {}, what, kind, scope);
    return std::nullopt;
  }
  std::string needed;
  for (const ParamInfo& param : *params) {
    if (param.initial == nullptr) needed += (needed.empty() ? "" : ", ") + param.name + " = …";
  }
  diagnostics::Diagnostic diagnostic =
      diag::wrong_type(span, "a " + what + " is called: `" + name.text + "` alone is its name");
  diagnostic.help("`{}({})`", name.text, needed);
  if (needed.empty()) diagnostic.fix({span.source, span.end, span.end}, "()");
  cx.report(std::move(diagnostic));
  return std::nullopt;
}

/// The periods of a callback count what it can.
bool check_periods(const node::Call& call, Context& cx) {
  const library::Periods periods = library::info(call.op).periods;
  for (const node::NamedArg& arg : call.args) {
    const ExprView value = cx.at(arg.value);
    const auto* period = value.get<node::Quantity>();
    if (period == nullptr || value.type.kind == Kind::Bytes || periods == library::Periods::AnyPeriod) continue;
    const bool in_steps = period->measure == host::Measure::Steps, in_epochs = period->measure == host::Measure::Epochs;
    const bool fits = periods == library::Periods::InSteps    ? in_steps
                      : periods == library::Periods::InEpochs ? in_epochs
                                                              : in_steps || in_epochs;
    if (fits) continue;
    const char* what = periods == library::Periods::InSteps    ? "steps"
                       : periods == library::Periods::InEpochs ? "epochs"
                                                               : "steps or epochs";
    diagnostics::Diagnostic diagnostic =
        diag::wrong_type(value.span, "`" + arg.name + "` of `" + call.name + "` counts " + what);
    const bool takes_epochs = periods != library::Periods::InSteps;
    diagnostic.help("such as `{} = {}`", arg.name, takes_epochs ? "1 epoch" : "100 steps");
    cx.report(std::move(diagnostic));
    return false;
  }
  return true;
}

/// What is given for parameters that are chats or servers; false after a report.
bool read_receivers(const std::vector<ParamInfo>& params, CallSite& site) {
  Context& cx = site.scope.cx;
  for (size_t i = 0; i < site.given.size(); ++i) {
    Given& given = site.given[i];
    const auto param = std::find_if(params.begin(), params.end(), [&](const ParamInfo& one) {
      return given.name ? one.name == given.name->text : i < params.size() && &one == &params[i];
    });
    if (param == params.end() || param->type.name != "receiver" || given.value == nullptr) continue;
    const std::vector<std::string> known = receivers(cx);
    const size_t told = cx.sink->error_count();
    given.checked = check_setting_call(*given.value, known, site.scope);
    if (given.checked) continue;
    if (cx.sink->error_count() != told) return false;
    std::string text;
    for (const std::string& one : known) text += (text.empty() ? "`" : "`, `") + one;
    cx.report(diag::wrong_argument(given.value->span,
                                   "`" + param->name + "` of `" + site.name + "` is an address of a chat or server")
                  .help("`{}(env(\"ADDRESS\"))`; there are {}`", known[0], text));
    return false;
  }
  return true;
}

/// `callbacks { … }` and `loggers { … }`: calls of the library or of the program's own callbacks.
std::optional<Expr> check_listed(const ast::Expr& value, const std::string& what, Kind kind, Scope& scope) {
  Context& cx = scope.cx;
  const auto* call = value.get<ast::Call>();
  const std::optional<ast::Name> name = call != nullptr ? name_written(*call->callee) : std::nullopt;
  if (!name && name_written(value)) return report_listed_name(*name_written(value), value.span, what, kind, scope);
  if (!name) {
    if (!value.is_error())
      cx.report(diag::wrong_type(value.span, "a " + what + " is wanted here, such as `" +
                                                 (kind == Kind::Logger ? "Csv()" : "LrMonitor()") + "`"));
    return std::nullopt;
  }
  CallSite site{name->text, name->span, value.span, {}, scope};
  site.given = given_of(*call);
  for (Given& given : site.given) {
    if (given.name && given.name->text == "filename") given.checked = filename_pattern(*given.value, cx);
  }
  const Symbol* symbol = cx.graph.find(scope.module, name->text);
  if (symbol != nullptr && symbol->kind == SymbolKind::Op && fn_of(cx, *symbol).result.kind == kind) {
    if (!read_receivers(fn_of(cx, *symbol).params, site)) return std::nullopt;
    Expr result = call_op(fn_of(cx, *symbol), site);
    const auto* made = result.get<node::Call>();
    if (result.type.is_error() || (made != nullptr && !check_periods(*made, cx))) return std::nullopt;
    return result;
  }
  if (symbol != nullptr && symbol->kind == SymbolKind::Callback && kind == Kind::CallbackValue) {
    ObjectInfo& object = object_of(cx, *symbol);
    complete(cx, object);
    const auto bound = bind_arguments(object.params, site, object.name);
    if (!bound) return std::nullopt;
    node::Call call{.name = object.name, .op = library::Id::None, .args = {}};
    std::vector<Expr> args;
    for (size_t i = 0; i < object.params.size(); ++i) {
      const ParamInfo& param = object.params[i];
      const std::string label = "`" + param.name + "`";
      args.push_back((*bound)[i] != nullptr ? check_given_as(*(*bound)[i], param.type, scope, label.c_str())
                                            : default_of(object.params, i, args, object.module, scope));
      if (args.back().type.is_error()) return std::nullopt;
      call.args.push_back({param.name, cx.keep(args.back())});
    }
    return Expr{Type::of(Kind::CallbackValue), value.span, std::move(call)};
  }
  if (symbol != nullptr && symbol->kind == SymbolKind::Error) return std::nullopt;
  report_unknown_listed(*name, site.given, what, kind, scope);
  return std::nullopt;
}

/// Whether it is one of the library's that watches a series, whatever else is wrong with it: those log nothing.
bool only_watches(const ast::Expr& value, const Scope& scope) {
  const auto* call = value.get<ast::Call>();
  const auto* name = (call != nullptr ? *call->callee : value).get<ast::NameRef>();
  const Symbol* symbol = name != nullptr ? scope.cx.graph.find(scope.module, name->name.text) : nullptr;
  return symbol != nullptr && symbol->kind == SymbolKind::Op &&
         std::ranges::any_of(fn_of(scope.cx, *symbol).params, [](const ParamInfo& param) {
           const bool is_option = param.type.kind == Kind::Option;
           return (is_option ? param.type.fields[0].type : param.type).kind == Kind::Series;
         });
}

}  // namespace

bool check_all_listed(const ast::Section& section, const std::string& what, Kind kind, Scope& scope,
                      std::vector<Expr>& into) {
  bool all_known = true;
  for (const ast::Expr& value : section.values) {
    Scope there = scope.in_file_of(value.span);
    if (auto listed = check_listed(value, what, kind, there))
      into.push_back(std::move(*listed));
    else
      all_known = all_known && only_watches(value, scope);
  }
  return all_known;
}

void check_callback_models(Context& cx, const Experiment& experiment) {
  const std::string& model = cx.program.models[experiment.model].name;
  for (const Expr& one : experiment.callbacks) {
    const auto* call = one.get<node::Call>();
    if (call == nullptr || call->op != library::Id::None) continue;
    const auto listed = std::find_if(cx.program.callbacks.begin(), cx.program.callbacks.end(),
                                     [&](const Object& callback) { return callback.name == call->name; });
    if (listed == cx.program.callbacks.end() || listed->model.empty() || listed->model == model ||
        is_reported(cx, diagnostics::Code::E0621, one.span))
      continue;
    cx.report(
        diag::callback_of_other_model(one.span, call->name, listed->model, model)
            .note("its hooks read the members of `{}`", listed->model)
            .help("a callback without `for` goes with every model, and logs or prints series: `metric(val.loss)`"));
  }
}

void check_taken(Context& cx, const Experiment& experiment) {
  const auto is_call_of = [](library::Id wanted) {
    return [=](const Expr& one) {
      const auto* call = one.get<node::Call>();
      return call != nullptr && call->op == wanted;
    };
  };
  if (std::ranges::any_of(experiment.loggers, is_call_of(library::Id::TensorBoardLogger))) return;
  const auto report = [&](Span span, const std::string& what) {
    if (is_reported(cx, diagnostics::Code::W0411, span)) return;
    cx.report(diag::not_taken(span, what).help("`TensorBoard()` does: list it under `loggers`"));
  };
  const auto histograms = std::ranges::find_if(experiment.callbacks, is_call_of(library::Id::Histograms));
  if (histograms != experiment.callbacks.end()) report(histograms->span, "Histograms");
  // Who lists no logger at all looks at the screen.
  if (experiment.loggers.empty()) return;
  for (const LogEntry& log : cx.program.logs) {
    const bool is_its = log.owner == cx.program.models[experiment.model].name ||
                        std::ranges::any_of(experiment.callbacks, [&](const Expr& one) {
                          const auto* call = one.get<node::Call>();
                          return call != nullptr && call->name == log.owner;
                        });
    if (is_its && (log.kind == "image" || log.kind == "histogram" || log.kind == "text"))
      report(log.span, "log " + log.kind + " " + log.name);
  }
}

namespace {

/// The folder of a `Checkpoint`, if it stands in the program.
std::optional<std::string> checkpoint_folder(const node::Call& call, const Context& cx) {
  for (const node::NamedArg& arg : call.args) {
    const auto* text = arg.name == "dir" ? cx.at(arg.value).get<node::StrConst>() : nullptr;
    if (text != nullptr) return text->text;
  }
  return std::nullopt;
}

void check_checkpoint_folders(Context& cx, const Experiment& experiment) {
  std::optional<std::pair<std::string, Span>> first;
  for (const Expr& one : experiment.callbacks) {
    const auto* call = one.get<node::Call>();
    if (call == nullptr || call->op != library::Id::Checkpoint) continue;
    const std::optional<std::string> folder = checkpoint_folder(*call, cx);
    if (!folder) continue;
    if (!first) {
      first.emplace(*folder, one.span);
    } else if (first->first != *folder && !is_reported(cx, diagnostics::Code::E0622, one.span)) {
      cx.report(diag::two_checkpoint_folders(one.span)
                    .label(first->second, "this one writes into \"{}\"", first->first)
                    .help("give both the same `dir`; names of their own come from `filename`"));
    }
  }
}

/// Rounds have one set of weights: those of one callback that averages.
void check_averages(Context& cx, const Experiment& experiment) {
  const Expr* first = nullptr;
  for (const Expr& one : experiment.callbacks) {
    const auto* call = one.get<node::Call>();
    if (call == nullptr || (call->op != library::Id::Ema && call->op != library::Id::Swa)) continue;
    const bool is_other = first != nullptr && first->get<node::Call>()->op != call->op;
    if (is_other && !is_reported(cx, diagnostics::Code::E0309, one.span)) {
      cx.report(diag::wrong_argument(one.span, "`" + call->name + "` and `" + first->get<node::Call>()->name +
                                                   "` both average the weights, and rounds can have one of them")
                    .label(first->span, "the other one"));
    }
    if (first == nullptr) first = &one;
  }
}

/// Which file of `samples/` it writes, by its stream and field: `("val", "image")`.
std::string shown_by(const node::Call& call, const Context& cx) {
  std::string texts;
  for (const node::NamedArg& arg : call.args) {
    if (arg.name == "stream" || arg.name == "field")
      texts += (texts.empty() ? "" : ", ") + arg.name + " = \"" + text_of(cx.at(arg.value)) + "\"";
  }
  return "(" + texts + ")";
}

/// Whether a batch holds tokens: `Throughput` counts the elements of its first `i64[B, T]`.
bool has_tokens(const Type& batch) {
  return std::any_of(batch.fields.begin(), batch.fields.end(), [](const TypeField& field) {
    return field.type.is_tensor() && field.type.element == Element::I64 && field.type.dims.size() == 2;
  });
}

}  // namespace

void check_counted_tokens(Context& cx, const Experiment& experiment) {
  const DataObject& data = cx.program.datas[experiment.data];
  for (const Expr& one : experiment.callbacks) {
    const auto* call = one.get<node::Call>();
    if (call == nullptr || call->op != library::Id::Throughput || data.object.is_damaged || has_tokens(data.batch))
      continue;
    for (const node::NamedArg& arg : call->args) {
      const ExprView value = cx.at(arg.value);
      const auto* word = arg.name == "unit" ? value.get<node::Symbol>() : nullptr;
      if (word == nullptr || word->text != "tokens" || is_reported(cx, diagnostics::Code::E0309, value.span)) continue;
      cx.report(
          diag::wrong_argument(value.span, "a token is an element of the first field `i64[B, T]` of a batch, and `" +
                                               data.object.name + "` has no such field")
              .help("`Throughput(unit = samples)`"));
    }
  }
}

void list_implied(Experiment& experiment, Scope& scope) {
  const auto is_there = [&](library::Id id) {
    return std::any_of(experiment.callbacks.begin(), experiment.callbacks.end(),
                       [&](const Expr& one) { return one.get<node::Call>()->op == id; });
  };
  for (const std::string_view name : resolve::kImpliedCallbacks) {
    const library::Id id = library::find(library::Space::Settings, name);
    if (is_there(id)) continue;
    const FnInfo& callback = fn_of(scope.cx, id);
    CallSite site{callback.name, experiment.span, experiment.span, {}, scope};
    experiment.implied.push_back(call_op(callback, site));
  }
}

void check_listed_twice(Context& cx, const Experiment& experiment) {
  check_checkpoint_folders(cx, experiment);
  check_averages(cx, experiment);
  const auto check = [&](const std::vector<Expr>& listed) {
    std::vector<std::pair<std::string, Span>> before;
    for (const Expr& one : listed) {
      const auto* call = one.get<node::Call>();
      if (call == nullptr) continue;
      std::string what = call->name;
      if (call->op == library::Id::CsvLogger) {
        const auto* file = cx.at(call->args[0].value).get<node::StrConst>();
        if (file == nullptr) continue;
        what += "(file = \"" + file->text + "\")";
      } else if (library::info(call->op).shows_rounds) {
        what += shown_by(*call, cx);
      } else if (call->op == library::Id::StopOnSignal) {
        what += "(signal = " + text_of(cx.at(call->args[0].value)) + ")";
      } else if (call->op == library::Id::FreezeUntil || call->op == library::Id::Unfreeze) {
        continue;  // Two that hold a weight are told by their weights.
      } else if (!library::info(call->op).is_single) {
        // Of others several may stand there; two of the same words do what one does.
        what = cx.source_text(one.span);
      }
      // Of two files each may have a callback of one name.
      const std::string key = call->name + " " + what;
      const auto first =
          std::find_if(before.begin(), before.end(), [&](const auto& other) { return other.first == key; });
      if (first == before.end()) {
        before.emplace_back(key, one.span);
      } else if (!is_reported(cx, diagnostics::Code::E0612, one.span)) {
        cx.report(diag::setting_twice(one.span, what).label(first->second, "first here"));
      }
    }
  };
  check(experiment.callbacks);
  check(experiment.loggers);
}

}  // namespace ltr::check
