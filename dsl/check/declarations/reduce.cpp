#include <algorithm>

#include "dsl/check/declarations/declarations.h"
#include "dsl/check/expressions/call.h"
#include "dsl/check/library/library_call.h"
#include "dsl/check/statements/reductions.h"
#include "dsl/check/statements/statements.h"
#include "dsl/check/walk.h"

// How the states of a metric are joined, over batches and ranks: each by a rule of its own, or all of them by one
// function.

namespace ltr::check {

namespace {

/// Visits what code does, in the functions that it calls, too.
struct StateUse {
  const Program& program;
  std::set<FnId> seen;
  std::string assigned;  ///< the state that is written there

  /// Where a state of the metric itself is read or written; nothing if it is left alone.
  std::optional<Span> in(ExprId id, const Object& metric) {
    const ExprView& expr = program.exprs[id];
    const auto* member = expr.get<node::Member>();
    const bool is_own = member != nullptr && program.exprs[member->object].is<node::Self>();
    if (is_own && is_state(metric, member->name)) return expr.span;
    const auto* method = expr.get<node::CallMethod>();
    const auto* function = expr.get<node::CallFn>();
    const FnId fn = method != nullptr ? method->fn : function != nullptr ? function->fn : 0;
    if (fn != 0 && seen.insert(fn).second && in(program.fns[fn].body, metric)) return expr.span;
    return in_parts(expr, metric);
  }

  std::optional<Span> in(const Body& body, const Object& metric) {
    for (const Stmt& stmt : body) {
      if (const auto* set = stmt.get<stmt::SetMember>()) {
        assigned = set->name;
        return stmt.span;
      }
      if (const auto found = in_parts(stmt, metric)) return found;
    }
    return std::nullopt;
  }

  /// In the operands and bodies of an expression or statement.
  std::optional<Span> in_parts(const auto& node, const Object& metric) {
    std::optional<Span> found;
    const auto look = [&](const auto& part) {
      if (!found) found = in(part, metric);
    };
    for_each_child(node, look);
    for_each_body(node, look);
    return found;
  }

  static bool is_state(const Object& metric, const std::string& name) {
    return std::any_of(metric.members.begin(), metric.members.end(),
                       [&](const Member& member) { return member.kind == MemberKind::State && member.name == name; });
  }
};

/// The function that `reduce merge NAME` of one metric names.
class MergeChecker {
 public:
  MergeChecker(Context& cx, ObjectInfo& metric, Object& typed, const ast::Name& use)
      : cx_(cx), metric_(metric), typed_(typed), use_(use), whole_(Type::of(Kind::Record)) {
    for (const Member& member : typed.members) {
      if (member.kind == MemberKind::State) whole_.fields.push_back({member.name, member.type});
    }
  }

  /// Whether what is declared of the function fits the states.
  bool check_form() {
    const bool is_known = std::none_of(whole_.fields.begin(), whole_.fields.end(),
                                       [](const TypeField& state) { return !state.type.is_tensor(); });
    return has_function() && is_known && takes_two() && gives_one();
  }

  /// Whether there is a function of that name, which is said where there is none.
  bool has_function() {
    if (fn_ == nullptr) fn_ = find();
    return fn_ != nullptr;
  }

  void run() {
    fn_ = find();
    add_call();
  }

 private:
  Scope scope() {
    return {.cx = cx_, .module = metric_.module, .place = Place::Fn, .owner = &metric_, .locals = locals_};
  }

  FnInfo* find() {
    const auto method = metric_.fns.find(use_.text);
    if (method != metric_.fns.end() && method->second->role == FnRole::Method) return method->second.get();
    const bool is_own = method != metric_.fns.end() || metric_.members.contains(use_.text) ||
                        std::any_of(metric_.params.begin(), metric_.params.end(),
                                    [&](const ParamInfo& param) { return param.name == use_.text; });
    const Symbol* symbol = is_own ? nullptr : cx_.graph.find(metric_.module, use_.text);
    if (symbol != nullptr && symbol->kind == SymbolKind::Fn) return &fn_of(cx_, *symbol);
    if (is_own || (symbol != nullptr && symbol->kind != SymbolKind::Error)) {
      cx_.report(diag::wrong_merge(use_.span, use_.text, "it is no function of two states")
                     .help("name one that is declared so: {}", declaration("pool")));
    } else if (symbol == nullptr) {
      Scope here = scope();
      report_unknown(use_, here);
    }
    return nullptr;
  }

  std::string declaration(const std::string& name) const {
    std::string whole;
    for (const TypeField& field : whole_.fields) {
      // One number is written without brackets where no host type has its name.
      const Element element = field.type.element;
      const bool is_plain = field.type.dims.empty() && element != Element::Float && element != Element::Bool;
      whole += (whole.empty() ? "{" : ", ") + field.name + ": " + (is_plain ? to_text(element) : cx_.text(field.type));
    }
    whole += "}";
    return "`fn " + name + "(a: " + whole + ", b: " + whole + ") -> " + whole + "`";
  }

  diagnostics::Diagnostic refusal(Span span, const std::string& reason) const {
    return diag::wrong_merge(span, use_.text, reason).label(use_.span, "it merges the states of `{}`", metric_.name);
  }

  bool refuse(Span span, const std::string& reason) {
    cx_.report(refusal(span, reason).help("declare it so: {}", declaration(use_.text)));
    return false;
  }

  const Type* state(const std::string& name) const {
    for (const TypeField& field : whole_.fields) {
      if (field.name == name) return &field.type;
    }
    return nullptr;
  }

  /// Sizes are compared where the function is called.
  bool are_alike(const Type& written, const Type& state) const {
    if (written.is_error()) return true;
    const bool has_group =
        std::any_of(written.dims.begin(), written.dims.end(), [](const Dim& dim) { return dim.group != 0; });
    return written.is_tensor() && written.element == state.element &&
           (has_group || written.dims.size() == state.dims.size());
  }

  /// Each field of the record `type`, which `what` is, is a state and has its type.
  bool has_states(const Type& type, const std::string& what, Span span) {
    if (type.is_error()) return false;
    if (type.kind != Kind::Record) return refuse(span, what + " is " + cx_.text(type) + ", not a record of the states");
    for (const TypeField& field : type.fields) {
      const Type* wanted = state(field.name);
      if (wanted == nullptr) return refuse(span, what + " has `" + field.name + "`, which is no state");
      if (are_alike(field.type, *wanted)) continue;
      return refuse(span, "`" + field.name + "` of " + what + " is " + cx_.text(field.type) + ", and the state is " +
                              cx_.text(*wanted));
    }
    return true;
  }

  bool takes_two() {
    const std::vector<ParamInfo>& params = fn_->params;
    if (params.size() != 2) {
      return refuse(fn_->ast->name.span, "it takes " + count_text(params.size(), "argument") +
                                             ", and is given the states of two parts of the data");
    }
    for (size_t i = 0; i < params.size(); ++i) {
      if (!has_states(params[i].type, "`" + params[i].name + "`", fn_->ast->params[i].type.span)) return false;
    }
    return true;
  }

  bool gives_one() {
    const Span span = fn_->ast->result ? fn_->ast->result->span : fn_->ast->name.span;
    if (fn_->result.kind == Kind::Void) return refuse(span, "it gives nothing");
    if (!has_states(fn_->result, "its result", span)) return false;
    for (const TypeField& wanted : whole_.fields) {
      const bool has = std::any_of(fn_->result.fields.begin(), fn_->result.fields.end(),
                                   [&](const TypeField& field) { return field.name == wanted.name; });
      if (has) continue;
      // Whoever asks its result for the state asks for what was said to be missing.
      cx_.told.missing_fields.try_emplace({cx_.text(fn_->result), wanted.name}, Kind::Metric);
      return refuse(span, "its result lacks the state `" + wanted.name + "`");
    }
    return true;
  }

  /// The call that the runtime makes, as a function of the metric.
  void add_call() {
    const auto index = uint32_t(cx_.program.fns.size());
    cx_.program.fns.emplace_back();
    Scope here = scope();
    here.fn = index;
    here.requirements = &metric_.requirements;
    CallSite site{.name = fn_->name, .name_span = use_.span, .span = use_.span, .given = {}, .scope = here};
    for (const char* part : {"first", "second"}) {
      Given given;
      given.checked = local_expr(here.declare(part, whole_), here, use_.span);
      given.span = use_.span;
      site.given.push_back(std::move(given));
    }
    std::optional<Expr> self;
    if (fn_->owner != nullptr) {
      self = self_expr(here, use_.span);
    }
    Expr merged = convert(call_fn(*fn_, std::move(self), site), whole_, here, "what it gives");
    Binding binding;
    const bool fits =
        !merged.type.is_error() && match(whole_, merged.type, binding, {}, use_.span, here, "what it gives", false);
    if (!fits || !is_pure()) return;
    Fn call;
    call.name = "$merge";
    call.owner = metric_.name;
    call.role = FnRole::MetricMerge;
    call.param_count = 2;
    call.result = whole_;
    call.span = use_.span;
    call.body = {{use_.span, stmt::Return{cx_.keep(std::move(merged))}}};
    call.locals = std::move(locals_);
    cx_.program.fns[index] = std::move(call);
    typed_.fns.push_back(index);
    // Whoever updates the metric in a train step merges there, too.
    if (const auto update = metric_.fns.find("update"); update != metric_.fns.end())
      cx_.declared.callees[update->second->index].insert(index);
  }

  /// Every rank merges for itself, and all must come to the same.
  bool is_pure() {
    const Body& body = cx_.program.fns[fn_->index].body;
    KnownDraws known;
    if (draws_random(cx_.program, fn_->index, known)) {
      cx_.report(refusal(fn_->ast->name.span, "it draws random numbers"));
      return false;
    }
    StateUse use{cx_.program, {}, {}};
    const auto span = fn_->owner != nullptr ? use.in(body, typed_) : std::nullopt;
    if (!span) return true;
    if (use.assigned.empty()) {
      cx_.report(refusal(*span, "it reads the metric's own states, not those that it is given"));
    } else {
      cx_.report(refusal(*span, "it sets `" + use.assigned + "` of the metric itself")
                     .help("choose another name for the local"));
    }
    return false;
  }

  Context& cx_;
  ObjectInfo& metric_;
  Object& typed_;
  const ast::Name& use_;
  Type whole_;  ///< `{n: f64[], mean: f64[]}`
  FnInfo* fn_ = nullptr;
  std::vector<Local> locals_;
};

/// The first state of those that most are merged with: a name that stands once among others is the one that is misspelt.
const ast::State* find_merged(const std::vector<const ast::State*>& states) {
  const ast::State* found = nullptr;
  long most = 0;
  for (const ast::State* state : states) {
    if (!state->merge) continue;
    const long count = std::count_if(states.begin(), states.end(), [&](const ast::State* other) {
      return other->merge && other->merge->text == state->merge->text;
    });
    if (count > most) found = state;
    most = std::max(most, count);
  }
  return found;
}

/// E0342 for each state that is joined otherwise than `first`, which is merged.
bool are_all_merged(const std::vector<const ast::State*>& states, const ast::State& first, Context& cx) {
  bool all = true;
  const std::string rule = "merge " + first.merge->text;
  for (const ast::State* state : states) {
    if (!state->reduce || (state->merge && state->merge->text == first.merge->text)) continue;
    all = false;
    const Span span = state->merge ? state->merge->span : state->reduce->span;
    const std::string own = state->merge ? "merge " + state->merge->text : state->reduce->text;
    cx.report(diag::mixed_merge(span, state->name.text, own, first.name.text, rule)
                  .label(first.merge->span, "this function is given all states of the metric, and gives all")
                  .help("`reduce {}` here, too", rule)
                  .fix(span, state->merge ? first.merge->text : rule));
  }
  return all;
}

}  // namespace

bool check_reduce(const ast::State& state, const Type& type, Context& cx) {
  if (!type.is_tensor() && !type.is_error()) {
    cx.report(diag::wrong_type(state.type.span, "the state of a metric is a tensor, not " + cx.text(type))
                  .help("one number is `f64` or `i64`"));
    return false;
  }
  const std::string rule = state.reduce ? state.reduce->text : "";
  const bool grows = type.is_tensor() && !type.dims.empty() && type.dims[0].group == 0 &&
                     cx.program.atoms.mentions_unknown(type.dims[0].size);
  if (rule == "cat" && !grows && !type.is_error()) {
    cx.report(diag::wrong_type(state.type.span,
                               "a state that is joined by `cat` grows in its first dim: "
                               "`state scores: float[?] = zeros(0) reduce cat`"));
  } else if (!state.merge && find_reduction(rule) == nullptr) {
    cx.report(diag::wrong_argument(state.reduce ? state.reduce->span : state.name.span,
                                   "a state says how ranks are joined: `reduce sum`, `mean`, `min`, `max`, `cat` or "
                                   "`merge` with a function"));
  }
  return true;
}

const ast::Name* check_merge_form(Context& cx, ObjectInfo& metric, Object& typed, const std::vector<ast::Item>& items) {
  std::vector<const ast::State*> states;
  for (const ast::Item& item : items) {
    // A state that could not be read may be one that the function merges.
    if (item.get<ast::ErrorItem>() != nullptr) return nullptr;
    if (const auto* state = item.get<ast::State>()) states.push_back(state);
  }
  const ast::State* first = find_merged(states);
  if (first == nullptr) return nullptr;
  // A function that is not there says more than that not all states are joined by it.
  MergeChecker checker(cx, metric, typed, *first->merge);
  if (!checker.has_function() || !are_all_merged(states, *first, cx)) return nullptr;
  return checker.check_form() ? &*first->merge : nullptr;
}

void check_merge(Context& cx, ObjectInfo& metric, Object& typed, const ast::Name& merge) {
  MergeChecker(cx, metric, typed, merge).run();
}

namespace {

/// Ranks, and the parts of an epoch, all begin with the initial value of a sum.
void check_beginning(const ExprView& initial, Context& cx) {
  const auto* op = initial.get<node::Op>();
  if (op != nullptr && op->op == library::Id::To) return check_beginning(cx.at(op->args[0]), cx);
  if (op != nullptr && op->op == library::Id::Full) return check_beginning(cx.at(op->args.back()), cx);
  if (const auto* convert = initial.get<node::Convert>()) return check_beginning(cx.at(convert->value), cx);
  bool is_other = op != nullptr && op->op == library::Id::Ones;
  if (const auto number = op == nullptr ? evaluate(initial, cx.program) : std::nullopt)
    is_other = number->kind == HostValue::Kind::Int ? number->whole != 0 : number->real != 0;
  if (!is_other || initial.span.is_empty()) return;
  cx.report(diag::out_of_range(initial.span, "what is joined by `sum` begins at 0")
                .note("each rank begins with it, and all of them are added")
                .help("begin at 0, and add it in `compute`"));
}

/// The states that code reads which `fn` reaches.
std::set<std::string> states_read(FnId fn, const Program& program) {
  std::set<std::string> found;
  for_each_reached(fn, program, [&](const ExprView& expr) {
    const auto* member = expr.get<node::Member>();
    if (member != nullptr && program.exprs[member->object].is<node::Self>()) found.insert(member->name);
  });
  return found;
}

/// A state that each batch adds to, and ranks take the mean of, hangs on how many they are. Of two such ones the quotient does not.
void check_mean_of_sums(const Body& update, const Object& metric, Context& cx) {
  const auto is_mean = [&](const std::string& name) {
    return std::ranges::any_of(metric.members, [&](const Member& member) {
      return member.kind == MemberKind::State && member.name == name && member.reduce == "mean";
    });
  };
  std::vector<const Stmt*> sums;
  for (const Stmt& stmt : update) {
    const auto* set = stmt.get<stmt::SetMember>();
    if (set == nullptr || !is_mean(set->name)) continue;
    const auto* sum = cx.at(set->value).get<node::Op>();
    if (sum == nullptr || sum->op != library::Id::Add) continue;
    const auto* own = cx.at(sum->args[0]).get<node::Member>();
    if (own != nullptr && own->name == set->name && cx.at(own->object).is<node::Self>()) sums.push_back(&stmt);
  }
  if (sums.size() != 1) return;
  const std::string& name = sums[0]->get<stmt::SetMember>()->name;
  cx.report(diag::mean_of_sums(sums[0]->span, name)
                .note("of two ranks each has half of the data, and the mean of their sums is half of the sum")
                .help("`state {}: … reduce sum`", name));
}

}  // namespace

void check_sums(Context& cx, const ObjectInfo& metric, const Object& typed) {
  if (typed.is_library) return;
  const auto update = metric.fns.find("update");
  const FnId fn = update != metric.fns.end() ? update->second->index : 0;
  const std::set<std::string> read = fn == 0 ? std::set<std::string>() : states_read(fn, cx.program);
  if (fn != 0) check_mean_of_sums(cx.program.fns[fn].body, typed, cx);
  for (const Member& member : typed.members) {
    if (member.kind != MemberKind::State || member.reduce != "sum") continue;
    check_beginning(member.value, cx);
    if (fn == 0 || read.contains(member.name)) continue;
    const Body& body = cx.program.fns[fn].body;
    const auto set = std::ranges::find_if(body, [&](const Stmt& stmt) {
      const auto* one = stmt.get<stmt::SetMember>();
      return one != nullptr && one->name == member.name;
    });
    if (set == body.end()) continue;
    cx.report(diag::replaced_sum(set->span, member.name)
                  .note("each batch takes the place of the one before, and ranks are added")
                  .help("`{} += …` adds it", member.name));
  }
}

}  // namespace ltr::check
