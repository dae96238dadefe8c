#include "codegen/ir/step.h"

#include <array>

#include "codegen/ir/internal_error.h"

namespace ltr::ir {
namespace {

struct RoleName {
  Role role;
  const char* name;
};

constexpr std::array kRoles = {
    RoleName{Role::Free, "free"},
    RoleName{Role::Method, "method"},
    RoleName{Role::Step, "step"},
    RoleName{Role::Hook, "hook"},
    RoleName{Role::Test, "test"},
    RoleName{Role::MetricUpdate, "metric_update"},
    RoleName{Role::MetricCompute, "metric_compute"},
    RoleName{Role::MetricEach, "metric_each"},
    RoleName{Role::MetricLength, "metric_length"},
    RoleName{Role::MetricMerge, "metric_merge"},
    RoleName{Role::Constructor, "constructor"},
    RoleName{Role::MetricMaker, "metric_maker"},
    RoleName{Role::InitRule, "init_rule"},
    RoleName{Role::Resolve, "resolve"},
    RoleName{Role::Defaults, "defaults"},
    RoleName{Role::Fits, "fits"},
    RoleName{Role::MakeData, "make_data"},
    RoleName{Role::MakeModel, "make_model"},
    RoleName{Role::ListCallbacks, "list_callbacks"},
};

}  // namespace

const Attr* Op::find(const std::string& key) const {
  for (const Attr& attr : attrs) {
    if (attr.key == key) return &attr;
  }
  return nullptr;
}

std::string_view Op::target() const {
  if (kind == OpKind::HostOp) return host::info(host).name;
  if (kind == OpKind::Trainer) return library::info(function).name;
  if (kind != OpKind::CallOp) return name;
  const library::Function& callee = library::info(function);
  return callee.operands.empty() ? callee.name : std::string_view();
}

int64_t Op::number(const std::string& key) const {
  const Attr* attr = find(key);
  LTR_INVARIANT(attr != nullptr && std::holds_alternative<int64_t>(attr->value), "op lacks number " + key, loc);
  return std::get<int64_t>(attr->value);
}

const std::string& Op::text(const std::string& key) const {
  const Attr* attr = find(key);
  LTR_INVARIANT(attr != nullptr && std::holds_alternative<std::string>(attr->value), "op lacks text " + key, loc);
  return std::get<std::string>(attr->value);
}

const Texts& Op::texts(const std::string& key) const {
  const Attr* attr = find(key);
  LTR_INVARIANT(attr != nullptr && std::holds_alternative<Texts>(attr->value), "op lacks texts " + key, loc);
  return std::get<Texts>(attr->value);
}

NameRules Op::name_rules(const std::string& key) const {
  const Attr* attr = find(key);
  if (attr == nullptr) return {};
  LTR_INVARIANT(std::holds_alternative<NameRules>(attr->value), "op lacks rules of names " + key, loc);
  return std::get<NameRules>(attr->value);
}

const Function* Module::find(const std::string& function) const {
  for (const Function& candidate : functions) {
    if (candidate.name == function) return &candidate;
  }
  return nullptr;
}

const char* to_text(Role role) {
  for (const RoleName& known : kRoles) {
    if (known.role == role) return known.name;
  }
  return "free";
}

std::optional<Role> role_of(const std::string& text) {
  for (const RoleName& known : kRoles) {
    if (text == known.name) return known.role;
  }
  return std::nullopt;
}

}  // namespace ltr::ir
