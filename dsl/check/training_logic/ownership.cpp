#include "dsl/check/context.h"

namespace ltr::check {

namespace {

/// Whether building a value of this type makes weights that can be trained.
bool has_weights(const Type& type, const Context& cx) {
  if (type.kind == Kind::List) {
    return std::any_of(type.fields.begin(), type.fields.end(),
                       [&](const TypeField& field) { return has_weights(field.type, cx); });
  }
  if (type.kind != Kind::Block) return false;
  const ObjectInfo* object = find_object(cx, Kind::Block, type.decl);
  if (object == nullptr) return false;
  return std::any_of(object->members.begin(), object->members.end(), [&](const auto& member) {
    return member.second.kind == MemberKind::Weight || has_weights(member.second.type, cx);
  });
}

/// `net.fc` of `net.fc.weights`.
std::string path_of(const Expr& expr) {
  if (expr.kind != ExprKind::Member || expr.args.empty()) return "";
  const std::string base = path_of(expr.args[0]);
  return base.empty() ? expr.name : base + "." + expr.name;
}

void collect(const Expr& expr, std::vector<std::pair<std::string, Span>>& paths) {
  if (expr.kind == ExprKind::Weights && !expr.args.empty()) {
    paths.emplace_back(path_of(expr.args[0]), expr.span);
    return;
  }
  for (const Expr& arg : expr.args) collect(arg, paths);
}

bool is_within(const std::string& path, const std::string& outer) {
  return path == outer ||
         (path.size() > outer.size() && path.starts_with(outer) && path[outer.size()] == '.');
}

}  // namespace

// Every trained tensor of a model has exactly one optimizer, unless nothing trains the model at
// all.
void check_ownership(Context& cx, const ObjectInfo& model) {
  const Object& typed = cx.program.models[model.index];
  std::vector<std::pair<std::string, std::pair<std::string, Span>>>
      owned;  // path -> optimizer and place
  for (const Member& member : typed.members) {
    if (member.kind != MemberKind::Optimizer) continue;
    if (member.value.type.is_error()) return;
    std::vector<std::pair<std::string, Span>> paths;
    if (!member.value.args.empty()) collect(member.value.args[0], paths);
    for (const auto& [path, span] : paths) {
      for (const auto& [other, owner] : owned) {
        if (!is_within(path, other) && !is_within(other, path)) continue;
        cx.report(diag::weight_with_two_optimizers(span, path)
                      .label(owner.second, "`{}` owns `{}` here", owner.first, other));
      }
      owned.push_back({path, {member.name, span}});
    }
  }
  const bool trains = std::any_of(model.fn_order.begin(), model.fn_order.end(),
                                  [&](const std::string& name) { return name == "train"; });
  if (!trains) return;
  for (const Member& member : typed.members) {
    const bool is_trained = member.kind == MemberKind::Weight ||
                            (member.kind == MemberKind::Block && has_weights(member.type, cx));
    if (!is_trained) continue;
    const bool is_owned = std::any_of(owned.begin(), owned.end(), [&](const auto& owner) {
      return is_within(member.name, owner.first) || is_within(owner.first, member.name);
    });
    if (is_owned) continue;
    cx.report(
        diag::weight_without_optimizer(member.span, member.name)
            .help("add `{}` to an optimizer, or take the member away",
                  member.kind == MemberKind::Weight ? member.name : member.name + ".weights"));
  }
}

}  // namespace ltr::check
