// What is shown of rounds: `SamplePredictions` and `ImageGrid` name streams and fields by texts; and what needs a `step predict`.

#include <algorithm>

#include "dsl/check/experiment/wired.h"
#include "dsl/diagnostics/suggest.h"
#include "runtime/tables/roles.h"

namespace ltr::check {

namespace {

/// The text that is given as `name`, with its place; empty where it is no text that stands there.
std::pair<std::string, Span> text_given(const node::Call& call, const std::string& name, const Context& cx) {
  for (const node::NamedArg& arg : call.args) {
    const auto* text = arg.name == name ? cx.at(arg.value).get<node::StrConst>() : nullptr;
    if (text != nullptr) return {text->text, cx.at(arg.value).span};
  }
  return {};
}

/// `val` is the first of several, too.
bool is_called(const StreamDecl& stream, const std::string& name) {
  return name == stream.role || name == stream.role + "." + stream.name;
}

/// `[B, C, H, W]` or `[B, H, W]`.
bool holds_images(const Type& field) {
  const auto is_open = [](const Dim& dim) { return dim.group != 0; };
  if (!field.is_tensor() || std::any_of(field.dims.begin(), field.dims.end(), is_open)) return field.is_error();
  return field.dims.size() == 3 || field.dims.size() == 4;
}

void check_stream(const node::Call& call, Span place, const DataObject& data, Context& cx) {
  auto [name, given_at] = text_given(call, "stream", cx);
  if (name.empty()) name = "val";
  const Span span = given_at.is_empty() ? place : given_at;
  std::vector<std::string> known;
  for (const StreamDecl& one : data.streams) {
    if (one.role == kValRole) known.push_back(one.name.empty() ? one.role : one.role + "." + one.name);
  }
  const auto stream = std::find_if(data.streams.begin(), data.streams.end(), [&, wanted = name](const StreamDecl& one) {
    return one.role == kValRole && is_called(one, wanted);
  });
  if (stream == data.streams.end()) {
    if (is_reported(cx, diagnostics::Code::E0504, span)) return;
    diagnostics::Diagnostic diagnostic = diag::no_stream(span, data.object.name, name);
    if (known.empty())
      diagnostic.note("rounds go over `val` streams, and it has none");
    else
      diagnostic.note("rounds go over {}", diagnostics::listed(known));
    return cx.report(std::move(diagnostic));
  }
  const auto [field, field_at] = text_given(call, "field", cx);
  if (field.empty() || stream->record.is_error()) return;
  std::string images;
  for (const TypeField& one : stream->record.fields) {
    if (holds_images(one.type)) images += (images.empty() ? "`" : ", `") + one.name + "`";
  }
  const TypeField* found = stream->record.find(field);
  if (found != nullptr && holds_images(found->type)) return;
  const std::string note =
      images.empty() ? "no field holds images, `[B, C, H, W]` or `[B, H, W]`" : "images are in " + images;
  if (found == nullptr) {
    if (is_reported(cx, diagnostics::Code::E0515, field_at)) return;
    cx.report(diag::hook_wants_field(field_at, call.name, field, data.object.name)
                  .label(stream->span, "this stream lacks it")
                  .note("{}", note));
  } else if (!is_reported(cx, diagnostics::Code::E0309, field_at)) {
    cx.report(diag::wrong_argument(field_at, "`" + field + "` holds no images: it is " + cx.text(found->type))
                  .note("{}", note));
  }
}

/// E0309: what it shows, or answers, is given by `step predict`.
void check_predicts(Span span, const Experiment& experiment, Context& cx) {
  const Object& model = cx.program.models[experiment.model];
  const bool predicts = std::ranges::any_of(model.fns, [&](FnId id) {
    return cx.program.fns[id].role == FnRole::Step && cx.program.fns[id].name == kPredictRole;
  });
  if (predicts || model.is_damaged || is_reported(cx, diagnostics::Code::E0309, span)) return;
  cx.report(diag::wrong_argument(span, "it needs a `step predict`, and `" + model.name + "` has none")
                .label(model.span, "the model"));
}

/// E0504: step predict is given the records of a round as it is given those of its own stream.
void check_predict_stream(Span span, const DataObject& data, Context& cx) {
  const bool has_own =
      std::ranges::any_of(data.streams, [](const StreamDecl& one) { return one.role == kPredictRole; });
  if (has_own || is_reported(cx, diagnostics::Code::E0504, span)) return;
  cx.report(diag::no_stream(span, data.object.name, std::string(kPredictRole))
                .note("without it `step predict` takes what the command line gives, and no records")
                .help("`predict = …` in the data, of records as those of `val`"));
}

}  // namespace

void check_shown(Context& cx, const Experiment& experiment) {
  const DataObject& data = cx.program.datas[experiment.data];
  if (data.object.is_damaged) return;
  if (!experiment.serve.empty()) check_predicts(experiment.serve.front().span, experiment, cx);
  for (const Expr& callback : experiment.callbacks) {
    const auto* call = callback.get<node::Call>();
    if (call == nullptr || !library::info(call->op).shows_rounds) continue;
    const size_t errors = cx.sink->error_count();
    const bool predicts = call->op == library::Id::SamplePredictions;
    if (predicts) check_predicts(callback.span, experiment, cx);
    check_stream(*call, callback.span, data, cx);
    if (predicts && cx.sink->error_count() == errors) check_predict_stream(callback.span, data, cx);
  }
}

}  // namespace ltr::check
