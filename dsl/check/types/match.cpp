#include <algorithm>

#include "dsl/check/expressions/expressions.h"
#include "dsl/check/expressions/origins.h"
#include "dsl/check/expressions/rounds.h"
#include "dsl/check/types/element_cure.h"

namespace ltr::check {

namespace {

std::string values_text(const Requirement& requirement, const Context& cx) {
  return cx.text(requirement.left) + " and " + cx.text(requirement.right);
}

/// What was given, against a rule of sizes.
std::string given_text(const Requirement& requirement, const Context& cx) {
  const bool is_bound = requirement.kind == Requirement::Kind::AtMost || requirement.kind == Requirement::Kind::Less;
  if (is_bound && requirement.bounds_left != requirement.bounds_right)
    return "it is given " + cx.text(requirement.bounds_left ? requirement.left : requirement.right);
  return "the values are " + values_text(requirement, cx);
}

void report_false(const Requirement& requirement, Span use, Context& cx) {
  // The line of the program that asks for it says more than that of the library.
  const Span asked_at = !requirement.use.is_empty() && requirement.use != use ? requirement.use : requirement.origin;
  const auto with_origin = [&](diagnostics::Diagnostic diagnostic) {
    if (!requirement.taken.is_empty()) diagnostic.label(requirement.taken, "takes `{}` away", requirement.taken_size);
    if (!requirement.cure.empty()) diagnostic.help("{}", requirement.cure);
    if (asked_at != use && !asked_at.is_empty())
      label_builder(diagnostic.tie(diagnostics::Tie::Required, asked_at, "required here"), asked_at, false, cx);
    note_hiding(diagnostic, asked_at, use, cx);
    cx.report(std::move(diagnostic));
  };
  if (requirement.is_window) {
    with_origin(diag::where_not_satisfied(use, requirement.text, "a window is larger than what it slides over"));
  } else if (requirement.is_size) {
    if (!cx.is_size_new(use, cx.text(requirement.right))) return;
    diagnostics::Diagnostic diagnostic = diag::negative_dim(use, requirement.text, cx.text(requirement.right));
    if (requirement.origin != use && !requirement.origin.is_empty())
      diagnostic.label(requirement.origin, "it is a size here");
    cx.report(std::move(diagnostic));
  } else if (requirement.kind == Requirement::Kind::Divisible) {
    with_origin(diag::not_divisible(use, cx.operand(requirement.left) + " / " + cx.operand(requirement.right),
                                    cx.text(requirement.left), cx.text(requirement.right)));
  } else if (requirement.kind == Requirement::Kind::Equal && !requirement.is_where) {
    // Two layers in each other's place differ twice in the same two sizes.
    const std::string left = cx.text(requirement.left), right = cx.text(requirement.right);
    if (!cx.is_trying && !cx.told.dims.emplace(use, std::min(left, right), std::max(left, right)).second) return;
    const std::string message = "the dims " + values_text(requirement, cx) + " differ";
    const Span origin = requirement.origin;
    // What a block itself gets wrong is not the mistake of each place that builds it.
    if (!cx.is_trying && cx.told.wrong_for_all.contains(origin)) return;
    const bool is_of_block = origin != use && !origin.is_empty();
    if (!cx.is_trying && is_of_block &&
        !cx.told.dims.emplace(origin, std::min(left, right), std::max(left, right)).second)
      return;
    // A call that gives nothing chose none of the sizes: what asks for them is the place.
    const bool is_chosen = !cx.source_text(use).ends_with("()") || origin == use || origin.is_empty() ||
                           cx.graph.modules[cx.graph.module_of(origin.source)].is_library;
    if (!is_chosen && cx.told.wrong_uses.contains(origin)) return;
    if (!cx.is_trying) (is_chosen ? cx.told.wrong_uses : cx.told.wrong_for_all).insert(origin);
    if (!is_chosen)
      return cx.report(diag::dims_differ(origin, message).label(use, "with the defaults, as it is built here"));
    diagnostics::Diagnostic diagnostic = diag::dims_differ(use, message);
    // In the names of the block, which those who use it do not know.
    if (asked_at != use && !asked_at.is_empty() && requirement.text.find(" == ") != std::string::npos)
      diagnostic.note("`{}` is asked for", diagnostic.rule = requirement.text);
    with_origin(std::move(diagnostic));
  } else {
    if (requirement.is_rows && !cx.is_trying && !cx.told.wrong_uses.insert(requirement.origin).second) return;
    with_origin(diag::where_not_satisfied(use, requirement.text, given_text(requirement, cx)));
  }
}

/// Without the factors that both sides of an equality have and that only run time knows: `B * n == B * 2` asks for `n == 2`,
/// of any batch that is not empty.
void cancel_sizes(Requirement& requirement, const Context& cx) {
  if (requirement.kind != Requirement::Kind::Equal) return;
  for (const AtomId id : requirement.left.atoms()) {
    const Atom& atom = cx.program.atoms.at(id);
    if (!atom.is_binder && atom.kind != Atom::Kind::Unknown) continue;
    const Polynomial factor = Polynomial::atom(id);
    while (true) {
      const auto left = AtomTable::divide(requirement.left, factor),
                 right = AtomTable::divide(requirement.right, factor);
      if (!left || !right || *left == requirement.left) break;
      requirement.left = *left;
      requirement.right = *right;
    }
  }
}

/// Whether two equalities of one place ask for the same, whichever side is left, or two for the same size.
bool ask_same(const Requirement& one, const Requirement& other) {
  if (one.is_size != other.is_size || one.is_of_weight != other.is_of_weight) return false;
  if (one.is_size || one.is_of_weight) return one.right == other.right;
  if (one.kind != Requirement::Kind::Equal || other.kind != one.kind || one.origin != other.origin) return false;
  return (one.left == other.left && one.right == other.right) || (one.left == other.right && one.right == other.left);
}

/// A number that is given to the library and lies where it may: nobody asks how that is known.
bool is_plain(const Requirement& requirement) {
  return requirement.is_size || (!requirement.use.is_empty() && requirement.bounds_left != requirement.bounds_right);
}

/// E0319 of a bound that does not hold in the first or the last round of the loops around.
bool report_broken_round(const Requirement& bound, Span use, Scope& scope) {
  const bool is_bound = bound.kind == Requirement::Kind::AtMost || bound.kind == Requirement::Kind::Less;
  if (!is_bound || bound.is_size || scope.rounds.empty()) return false;
  const Polynomial distance = bound.right - bound.left;
  const std::optional<Extreme> least = extreme_of(distance, false, scope);
  if (!least || least->when.empty()) return false;
  Requirement there = bound;
  there.left = Polynomial(0);
  there.right = least->index;
  if (decide(there, scope.cx) != Truth::False) return false;
  if (is_told(distance, scope)) return true;
  diagnostics::Diagnostic diagnostic =
      diag::where_not_satisfied(use, bound.text, least->when + " in one of the rounds");
  const Span asked_at = bound.use.is_empty() ? bound.origin : bound.use;
  if (asked_at != use && !asked_at.is_empty()) diagnostic.tie(diagnostics::Tie::Required, asked_at, "required here");
  scope.cx.report(std::move(diagnostic));
  return true;
}

}  // namespace

bool require(Requirement requirement, Span use, Scope& scope) {
  if (requirement.kind == Requirement::Kind::Holds) return require_value(std::move(requirement), use, scope);
  Context& cx = scope.cx;
  const std::pair written(requirement.left, requirement.right);
  if (requirement.is_where) cancel_sizes(requirement, cx);
  const Truth truth = decide(requirement, cx);
  if (truth == Truth::Proven && (cx.graph.modules[scope.module].is_library || is_plain(requirement))) return true;
  Obligation obligation;
  obligation.text = requirement.text;
  obligation.span = requirement.origin.is_empty() ? use : requirement.origin;
  obligation.use = requirement.use;
  switch (truth) {
    case Truth::False:
      std::tie(requirement.left, requirement.right) = written;
      report_false(requirement, use, cx);
      return false;
    case Truth::Proven:
      obligation.fate = Fate::Proven;
      obligation.why = "follows from the dims";
      cx.program.obligations.push_back(std::move(obligation));
      return true;
    case Truth::Open: break;
  }
  if (report_broken_round(requirement, use, scope)) return false;
  bool at_start = true, needs_data = false;
  for (const Polynomial* side : {&requirement.left, &requirement.right}) {
    for (const AtomId id : cx.program.atoms.deep_atoms(*side)) {
      const Atom& atom = cx.program.atoms.at(id);
      if (atom.kind == Atom::Kind::Unknown) at_start = false;
      if (atom.kind != Atom::Kind::Variable) continue;
      if (!atom.is_hparam && !atom.is_data) at_start = false;
      needs_data = needs_data || atom.is_data;
    }
  }
  if (at_start && requirement.is_size && !requirement.is_window) return true;
  if (at_start) {
    obligation.fate = Fate::AtStart;
    obligation.why = needs_data ? "rests on the data" : "rests on hparams";
    obligation.needs_data = needs_data;
    obligation.of_data = data_around(scope);
    if (auto condition = condition_of(requirement, use, scope)) obligation.condition = cx.keep(std::move(*condition));
    cx.program.obligations.push_back(std::move(obligation));
    return true;
  }
  if (scope.requirements != nullptr && rests_on_params(requirement.left, cx) &&
      rests_on_params(requirement.right, cx)) {
    const bool is_there = std::any_of(scope.requirements->begin(), scope.requirements->end(),
                                      [&](const Requirement& one) { return ask_same(one, requirement); });
    if (!is_there) scope.requirements->push_back(std::move(requirement));
    return true;
  }
  if (requirement.is_size || requirement.is_rows) return true;
  obligation.fate = Fate::FirstBatch;
  obligation.why = "rests on a dim that only run time knows";
  cx.program.obligations.push_back(std::move(obligation));
  return true;
}

bool require_equal(const Polynomial& left, const Polynomial& right, Span span, Scope& scope, bool allow_unknown) {
  Context& cx = scope.cx;
  if (left == right) return true;
  if (cx.program.atoms.mentions_unknown(left) || cx.program.atoms.mentions_unknown(right)) return allow_unknown;
  Requirement requirement;
  requirement.left = with_facts(left, cx);
  requirement.right = with_facts(right, cx);
  if (requirement.left == requirement.right || are_same_size(left, right, cx)) return true;
  requirement.text = cx.text(left) + " == " + cx.text(right);
  requirement.origin = span;
  if (decide(requirement, cx) == Truth::False) return false;
  // Binders stand for any size, so two of them are not the same one.
  if (!rests_on_params(left, cx) || !rests_on_params(right, cx)) return false;
  require(std::move(requirement), span, scope);
  return true;
}

Type substitute(const Type& type, const Binding& binding, Context& cx) {
  Type result = type;
  if (result.kind == Kind::Tensor || result.kind == Kind::Texts) {
    if (result.element == Element::Any && binding.any) result.element = *binding.any;
    if (result.element == Element::Float && binding.floating) result.element = *binding.floating;
    for (auto dim = result.dims.begin(); dim != result.dims.end();) {
      const auto group = dim->group != 0 ? binding.groups.find(dim->group) : binding.groups.end();
      if (dim->group == 0) dim->size = cx.program.atoms.substitute(dim->size, binding.dims);
      if (group == binding.groups.end()) {
        ++dim;
      } else {
        const auto first = result.dims.insert(result.dims.erase(dim), group->second.begin(), group->second.end());
        dim = first + ptrdiff_t(group->second.size());
      }
    }
  }
  if (result.value) result.value = cx.program.atoms.substitute(*result.value, binding.dims);
  for (TypeField& field : result.fields) field.type = substitute(field.type, binding, cx);
  for (auto& [atom, value] : result.arguments) value = cx.program.atoms.substitute(value, binding.dims);
  return result;
}

Type instantiate(const Type& type, const std::vector<std::pair<AtomId, Polynomial>>& arguments, Context& cx) {
  if (arguments.empty()) return type;
  Binding binding;
  for (const auto& [atom, value] : arguments) binding.dims[atom] = value;
  return substitute(type, binding, cx);
}

namespace {

struct Matcher {
  Binding& binding;
  const std::set<AtomId>& free;
  Span span;
  Scope& scope;
  const std::string& what;
  bool is_op;

  Context& cx() { return scope.cx; }

  bool fail_dims(const Type& param, const Type& argument, const std::string& detail, const Polynomial* size = nullptr) {
    const std::optional<size_t> axis = size != nullptr ? flattened(argument, *size) : std::nullopt;
    diagnostics::Diagnostic diagnostic = diag::dims_differ(span, what + " has the wrong size: " + detail);
    diagnostic.label(span, "{}", cx().text(argument));
    label_given(diagnostic, span, argument, substitute(param, binding, cx()), scope);
    if (axis)
      diagnostic.help("its last {} dims are {} together: flatten them first, `.flatten({})`",
                      argument.dims.size() - *axis, cx().text(*size), *axis);
    else
      diagnostic.note("{} is wanted", cx().text(substitute(param, binding, cx())));
    // The pairs of complex numbers.
    if (size != nullptr && size->constant()) help_of_argument(diagnostic, what);
    cx().report(std::move(diagnostic));
    return false;
  }

  /// From which axis on the dims, flattened, have that size.
  std::optional<size_t> flattened(const Type& argument, const Polynomial& size) {
    const std::vector<Dim>& dims = argument.dims;
    if (dims.size() < 3 || dims.back().group != 0) return std::nullopt;
    Polynomial all = dims.back().size;
    for (size_t axis = dims.size() - 1; axis-- > 1 && dims[axis].group == 0;) {
      all = all * dims[axis].size;
      if (all == size) return axis;
    }
    return std::nullopt;
  }

  bool match_dim(const Dim& param, const Dim& argument, const Type& param_type, const Type& argument_type) {
    if (argument.group != 0) {
      return fail_dims(param_type, argument_type, "`...` stands where `" + cx().text(param.size) + "` is wanted");
    }
    const auto atom = param.size.single_atom();
    if (atom && free.contains(*atom) && !binding.dims.contains(*atom)) {
      binding.dims[*atom] = argument.size;
      return true;
    }
    if (atom && cx().program.atoms.at(*atom).kind == Atom::Kind::Unknown) return true;
    const Polynomial wanted = cx().program.atoms.substitute(param.size, binding.dims);
    if (wanted == argument.size) return true;
    if (cx().program.atoms.mentions_unknown(argument.size)) {
      if (is_op || cx().program.atoms.mentions_unknown(wanted)) return true;
      cx().report(diag::unknown_size(span, "this dim of " + cx().text(argument_type), "`" + cx().text(wanted) + "`")
                      .help("say it with `as`: `value as {}`", cx().text(substitute(param_type, binding, cx()))));
      return false;
    }
    if (cx().program.atoms.mentions_unknown(wanted)) return true;
    if (require_equal(wanted, argument.size, span, scope, true)) return true;
    return fail_dims(param_type, argument_type,
                     "`" + cx().text(wanted) + "` is wanted, not `" + cx().text(argument.size) + "`", &wanted);
  }

  /// Whether no sizes of its dims make one the other.
  static bool has_other_rank(const Type& param, const Type& argument) {
    const auto is_fixed = [](const Dim& dim) { return dim.group == 0; };
    const auto fixed = [&](const Type& type) { return std::count_if(type.dims.begin(), type.dims.end(), is_fixed); };
    const long wanted = fixed(param), given = fixed(argument);
    const bool is_wanted_open = size_t(wanted) < param.dims.size(),
               is_given_open = size_t(given) < argument.dims.size();
    return (given < wanted && !is_given_open) || (wanted < given && !is_wanted_open);
  }

  bool match_tensor(const Type& param, const Type& argument) {
    if (param.element == Element::Any) {
      if (!binding.any) binding.any = argument.element;
      if (*binding.any != argument.element) {
        cx().report(diag::wrong_element(span, what + " has elements of type " + to_text(argument.element) +
                                                  ", the others " + to_text(*binding.any))
                        .help("convert one: `.to({})`", to_text(*binding.any)));
        return false;
      }
    } else if ((is_op || binding.takes_any_float) && param.element == Element::Float && is_floating(argument.element)) {
      if (!binding.floating) binding.floating = argument.element;
      if (*binding.floating != argument.element) {
        cx().report(diag::wrong_element(span, what + " has elements of type " + to_text(argument.element) +
                                                  ", the others " + to_text(*binding.floating))
                        .help("convert one: `.to({})`", to_text(*binding.floating)));
        return false;
      }
    } else if (param.element != argument.element) {
      if (has_other_rank(param, argument)) return fail_rank(param, argument);
      cx().report(
          diag::wrong_element(span, what + " must have elements of type " + std::string(to_text(param.element)) +
                                        ", not " + to_text(argument.element))
              .label(span, "{}", cx().text(argument))
              .help("{}",
                    element_cure({what, is_op, cx().source_text(span)}, substitute(param, binding, cx()), argument)));
      return false;
    }
    size_t group_at = param.dims.size();
    for (size_t i = 0; i < param.dims.size(); ++i) {
      if (param.dims[i].group != 0) group_at = i;
    }
    if (group_at == param.dims.size()) {
      if (param.dims.size() != argument.dims.size()) return fail_rank(param, argument);
      for (size_t i = 0; i < param.dims.size(); ++i) {
        if (!match_dim(param.dims[i], argument.dims[i], param, argument)) return false;
      }
      return true;
    }
    const size_t before = group_at, after = param.dims.size() - group_at - 1;
    if (argument.dims.size() < before + after) return fail_rank(param, argument);
    for (size_t i = 0; i < before; ++i) {
      if (!match_dim(param.dims[i], argument.dims[i], param, argument)) return false;
    }
    const std::vector<Dim> middle(argument.dims.begin() + long(before), argument.dims.end() - long(after));
    const uint32_t group = param.dims[group_at].group;
    if (const auto bound = binding.groups.find(group); bound != binding.groups.end()) {
      // One that lacks all that `...` stands for has others of its dims in the places of those behind it.
      if (after > 0 && middle.empty() && !bound->second.empty()) return fail_rank(param, argument);
      if (!match_group(bound->second, middle, before, param, argument)) return false;
    } else {
      binding.groups[group] = middle;
      if (const auto count = cx().groups.counts.find(group); count != cx().groups.counts.end())
        binding.dims[count->second] = count_of(middle, cx());
      if (const auto rank = cx().groups.ranks.find(group); rank != cx().groups.ranks.end())
        binding.dims[rank->second] = rank_of(middle, cx());
    }
    for (size_t i = 0; i < after; ++i) {
      if (!match_dim(param.dims[group_at + 1 + i], argument.dims[argument.dims.size() - after + i], param, argument)) {
        return false;
      }
    }
    return true;
  }

  /// The group of `argument` is `here`, with `before` dims in front of it, and that of an earlier one `bound`.
  bool match_group(const std::vector<Dim>& bound, const std::vector<Dim>& here, size_t before, const Type& param,
                   const Type& argument) {
    if (bound == here) return true;
    Type first = argument;
    first.dims = substitute(param, binding, cx()).dims;
    for (size_t i = 1; before + i < param.dims.size(); ++i) {
      Dim& behind = first.dims[first.dims.size() - i];
      const auto atom = behind.size.single_atom();
      if (atom && free.contains(*atom)) behind = argument.dims[argument.dims.size() - i];
    }
    bool is_equal = bound.size() == here.size();
    for (size_t i = 0; is_equal && i < here.size(); ++i) {
      is_equal = bound[i].group == here[i].group &&
                 (bound[i].group != 0 || require_equal(bound[i].size, here[i].size, span, scope, true));
    }
    if (is_equal) return true;
    // Shapes that PyTorch would stretch against each other deserve the warning that it would.
    const Broadcast stretched = broadcast(bound, here, cx());
    if (stretched.is_symbolic_clash || (stretched.dims && stretched.equal.empty())) {
      diagnostics::Diagnostic diagnostic =
          diag::symbolic_broadcast(span, "compare", cx().text(first), cx().text(argument));
      diagnostic.label(span, "{}", cx().text(argument));
      if (!bound.empty() && !here.empty())
        diagnostic.note("{} and {} differ; broadcasting would silently pair every element with every other",
                        dims_text(bound), dims_text(here));
      const bool is_first = bound.size() > here.size();
      const std::vector<Dim>& longer = is_first ? bound : here;
      const size_t shared = std::min(bound.size(), here.size());
      if (longer.size() == shared + 1 && longer.back().group == 0 && longer.back().size.constant() == 1) {
        const size_t axis = before + shared;
        diagnostic.help("write `.squeeze({})` on {}, or `.unsqueeze({})` on {}", axis,
                        is_first ? "the first" : "this one", axis, is_first ? "this one" : "the first");
      }
      cx().report(std::move(diagnostic));
      return false;
    }
    diagnostics::Diagnostic diagnostic =
        diag::dims_differ(span, what + " has another shape than what stands before it");
    diagnostic.label(span, "{}", cx().text(argument))
        .note("{} and {} differ: {} is wanted", dims_text(bound), dims_text(here), cx().text(first));
    help_of_one_class(diagnostic, what, bound, here);
    cx().report(std::move(diagnostic));
    return false;
  }

  /// What `...` stands for: "the dims [A, B]".
  std::string dims_text(const std::vector<Dim>& dims) {
    if (dims.empty()) return "no dims";
    const std::string shape = cx().text(Type::tensor(Element::Float, dims));
    return (dims.size() == 1 ? "the dim " : "the dims ") + shape.substr(shape.find('['));
  }

  /// The axis of size 1 without which `longer` is `shorter`.
  static std::optional<size_t> dim_of_one(const std::vector<Dim>& longer, const std::vector<Dim>& shorter) {
    for (size_t i = 0; i < longer.size(); ++i) {
      std::vector<Dim> rest = longer;
      rest.erase(rest.begin() + long(i));
      if (longer[i].group == 0 && longer[i].size.is_one() && rest == shorter) return i;
    }
    return std::nullopt;
  }

  /// Whether ints lack the last dim alone: the number of a class stands for a row of zeros with a one.
  static bool lacks_classes(const Type& wanted, const Type& argument) {
    const bool has_more = wanted.dims.size() == argument.dims.size() + 1 && wanted.dims.back().group == 0;
    return has_more && wanted.element == Element::I64 && argument.element == Element::I64 &&
           std::equal(argument.dims.begin(), argument.dims.end(), wanted.dims.begin());
  }

  bool fail_rank(const Type& param, const Type& argument) {
    const Type wanted = substitute(param, binding, cx());
    diagnostics::Diagnostic diagnostic =
        diag::wrong_rank(span, what + " must be " + cx().text(wanted) + ", not " + cx().text(argument));
    diagnostic.label(span, "this has {}", count_text(argument.dims.size(), "dim"));
    if (const auto axis = dim_of_one(argument.dims, wanted.dims)) {
      diagnostic.help("`.squeeze({})` takes the dim of size 1 away", *axis);
    } else if (const auto missing = dim_of_one(wanted.dims, argument.dims)) {
      diagnostic.help("`.unsqueeze({})` adds the dim of size 1", *missing);
    } else if (lacks_classes(wanted, argument)) {
      diagnostic.help("of numbers below {} it is `one_hot({}, {})`", cx().text(wanted.dims.back().size),
                      cx().source_text(span), cx().text(wanted.dims.back().size));
    } else {
      help_of_argument(diagnostic, what);
    }
    cx().report(std::move(diagnostic));
    return false;
  }
};

}  // namespace

bool match(const Type& param, const Type& argument, Binding& binding, const std::set<AtomId>& free, Span span,
           Scope& scope, const std::string& what, bool is_op) {
  if (param.is_error() || argument.is_error()) return true;
  Matcher matcher{binding, free, span, scope, what, is_op};
  if (param.kind == argument.kind && (param.kind == Kind::Tensor || param.kind == Kind::Texts))
    return matcher.match_tensor(param, argument);
  if (param.kind == Kind::Option) {
    if (argument.kind == Kind::None) return true;
    const Type& inner = argument.kind == Kind::Option ? argument.fields[0].type : argument;
    return match(param.fields[0].type, inner, binding, free, span, scope, what, is_op);
  }
  if (param.kind == Kind::Record && argument.kind == Kind::Record) {
    for (size_t i = 0; i < param.fields.size(); ++i) {
      const TypeField& field = param.fields[i];
      const TypeField* found = argument.find(field.name, i);
      if (found == nullptr) {
        if (!is_told_missing(argument, field.name, scope.cx))
          scope.cx.report(diag::unknown_field(span, scope.cx.text(argument), field.name));
        return false;
      }
      if (!match(field.type, found->type, binding, free, span, scope, "the field `" + field.name + "`", is_op))
        return false;
    }
    return true;
  }
  if (param.kind == Kind::List && argument.kind == Kind::List && !param.fields.empty()) {
    return std::ranges::all_of(argument.fields, [&](const TypeField& element) {
      return match(param.fields[0].type, element.type, binding, free, span, scope, what, is_op);
    });
  }
  const bool are_tuples = param.kind == Kind::Tuple && argument.kind == Kind::Tuple;
  for (size_t i = 0; are_tuples && param.fields.size() == argument.fields.size() && i < param.fields.size(); ++i) {
    if (!match(param.fields[i].type, argument.fields[i].type, binding, free, span, scope, what, is_op)) return false;
  }
  return true;
}

}  // namespace ltr::check
