#include "dsl/check/declarations/declarations.h"

// How many values a metric gives. One, mostly. Where `compute` gives a vector, or `average = none` has `compute_each` asked
// in its place, each value is a series of its own, and a run asks how many they are before the first is there.

namespace ltr::check {

namespace {

constexpr const char* kNoAverage = "none";

const ParamInfo* find_average(const ObjectInfo& metric) {
  const auto param = std::find_if(metric.params.begin(), metric.params.end(),
                                  [](const ParamInfo& one) { return one.name == kAverage; });
  return param != metric.params.end() ? &*param : nullptr;
}

bool may_be_none(const Type& type) {
  return type.kind == Kind::OneOf &&
         std::find(type.choices.begin(), type.choices.end(), kNoAverage) != type.choices.end();
}

const FnInfo* find_fn(const ObjectInfo& metric, const std::string& name) {
  const auto fn = metric.fns.find(name);
  return fn != metric.fns.end() ? fn->second.get() : nullptr;
}

/// What can be logged.
bool is_value(const Type& type) { return type.is_error() || type.is_tensor() || type.is_host_number(); }

bool is_vector(const Type& type) { return type.is_tensor() && type.dims.size() == 1 && type.dims[0].group == 0; }

/// Adds the function `$length`, which the runtime calls, of a metric that gives several values: `fn` does, always or, as
/// `is_each` says, where `average` is `none`.
void add_length(Context& cx, ObjectInfo& metric, Object& typed, const FnInfo& fn, bool is_each) {
  const Span span = fn.ast->name.span;
  std::vector<Local> locals;
  Scope scope{.cx = cx, .module = metric.module, .place = Place::Fn, .owner = &metric, .locals = locals};
  std::optional<Expr> size = expr_of(fn.result.dims[0].size, scope, span);
  if (!size) return;
  const auto given = [&](Expr value) { return Body{{span, stmt::Return{cx.keep(std::move(value))}}}; };
  Fn length;
  length.body = given(std::move(*size));
  if (is_each) {
    const Type type = find_average(metric)->type;
    Expr average = member_of_self(kAverage, type, span, scope, true), none = symbol_const(kNoAverage, type, span);
    std::optional<Expr> is_none = compare_wholes(average, none, span, scope);
    if (!is_none) return;
    length.body = {{span, stmt::If{cx.keep(std::move(*is_none)), std::move(length.body), given(int_const(-1, span))}}};
  }
  length.name = "$length";
  length.owner = metric.name;
  length.role = FnRole::MetricLength;
  length.result = Type::host_int();
  length.span = span;
  typed.fns.push_back(uint32_t(cx.program.fns.size()));
  cx.program.fns.push_back(std::move(length));
}

/// E0309 or E0313 unless something asks for what `compute_each` gives, and that is a vector.
bool check_form(const FnInfo& each, const FnInfo* compute, const ObjectInfo& metric, Context& cx) {
  const ParamInfo* average = find_average(metric);
  if (average == nullptr || !may_be_none(average->type)) {
    const Span span = average != nullptr ? average->span : each.ast->name.span;
    cx.report(diag::wrong_argument(span, "`compute_each` is asked where `average` is `none`, and `" + metric.name +
                                             (average != nullptr ? "` does not take that" : "` has no such parameter"))
                  .help("`average: one_of[macro, none] = macro`; what always gives a vector is its `compute`"));
    return false;
  }
  if (compute != nullptr && !compute->result.is_error() && compute->result.is_tensor() &&
      !compute->result.dims.empty()) {
    cx.report(diag::wrong_type(compute->ast->result ? compute->ast->result->span : compute->ast->name.span,
                               "beside `compute_each` `compute` gives one number, not " + cx.text(compute->result)));
    return false;
  }
  if (is_vector(each.result) && !cx.program.atoms.mentions_unknown(each.result.dims[0].size)) return true;
  if (each.result.is_error()) return false;
  cx.report(diag::wrong_type(
                each.ast->result ? each.ast->result->span : each.ast->name.span,
                "`compute_each` gives a vector of a length that the parameters tell, not " + cx.text(each.result))
                .help("`fn compute_each() -> float[classes]`"));
  return false;
}

}  // namespace

void check_values(Context& cx, ObjectInfo& metric, Object& typed) {
  const FnInfo* compute = find_fn(metric, "compute");
  const FnInfo* each = find_fn(metric, kComputeEach);
  for (const FnInfo* fn : {compute, each}) {
    if (fn == nullptr || is_value(fn->result)) continue;
    cx.report(diag::wrong_type(fn->ast->result ? fn->ast->result->span : fn->ast->name.span,
                               "`" + fn->name + "` gives a number or a tensor, not " + cx.text(fn->result))
                  .help("several values are a vector, `stack([a, b])`, or metrics of their own"));
    metric.is_damaged = true;
    return;
  }
  if (each != nullptr && !check_form(*each, compute, metric, cx)) {
    metric.is_damaged = true;
  } else if (each != nullptr) {
    add_length(cx, metric, typed, *each, true);
  } else if (compute != nullptr && is_vector(compute->result)) {
    add_length(cx, metric, typed, *compute, false);
  }
}

std::optional<bool> gives_each(const ObjectInfo& metric, const std::vector<Expr>& args, Context& cx) {
  if (!metric.fns.contains(kComputeEach) || metric.is_damaged) return false;
  const ParamInfo* average = find_average(metric);
  if (average == nullptr) return false;
  const Expr& given = args[size_t(average - metric.params.data())];
  if (const auto* word = given.get<node::Symbol>()) return word->text == kNoAverage;
  if (!may_be_none(given.type)) return false;
  Type numbers = average->type;
  std::erase(numbers.choices, kNoAverage);
  cx.report(diag::wrong_argument(given.span,
                                 "only a run knows whether `average` is `none`, and the metric gives several values")
                .help("a parameter that only takes `{}` can be given", cx.text(numbers)));
  return std::nullopt;
}

Type value_of_metric(const Type& metric, Context& cx) {
  const ObjectInfo* object = find_object(cx, Kind::Metric, metric.decl);
  Type value = Type::of(Kind::MetricValue);
  const Type given =
      instantiate(object->fns.at(metric.gives_each ? kComputeEach : "compute")->result, metric.arguments, cx);
  if (!given.is_tensor()) return value;
  value.element = given.element;
  value.dims = given.dims;
  return value;
}

}  // namespace ltr::check
