#include <algorithm>

#include "dsl/check/library/shape_rules/rules.h"
#include "dsl/check/scope/reported.h"

namespace ltr::check {

namespace {

Polynomial product(const std::vector<Dim>& dims, size_t first, size_t last, Context& cx) {
  return count_of(std::vector<Dim>(dims.begin() + long(first), dims.begin() + long(last)), cx);
}

bool has_group(const Type& type) {
  return std::any_of(type.dims.begin(), type.dims.end(), [](const Dim& dim) { return dim.group != 0; });
}

/// The first given as a tensor, and the ints behind it.
struct TensorAndList {
  Expr tensor;
  Expr list;
};
std::optional<TensorAndList> take(CallSite& site) {
  if (site.given.empty() || site.given[0].name) {
    site.scope.cx.report(diag::wrong_argument(site.name_span, "`" + site.name + "` needs a tensor"));
    return std::nullopt;
  }
  Expr tensor = tensor_given(site.given[0], site);
  if (!want_tensor(tensor, site)) return std::nullopt;
  site.given.erase(site.given.begin());
  auto list = take_dims(site, 0, 0);
  if (!list) return std::nullopt;
  if (!site.given.empty()) {
    site.scope.cx.report(diag::wrong_argument(site.given[0].span, "`" + site.name + "` takes dims only"));
    return std::nullopt;
  }
  return TensorAndList{std::move(tensor), std::move(*list)};
}

/// The same where the ints are sizes.
struct TensorAndDims {
  Expr tensor;
  Expr list;
  std::vector<Dim> dims;
};
std::optional<TensorAndDims> take_sizes(CallSite& site) {
  auto taken = take(site);
  if (!taken) return std::nullopt;
  auto dims = dims_of(taken->list, site);
  if (!dims) return std::nullopt;
  return TensorAndDims{std::move(taken->tensor), std::move(taken->list), std::move(*dims)};
}

/// The place of a name that is a whole dim, and of no other.
std::optional<size_t> only_place(AtomId atom, const std::vector<Dim>& dims) {
  std::optional<size_t> place;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i].size.single_atom() != atom) continue;
    if (place) return std::nullopt;
    place = i;
  }
  return place;
}

/// The axes of `before` in the order of `after`, `0, 2, 1`, where these are the same sizes in another one; empty if they are not.
std::string order_of(const std::vector<Dim>& before, const std::vector<Dim>& after) {
  if (before.size() != after.size()) return "";
  std::vector<size_t> order;
  bool is_moved = false;
  for (const Dim& dim : after) {
    size_t from = 0;
    const auto is_it = [&](size_t i) {
      return before[i].group == dim.group && before[i].size == dim.size && std::ranges::find(order, i) == order.end();
    };
    while (from < before.size() && !is_it(from)) ++from;
    if (from == before.size()) return "";
    // An axis of one element holds no order.
    if (!dim.size.is_one())
      is_moved =
          is_moved || std::ranges::any_of(order, [&](size_t one) { return one > from && !before[one].size.is_one(); });
    order.push_back(from);
  }
  std::string text;
  for (const size_t axis : order) text += (text.empty() ? "" : ", ") + std::to_string(axis);
  return is_moved ? text : "";
}

/// W0308: `[B, T, D]` as `[T, B, D]`, or as `[B, heads, T, D / heads]`. Values stay in their order, so an axis that keeps its
/// name keeps what stands in front of it, too.
void check_axes_stay(const std::vector<Dim>& before, const std::vector<Dim>& after, const CallSite& site) {
  Context& cx = site.scope.cx;
  const AtomTable& atoms = cx.program.atoms;
  const auto is_named = [&](const Polynomial& size) {
    return std::ranges::all_of(size.atoms(), [&](AtomId id) { return atoms.at(id).kind == Atom::Kind::Variable; });
  };
  if (cx.graph.modules[site.scope.module].is_library) return;
  if (const std::string order = order_of(before, after); !order.empty()) {
    const auto moved = std::ranges::mismatch(before, after, {}, &Dim::size, &Dim::size).in1;
    cx.report(diag::axis_cut(site.span, cx.text(moved->size)).help("`.permute({})` moves axes", order));
    return;
  }
  for (size_t i = 0; i < before.size(); ++i) {
    const auto atom = before[i].size.single_atom();
    const auto to = atom && only_place(*atom, before) ? only_place(*atom, after) : std::nullopt;
    if (!to) continue;
    const Polynomial first = product(before, 0, i, cx), second = product(after, 0, *to, cx);
    if (first == second || !is_named(first) || !is_named(second)) continue;
    cx.report(diag::axis_cut(site.span, cx.text(before[i].size))
                  .help("`reshape` in the order in which they are, and `.transpose(i, j)` moves two axes"));
    return;
  }
}

/// W0308 of sizes that are numbers, which say less: the channels of `[B, 5, 8, 8]` as the last axis of `reshape(-1, 5)` or of
/// `reshape(B, 64, 5)`. A size that the last axes make together may be theirs.
void check_channels_stay(const std::vector<Dim>& before, const std::vector<Dim>& after, bool is_rest,
                         const CallSite& site) {
  Context& cx = site.scope.cx;
  const auto size = after.back().size.constant();
  if (!size || *size < 2 || cx.graph.modules[site.scope.module].is_library) return;
  const auto is_it = [&](const Dim& dim) { return dim.size.constant() == size; };
  const auto place = std::ranges::find_if(before, is_it);
  if (before.size() < 2 || place == before.end() || std::ranges::count_if(before, is_it) != 1) return;
  for (size_t i = 0; i < before.size(); ++i) {
    if (product(before, i, before.size(), cx) == after.back().size) return;
  }
  const auto axis = size_t(place - before.begin());
  const bool is_list = after.size() == 2 && is_rest;
  const bool is_of_places = after.size() == 3 && axis == 1 && before[0].size == after[0].size &&
                            after[1].size == product(before, 2, before.size(), cx);
  if (!is_list && !is_of_places) return;
  if (is_reported(cx, diagnostics::Code::W0308, site.span)) return;
  std::string order;
  for (size_t i = 0; i < before.size(); ++i) order += i == axis ? "" : std::to_string(i) + ", ";
  cx.report(diag::axis_cut(site.span, cx.text(place->size))
                .help("`.permute({}{}).reshape(…)` moves that axis behind the others first", order, axis));
}

}  // namespace

Expr rule_numel(const FnInfo& op, CallSite& site) {
  Expr call = call_by_signature(op, site);
  const auto* numel = call.get<node::Op>();
  if (numel != nullptr) call.type = Type::host_int(count_of(site.scope.cx.at(numel->args[0]).type.dims, site.scope.cx));
  return call;
}

Expr rule_reshape(const FnInfo& op, CallSite& site) {
  Context& cx = site.scope.cx;
  auto taken = take_sizes(site);
  if (!taken) return error_at(site.span);
  auto& [tensor, list, dims] = *taken;
  AtomTable& atoms = cx.program.atoms;
  const Type type_before = tensor.type;
  const bool is_open =
      has_group(tensor.type) || atoms.mentions_unknown(product(tensor.type.dims, 0, tensor.type.dims.size(), cx));
  const Polynomial before = product(tensor.type.dims, 0, tensor.type.dims.size(), cx);
  std::optional<size_t> inferred;
  Polynomial after = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i].size.constant() == -1 && inferred) {
      cx.report(diag::wrong_argument(site.span, "one dim of `reshape` may be -1, and two are")
                    .help("the one that follows from the others is -1: `{}`", "x.reshape(B, -1)"));
      return error_at(site.span);
    }
    if (dims[i].size.constant() == -1) {
      inferred = i;
    } else {
      after = atoms.multiply(after, dims[i].size);
    }
  }
  if (inferred) {
    Requirement divisible;
    divisible.kind = Requirement::Kind::Divisible;
    divisible.left = before;
    divisible.right = after;
    if (!is_open && after != Polynomial(0) && decide(divisible, cx) == Truth::False) {
      Type wanted = Type::tensor(tensor.type.element, dims);
      cx.report(diag::reshape_count(site.span, cx.text(before), cx.text(type_before), "a multiple of " + cx.text(after),
                                    cx.text(wanted)));
      return error_at(site.span);
    }
    dims[*inferred].size = is_open ? atoms.unknown() : atoms.exact(before, after);
  } else if (!is_open && !atoms.mentions_unknown(after) && !require_equal(before, after, site.span, site.scope, true)) {
    Type wanted = Type::tensor(tensor.type.element, dims);
    cx.report(diag::reshape_count(site.span, cx.text(before), cx.text(type_before), cx.text(after), cx.text(wanted)));
    return error_at(site.span);
  }
  if (!is_open) check_axes_stay(type_before.dims, dims, site);
  if (!is_open && !dims.empty()) check_channels_stay(type_before.dims, dims, inferred == 0, site);
  return typed_call(op, Type::tensor(type_before.element, std::move(dims)), site, {std::move(tensor), std::move(list)});
}

Expr rule_expand(const FnInfo& op, CallSite& site) {
  Context& cx = site.scope.cx;
  auto taken = take_sizes(site);
  if (!taken) return error_at(site.span);
  auto& [tensor, list, dims] = *taken;
  if (dims.size() < tensor.type.dims.size()) {
    cx.report(diag::wrong_rank(site.span, "`expand` cannot take dims away from " + cx.text(tensor.type)));
    return error_at(site.span);
  }
  for (size_t i = 0; i < tensor.type.dims.size(); ++i) {
    const Dim& old = tensor.type.dims[tensor.type.dims.size() - 1 - i];
    Dim& wanted = dims[dims.size() - 1 - i];
    if (wanted.size.constant() == -1) wanted = old;
    if (!old.size.is_one() && !require_equal(old.size, wanted.size, site.span, site.scope, true)) {
      cx.report(diag::dims_differ(site.span, "`expand` stretches dims of size 1 only, not " + cx.text(old.size) +
                                                 " to " + cx.text(wanted.size)));
      return error_at(site.span);
    }
  }
  const Element element = tensor.type.element;
  return typed_call(op, Type::tensor(element, std::move(dims)), site, {std::move(tensor), std::move(list)});
}

Expr rule_repeat(const FnInfo& op, CallSite& site) {
  Context& cx = site.scope.cx;
  auto taken = take_sizes(site);
  if (!taken) return error_at(site.span);
  auto& [tensor, list, counts] = *taken;
  if (counts.size() < tensor.type.dims.size()) {
    cx.report(diag::wrong_rank(site.span, "`repeat` needs a count for every dim of " + cx.text(tensor.type)));
    return error_at(site.span);
  }
  for (size_t i = 0; i < tensor.type.dims.size(); ++i) {
    Dim& count = counts[counts.size() - 1 - i];
    count.size = cx.program.atoms.multiply(count.size, tensor.type.dims[tensor.type.dims.size() - 1 - i].size);
  }
  const Element element = tensor.type.element;
  return typed_call(op, Type::tensor(element, std::move(counts)), site, {std::move(tensor), std::move(list)});
}

Expr rule_flatten(const FnInfo& op, CallSite& site) {
  auto args = plain_arguments(op, site);
  if (!args || !want_tensor((*args)[0], site)) return error_at(site.span);
  const Type before = (*args)[0].type;
  if (before.dims.empty()) {
    return typed_call(op, Type::tensor(before.element, {{.size = 1, .group = 0}}), site, std::move(*args));
  }
  const auto is_axis = [&](size_t arg, int64_t axis) {
    return (*args)[arg].type.value && (*args)[arg].type.value->constant() == axis;
  };
  if (has_group(before) && is_axis(1, 0) && is_axis(2, -1)) {
    const Polynomial count = site.scope.cx.program.atoms.unknown();
    return typed_call(op, Type::tensor(before.element, {{.size = count, .group = 0}}), site, std::move(*args));
  }
  const auto start = axis_of((*args)[1], before, site);
  const auto end = start ? axis_of((*args)[2], before, site) : std::nullopt;
  if (!end) return error_at(site.span);
  if (*start > *end) {
    site.scope.cx.report(diag::wrong_argument(site.span, "`flatten` starts behind its end"));
    return error_at(site.span);
  }
  std::vector<Dim> dims(before.dims.begin(), before.dims.begin() + long(*start));
  dims.push_back({.size = product(before.dims, *start, *end + 1, site.scope.cx), .group = 0});
  dims.insert(dims.end(), before.dims.begin() + long(*end) + 1, before.dims.end());
  return typed_call(op, Type::tensor(before.element, std::move(dims)), site, std::move(*args));
}

Expr rule_permute(const FnInfo& op, CallSite& site) {
  Context& cx = site.scope.cx;
  auto taken = take(site);
  if (!taken) return error_at(site.span);
  auto& [tensor, list] = *taken;
  const Type before = tensor.type;
  std::vector<Dim> dims;
  std::set<size_t> used;
  const auto* axes = list.get<node::List>();
  for (const ExprId id : axes != nullptr ? axes->elements : ExprIds{}) {
    const auto axis = axis_of(cx.at(id), before, site);
    if (!axis) return error_at(site.span);
    used.insert(*axis);
    dims.push_back(before.dims[*axis]);
  }
  if (used.size() != before.dims.size() || dims.size() != before.dims.size()) {
    cx.report(diag::wrong_argument(site.span, "`permute` names every axis of " + cx.text(before) + " once"));
    return error_at(site.span);
  }
  return typed_call(op, Type::tensor(before.element, std::move(dims)), site, {std::move(tensor), std::move(list)});
}

Expr rule_transpose(const FnInfo& op, CallSite& site) {
  auto args = plain_arguments(op, site);
  if (!args || !want_tensor((*args)[0], site)) return error_at(site.span);
  Type type = (*args)[0].type;
  const auto a = axis_of((*args)[1], type, site);
  const auto b = axis_of((*args)[2], type, site);
  if (!a || !b) return error_at(site.span);
  std::swap(type.dims[*a], type.dims[*b]);
  return typed_call(op, std::move(type), site, std::move(*args));
}

namespace {

/// Without all axes that are declared to be of size 1, one by one: an axis `B` stays, also where a run has one sample.
Expr without_ones(const FnInfo& op, Expr x, CallSite& site) {
  const std::vector<Dim> dims = x.type.dims;
  for (size_t at = dims.size(); at-- > 0;) {
    if (dims[at].group != 0 || !dims[at].size.is_one()) continue;
    Type type = x.type;
    type.dims.erase(type.dims.begin() + long(at));
    // Behind a `...` an axis is counted from the last one.
    const bool is_behind =
        std::any_of(dims.begin(), dims.begin() + long(at), [](const Dim& dim) { return dim.group != 0; });
    const int64_t axis = int64_t(at) - (is_behind ? int64_t(x.type.dims.size()) : 0);
    std::vector<Expr> args;
    args.push_back(std::move(x));
    args.push_back(int_const(axis, site.span));
    x = typed_call(op, std::move(type), site, std::move(args));
  }
  return x;
}

}  // namespace

Expr rule_squeeze(const FnInfo& op, CallSite& site) {
  auto args = plain_arguments(op, site);
  if (!args || !want_tensor((*args)[0], site)) return error_at(site.span);
  Type type = (*args)[0].type;
  if ((*args)[1].is<node::NoneConst>()) return without_ones(op, std::move((*args)[0]), site);
  const auto axis = axis_of((*args)[1], type, site);
  if (!axis) return error_at(site.span);
  if (!type.dims[*axis].size.is_one()) {
    site.scope.cx.report(diag::dims_differ(site.span, "`squeeze` takes away a dim of size 1, and axis " +
                                                          std::to_string(*axis) + " of " + site.scope.cx.text(type) +
                                                          " is " + site.scope.cx.text(type.dims[*axis].size)));
    return error_at(site.span);
  }
  type.dims.erase(type.dims.begin() + long(*axis));
  return typed_call(op, std::move(type), site, std::move(*args));
}

Expr rule_unsqueeze(const FnInfo& op, CallSite& site) {
  auto args = plain_arguments(op, site);
  if (!args || !want_tensor((*args)[0], site)) return error_at(site.span);
  Type type = (*args)[0].type;
  const auto axis = axis_of((*args)[1], type, site, true);
  if (!axis) return error_at(site.span);
  type.dims.insert(type.dims.begin() + long(*axis), Dim{.size = 1, .group = 0});
  return typed_call(op, std::move(type), site, std::move(*args));
}

}  // namespace ltr::check
