#include "ltrc/canonical_code.h"

#include <fmt/core.h>

#include <set>

#include "dsl/source/text.h"

namespace ltr::driver {

using ir::Op;
using ir::OpKind;
using ir::Type;
using ir::TypeKind;
using ir::ValueId;

std::string constant_text(const ir::Constant& constant) {
  struct Visitor {
    std::string operator()(ir::NoneConstant) const { return "none"; }
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(int64_t value) const { return std::to_string(value); }
    std::string operator()(double value) const { return fmt::format("{}", value); }
    std::string operator()(const std::string& value) const { return source::quote(value); }
  };
  return std::visit(Visitor{}, constant);
}

std::string type_text(const Type& type, CanonicalCode& code) {
  switch (type.kind) {
    case TypeKind::Tensor: return fmt::format("{}[{}]", ir::to_text(type.element), type.dims.size());
    case TypeKind::Record:
    case TypeKind::Stream: {
      std::string out = "{";
      for (const ir::Field& field : type.fields)
        out += (out.size() > 1 ? ", " : "") + field.name + ": " + type_text(field.type, code);
      return out + "}";
    }
    case TypeKind::Tuple:
    case TypeKind::List:
    case TypeKind::Option: {
      std::string out = type.kind == TypeKind::Tuple ? "(" : type.kind == TypeKind::List ? "list(" : "option(";
      for (const ir::Field& field : type.fields) {
        if (out.back() != '(') out += ", ";
        out += type_text(field.type, code);
      }
      return out + ")";
    }
    case TypeKind::Block:
    case TypeKind::Model:
    case TypeKind::Data:
    case TypeKind::Metric:
    case TypeKind::Callback:
    case TypeKind::MetricValue: return code.label_of_object(type.name);
    case TypeKind::Handle: return "handle " + type.name;
    default: return std::string(ir::to_text(type.kind));
  }
}

std::string CanonicalCode::label_of(const std::string& function) {
  const ir::Function* known = module_.find(function);
  if (known == nullptr || known->is_library) return function;
  const auto [place, is_new] = functions_.try_emplace(function, order_.size());
  if (is_new) order_.push_back(function);
  return fmt::format("fn{}", place->second);
}

std::string CanonicalCode::label_of_object(const std::string& object) {
  const ir::ObjectInfo* info = module_.tables->find_object(object);
  if (info == nullptr || info->is_library) return object;
  return fmt::format("object{}", objects_.try_emplace(object, objects_.size()).first->second);
}

std::string CanonicalCode::rules_of(const ir::ObjectInfo& object) {
  if (object.kind != TypeKind::Metric) return "";
  std::string out;
  for (const ir::ObjectMember& member : object.members) {
    if (member.kind == ir::ObjectMember::Kind::State) out += " " + member.reduce;
  }
  // The runtime calls them, no op does.
  for (const ir::Function& function : module_.functions) {
    const bool is_called = function.role == ir::Role::MetricCompute || function.role == ir::Role::MetricEach ||
                           function.role == ir::Role::MetricMerge;
    if (is_called && function.owner == object.name) out += " " + label_of(function.name);
  }
  return out;
}

std::string CanonicalCode::path_of(const std::string& path, const Type& at) const {
  std::string out;
  const ir::ObjectInfo* info = module_.tables->find_object(at.name);
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    const std::string name = path.substr(begin, end - begin);
    std::string shown = name;
    const ir::ObjectInfo* next = nullptr;
    const auto step = [&](const Type& type) {
      const Type& element = type.is(TypeKind::List) && !type.fields.empty() ? type.fields[0].type : type;
      next = module_.tables->find_object(element.name);
    };
    if (info != nullptr && name == "model" && info->kind == TypeKind::Callback) {
      next = module_.tables->find_object(info->model);
    } else if (info != nullptr && name.starts_with("$")) {
      for (size_t i = 0; i < info->params.size(); ++i) {
        if (info->params[i].name != name.substr(1)) continue;
        if (!info->is_library) shown = fmt::format("${}", i);
        step(info->params[i].type);
      }
    } else if (info != nullptr) {
      size_t lets = 0;
      for (const ir::ObjectMember& member : info->members) {
        const bool is_let = member.kind == ir::ObjectMember::Kind::Let;
        if (member.name == name) {
          if (is_let && !info->is_library) shown = fmt::format("let{}", lets);
          step(member.type);
        }
        lets += is_let ? 1 : 0;
      }
      // An element of a list of blocks: the name is its number.
      if (next == nullptr && name.find_first_not_of("0123456789") == std::string::npos) next = info;
    }
    out += (begin == 0 ? "" : ".") + shown;
    info = next;
    begin = end + 1;
  }
  return out;
}

/// One function.
class CanonicalCode::Body {
 public:
  Body(CanonicalCode& code, const ir::Function& function) : code_(code), function_(function) {}

  std::string run() {
    out_ = ir::to_text(function_.role);
    out_ += " (";
    for (const ValueId param : function_.body.params) out_ += (out_.back() == '(' ? "" : ", ") + declare(param);
    out_ += ")\n";
    region(function_.body, 1);
    return std::move(out_);
  }

 private:
  std::string use(ValueId id) {
    const ir::Value& value = function_.values[id];
    if (value.constant) return constant_text(*value.constant);
    const auto known = numbers_.find(id);
    return known == numbers_.end() ? "%?" : fmt::format("%{}", known->second);
  }
  std::string declare(ValueId id) {
    numbers_.emplace(id, numbers_.size());
    return use(id) + ": " + type_text(function_.values[id].type, code_);
  }

  /// What stands behind `@`: a path of members, a function, an object, a log.
  std::string name(const Op& op) {
    switch (op.kind) {
      case OpKind::CallFn:
      case OpKind::CallMethod:
      case OpKind::MapStream: return code_.label_of(op.name);
      case OpKind::Construct: {
        const ir::ObjectInfo* info = code_.module_.tables->find_object(op.name);
        if (info != nullptr && !info->is_library && !info->constructor.empty())
          return code_.label_of_object(op.name) + " by " + code_.label_of(info->constructor) + code_.rules_of(*info);
        return code_.label_of_object(op.name);
      }
      case OpKind::Member:
      case OpKind::ReadParam:
      case OpKind::ReadBuffer:
      case OpKind::WriteBuffer:
      case OpKind::SetMember:
      case OpKind::CallMetric:
        if (op.operands.empty()) return op.name;
        return code_.path_of(op.name, function_.values[op.operands[0]].type);
      case OpKind::LogValue: {
        const ir::LogInfo& log = code_.module_.tables->logs[size_t(op.number("slot"))];
        return fmt::format("{}.{} {} on {} reduce {}", log.role, log.name, log.kind, log.when, log.reduce);
      }
      default: return std::string(op.target());
    }
  }

  void attrs(const Op& op) {
    // Places, texts for messages, and numbers of tables that `name` has written out.
    static const std::set<std::string> kSilent = {"text", "slot", "map", "experiment", "types", "kind"};
    for (const ir::Attr& attr : op.attrs) {
      if (kSilent.contains(attr.key) && !(attr.key == "kind" && op.kind == OpKind::MakeValue)) continue;
      out_ += fmt::format(" {}=", attr.key);
      if (const auto* number = std::get_if<int64_t>(&attr.value)) {
        out_ += std::to_string(*number);
      } else if (const auto* text = std::get_if<std::string>(&attr.value)) {
        out_ += attr.key == "fn" || attr.key == "make" ? code_.label_of(*text) : source::quote(*text);
      } else if (const auto* words = std::get_if<ir::Texts>(&attr.value)) {
        for (const std::string& word : *words) out_ += source::quote(word);
      } else {
        for (const NameRule& rule : std::get<ir::NameRules>(attr.value))
          out_ += fmt::format("({} {} {})", word_of(rule.kind), source::quote(rule.pattern),
                              source::quote(rule.replacement));
      }
    }
  }

  void region(const ir::Region& region, size_t depth) {
    for (const Op& op : region.ops) {
      out_.append(2 * depth, ' ');
      std::string results;
      for (const ValueId result : op.results) results += (results.empty() ? "" : ", ") + declare(result);
      if (!results.empty()) out_ += results + " = ";
      out_ += op.info().name;
      if (const std::string called = name(op); !called.empty()) out_ += fmt::format(" @{}", called);
      out_ += " (";
      for (const ValueId operand : op.operands) out_ += (out_.back() == '(' ? "" : ", ") + use(operand);
      out_ += ")";
      attrs(op);
      out_ += "\n";
      for (const ir::Region& inner : op.regions) {
        out_.append(2 * depth, ' ');
        out_ += "{";
        for (const ValueId param : inner.params) out_ += fmt::format(" {}", declare(param));
        out_ += "\n";
        this->region(inner, depth + 1);
        out_.append(2 * depth, ' ');
        out_ += "}\n";
      }
    }
  }

  CanonicalCode& code_;
  const ir::Function& function_;
  std::map<ValueId, size_t> numbers_;
  std::string out_;
};

std::vector<std::pair<std::string, std::string>> CanonicalCode::take() {
  std::vector<std::pair<std::string, std::string>> result;
  for (size_t i = 0; i < order_.size(); ++i) {  // Grows while it runs.
    const std::string name = order_[i];
    result.emplace_back(name, Body(*this, *module_.find(name)).run());
  }
  return result;
}

std::vector<std::string> CanonicalCode::objects() const {
  std::vector<std::string> names(objects_.size());
  for (const auto& [name, number] : objects_) names[number] = name;
  return names;
}

}  // namespace ltr::driver
