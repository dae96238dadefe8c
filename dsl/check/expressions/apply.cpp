#include <algorithm>
#include <utility>

#include "dsl/check/declarations/declarations.h"
#include "dsl/check/expressions/call.h"
#include "dsl/check/library/library_call.h"
#include "dsl/check/scope/aside.h"
#include "dsl/diagnostics/suggest.h"

namespace ltr::check {

Expr call_symbol(const Symbol& symbol, CallSite& site) {
  switch (symbol.kind) {
    case SymbolKind::Fn:
    case SymbolKind::Op: {
      if (auto call = call_for_each(symbol, site)) return std::move(*call);
      FnInfo& fn = fn_of(site.scope.cx, symbol);
      return fn.is_op ? call_op(fn, site) : call_fn(fn, std::nullopt, site);
    }
    case SymbolKind::Block:
    case SymbolKind::Model:
    case SymbolKind::Metric:
    case SymbolKind::Data: return construct(symbol, site);
    case SymbolKind::Error: return error_at(site.span);
    case SymbolKind::Hparam:
    case SymbolKind::Type:
    case SymbolKind::Const:
    case SymbolKind::Callback:
    case SymbolKind::Topology:
    case SymbolKind::Experiment: break;
  }
  diagnostics::Diagnostic diagnostic = diag::not_callable(site.name_span, "`" + symbol.name + "`");
  note_hidden(diagnostic, symbol.name, symbol.span, site.scope.cx);
  site.scope.cx.report(std::move(diagnostic));
  return error_at(site.span);
}

namespace {

/// What a value is where it is written: what a local, a member or a part of another value was given. Itself where that cannot be
/// told. `locals` are those that it may name: null behind a member, whose own are others.
ExprView as_written(const ExprView& value, const std::vector<Local>*& locals, const Context& cx) {
  if (const auto* local = value.get<node::Local>()) {
    const std::optional<ExprId> layers = locals != nullptr ? (*locals)[local->local].layers : std::nullopt;
    return layers ? as_written(cx.at(*layers), locals, cx) : value;
  }
  if (const auto* part = value.get<node::ListElement>()) {
    const ExprView list = as_written(cx.at(part->list), locals, cx);
    if (const auto* each = list.get<node::Comprehension>()) return as_written(cx.at(each->element), locals, cx);
    const auto* all = list.get<node::List>();
    const auto* index = cx.at(part->index).get<node::IntConst>();
    const bool is_there = all != nullptr && index != nullptr && size_t(index->value) < all->elements.size();
    return is_there ? as_written(cx.at(all->elements[size_t(index->value)]), locals, cx) : value;
  }
  if (const auto* part = value.get<node::RecordField>()) {
    const ExprView record = as_written(cx.at(part->record), locals, cx);
    const auto* all = record.get<node::Record>();
    for (size_t i = 0; all != nullptr && i < all->values.size(); ++i) {
      if (record.type.fields[i].name == part->name) return as_written(cx.at(all->values[i]), locals, cx);
    }
    return value;
  }
  if (const auto* part = value.get<node::TupleElement>()) {
    const auto* all = as_written(cx.at(part->tuple), locals, cx).get<node::Tuple>();
    const bool is_there = all != nullptr && size_t(part->index) < all->elements.size();
    return is_there ? as_written(cx.at(all->elements[size_t(part->index)]), locals, cx) : value;
  }
  const auto* use = value.get<node::Member>();
  if (use == nullptr) return value;
  const Type& owner = cx.at(use->object).type;
  const bool is_block = owner.kind == Kind::Block;
  if (!is_block && owner.kind != Kind::Model) return value;
  const Object& object = (is_block ? cx.program.blocks : cx.program.models)[owner.decl];
  const auto member = std::find_if(object.members.begin(), object.members.end(),
                                   [&](const Member& one) { return one.name == use->name; });
  if (member == object.members.end()) return value;
  locals = nullptr;
  return as_written(member->value, locals, cx);
}

/// Where element `i` of a chain is written; nothing where that cannot be told.
std::optional<Span> element_place(const ExprView& chain, size_t i, const Scope& scope) {
  const std::vector<Local>* locals = &scope.locals;
  const auto* list = as_written(chain, locals, scope.cx).get<node::List>();
  if (list == nullptr || i >= list->elements.size()) return std::nullopt;
  const Span place = scope.cx.at(list->elements[i]).span;
  return !place.is_empty() && scope.cx.sources.contains(place.source) ? std::optional(place) : std::nullopt;
}

/// While it lives, what is said of a call, or required for it, is said of an element of the chain that is called, with the
/// call as a label.
class BlameElement {
 public:
  BlameElement(std::optional<Span> element, Span chain, Span call, Scope& scope)
      : element_(element),
        chain_(chain),
        call_(call),
        scope_(scope),
        cx_(scope.cx),
        first_obligation_(cx_.program.obligations.size()),
        first_requirement_(scope.requirements != nullptr ? scope.requirements->size() : 0) {
    if (element_) aside_.emplace(cx_, found_);
  }
  ~BlameElement() {
    if (!element_) return;
    aside_.reset();
    for (diagnostics::Diagnostic diagnostic : found_.reported()) {
      const bool is_of_chain = diagnostic.span == chain_ && diagnostic.code != diagnostics::Code::E0312;
      if (diagnostic.span == chain_ && !is_of_chain) diagnostic.label(*element_, "this element");
      if (diagnostic.span == call_ || is_of_chain) {
        const bool is_labelled = std::any_of(diagnostic.labels.begin(), diagnostic.labels.end(),
                                             [&](const diagnostics::Label& one) { return one.span == call_; });
        diagnostic.span = *element_;
        if (!is_labelled) diagnostic.label(call_, "in this call");
      }
      cx_.report(std::move(diagnostic));
    }
    std::vector<Obligation>& obligations = cx_.program.obligations;
    for (size_t i = first_obligation_; i < obligations.size(); ++i) {
      if (obligations[i].span == call_) obligations[i].span = *element_;
    }
    for (size_t i = first_requirement_; scope_.requirements != nullptr && i < scope_.requirements->size(); ++i) {
      Requirement& one = (*scope_.requirements)[i];
      if (one.origin == call_) one.origin = *element_;
    }
  }
  BlameElement(const BlameElement&) = delete;
  BlameElement& operator=(const BlameElement&) = delete;

 private:
  std::optional<Span> element_;
  Span chain_;
  Span call_;
  Scope& scope_;
  Context& cx_;
  size_t first_obligation_;
  size_t first_requirement_;
  diagnostics::Sink found_;
  std::optional<Aside> aside_;
};

Expr apply_chain(const ExprView& chain, Expr value, Span span, Scope& scope) {
  Context& cx = scope.cx;
  const ExprId list = cx.keep(chain);
  for (size_t i = 0; i < chain.type.fields.size(); ++i) {
    const std::optional<Span> place = element_place(chain, i, scope);
    const BlameElement blame(place, chain.span, span, scope);
    Expr element{chain.type.fields[i].type, chain.span, node::ListElement{list, cx.keep(int_const(int64_t(i), span))}};
    std::vector<Given> given;
    given.push_back({std::nullopt, nullptr, std::move(value), span});
    value = apply(std::move(element), std::move(given), span, scope);
    if (value.type.is_error()) return value;
    note_element(value, place, cx);
  }
  value.span = span;
  return value;
}

/// Adds what the sides of a sum have that is given to a list, where their last dims differ: one of them is the wrong one.
void label_sum(diagnostics::Diagnostic& diagnostic, const ExprView& value, const Context& cx) {
  const auto* op = value.get<node::Op>();
  if (op == nullptr || op->args.size() != 2) return;
  const ExprView left = cx.at(op->args[0]), right = cx.at(op->args[1]);
  const bool have_dims =
      left.type.is_tensor() && right.type.is_tensor() && !left.type.dims.empty() && !right.type.dims.empty();
  if (!have_dims || left.type.dims.back() == right.type.dims.back()) return;
  diagnostic.label(left.span, "{}", cx.text(left.type)).label(right.span, "{}", cx.text(right.type));
}

Expr apply_list(Expr list, std::vector<Given> given, Span span, Scope& scope) {
  Context& cx = scope.cx;
  if (given.size() != 1) {
    cx.report(diag::wrong_argument(span, "a list of blocks is applied to one value"));
    return error_at(span);
  }
  Expr value = check_given(given[0], scope);
  if (value.type.is_error()) return error_at(span);
  const Type element_type = list.type.fields.empty() ? Type::error() : list.type.fields[0].type;
  if (element_type.kind != Kind::Block && element_type.kind != Kind::Function && !holds_layers(element_type)) {
    cx.report(diag::not_callable(span, "a list of " + cx.text(element_type)));
    return error_at(span);
  }
  const Type before = value.type;
  const LocalId element = scope.hidden_local(element_type);
  const LocalId flowing = scope.hidden_local(before);
  std::vector<Given> once;
  once.push_back({std::nullopt, nullptr, local_expr(flowing, scope, given[0].span), given[0].span});
  Expr call = apply(local_expr(element, scope, list.span), std::move(once), span, scope);
  if (call.type.is_error()) return call;
  if (!(call.type == before)) {
    diagnostics::Diagnostic diagnostic = diag::not_shape_preserving(span, cx.text(before), cx.text(call.type));
    label_sum(diagnostic, value, cx);
    cx.report(std::move(diagnostic));
    return error_at(span);
  }
  return {before, span,
          node::ApplyList{.list = cx.keep(std::move(list)),
                          .value = cx.keep(std::move(value)),
                          .element = element,
                          .flowing = flowing,
                          .applied = cx.keep(std::move(call))}};
}

}  // namespace

void note_element(Expr& call, std::optional<Span> place, const Context& cx) {
  if (!place || place->is_empty() || !cx.sources.contains(place->source)) return;
  if (auto* op = call.get<node::Op>()) op->element = *place;
  if (auto* fn = call.get<node::CallFn>()) fn->element = *place;
  if (auto* method = call.get<node::CallMethod>()) method->element = *place;
}

const Symbol* named_function(const Type& type, const Scope& scope) {
  return scope.cx.graph.find(type.module.value_or(scope.module), type.name);
}

bool report_lacking(ObjectInfo& metric, const std::string& fn, Span use, Context& cx) {
  if ((fn != "update" && fn != "compute") || metric.fns.contains(fn)) return false;
  // All its uses wait for it.
  if (std::exchange(metric.is_damaged, true)) return true;
  diagnostics::Diagnostic diagnostic =
      diag::not_callable(use, "the metric `" + metric.name + "` has no `fn " + fn + "`, so it");
  diagnostic.label(metric.span, "declared here");
  if (const auto near = diagnostics::suggest(fn, metric.fn_order)) diagnostic.help("is `fn {}` meant to be it?", *near);
  cx.report(std::move(diagnostic));
  return true;
}

Expr apply(Expr callee, std::vector<Given> given, Span span, Scope& scope) {
  Context& cx = scope.cx;
  if (callee.type.is_error()) return error_at(span);
  CallSite site{callee.type.name, callee.span, span, std::move(given), scope};
  switch (callee.type.kind) {
    case Kind::Block: {
      ObjectInfo* object = find_object(cx, Kind::Block, callee.type.decl);
      const auto forward = object->fns.find("forward");
      if (forward == object->fns.end()) {
        if (object->is_damaged) return ignore_arguments(site);
        diagnostics::Diagnostic diagnostic =
            diag::not_callable(callee.span, "`" + object->name + "` has no `fn forward`, so it");
        diagnostic.label(object->span, "declared here");
        const auto near = object->fn_order.size() == 1 ? std::optional(object->fn_order[0])
                                                       : diagnostics::suggest("forward", object->fn_order);
        if (near) diagnostic.help("is `fn {}` meant to be it?", *near);
        cx.report(std::move(diagnostic));
        return error_at(span);
      }
      return call_fn(*forward->second, std::move(callee), site);
    }
    case Kind::List: {
      if (callee.type.uniform) return apply_list(std::move(callee), std::move(site.given), span, scope);
      if (site.given.size() != 1) {
        cx.report(diag::wrong_argument(span, "a chain is applied to one value"));
        return error_at(span);
      }
      return apply_chain(callee, check_given(site.given[0], scope), span, scope);
    }
    case Kind::Metric: {
      ObjectInfo* object = find_object(cx, Kind::Metric, callee.type.decl);
      for (const std::string name : {"update", "compute"}) {
        if (report_lacking(*object, name, callee.span, cx)) return error_at(span);
      }
      const auto update = object->fns.find("update");
      if (scope.place != Place::Step && scope.place != Place::Hook) {
        cx.report(diag::wrong_place(span, "a metric is updated in steps and hooks only"));
        return error_at(span);
      }
      Type value = value_of_metric(callee.type, cx);
      Expr call = call_fn(*update->second, std::move(callee), site);
      if (call.type.is_error()) return call;
      auto& update_call = *call.get<node::CallMethod>();
      return {std::move(value), call.span,
              node::CallMetric{update_call.fn, update_call.object, std::move(update_call.args)}};
    }
    case Kind::Function: {
      if (callee.type.decl != 0) return apply_closure(callee, std::move(site.given), span, scope);
      if (!callee.type.fields.empty()) return call_value(std::move(callee), site);
      const auto* function = callee.get<node::FnValue>();
      if (function != nullptr && function->is_method && scope.owner != nullptr) {
        const auto method = scope.owner->fns.find(callee.type.name);
        if (method != scope.owner->fns.end()) return call_fn(*method->second, self_expr(scope, callee.span), site);
      }
      if (const Symbol* symbol = named_function(callee.type, scope)) return call_symbol(*symbol, site);
      break;
    }
    default: break;
  }
  diagnostics::Diagnostic diagnostic = diag::not_callable(callee.span, "a value of type " + cx.text(callee.type));
  const std::string written = cx.source_text(span);
  if (const auto* local = callee.get<node::Local>()) note_hidden(diagnostic, local->name, {}, scope.cx);
  if (const auto* member = callee.get<node::Member>()) note_hidden(diagnostic, member->name, {}, scope.cx);
  if (callee.type.kind == Kind::Weights && written.ends_with("()")) {
    diagnostic.help("it is no function: `{}`", written.substr(0, written.size() - 2))
        .fix({span.source, span.end - 2, span.end}, "");
  }
  if (callee.type.kind == Kind::Model)
    diagnostic.help("its members and functions can, such as `{}.net(x)`", cx.source_text(callee.span));
  cx.report(std::move(diagnostic));
  return error_at(span);
}

}  // namespace ltr::check
