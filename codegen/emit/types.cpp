#include "codegen/emit/context.h"

namespace ltr::emit {

using ir::TypeKind;

namespace {

void add_written(const ir::Region& region, std::set<std::string>& names) {
  for (const ir::Op& op : region.ops) {
    if (op.kind == ir::OpKind::WriteBuffer) names.insert(op.name.substr(op.name.rfind('.') + 1));
    for (const ir::Region& inner : op.regions) add_written(inner, names);
  }
}

}  // namespace

Context::Context(const ir::Module& from) : module(from), tables(*from.tables) {
  for (const ir::Function& function : from.functions) add_written(function.body, written_buffers);
}

cpp::Type Context::type(const ir::Type& type) {
  switch (type.kind) {
    case TypeKind::Void: return cpp::plain("void");
    case TypeKind::None: return cpp::plain("std::nullptr_t");
    case TypeKind::Function: {
      if (type.fields.empty()) return cpp::plain("std::nullptr_t");
      std::vector<cpp::Type> args = {this->type(type.fields.back().type)};
      for (size_t i = 0; i + 1 < type.fields.size(); ++i) args.push_back(this->type(type.fields[i].type));
      return cpp::generic("ltr::Callable", std::move(args));
    }
    case TypeKind::Int: return cpp::plain("int64_t");
    case TypeKind::Float: return cpp::plain("double");
    case TypeKind::Bool: return cpp::plain("bool");
    case TypeKind::Str: return cpp::plain("ltr::Str");
    case TypeKind::Value: return cpp::plain("ltr::Value");
    case TypeKind::Tensor: return cpp::plain("ltr::Tensor");
    case TypeKind::Weights: return cpp::plain("ltr::Weights");
    case TypeKind::Gradients: return cpp::plain("ltr::Tensors");
    case TypeKind::Handle: return cpp::pointer(cpp::plain("const ltr::" + type.name));
    case TypeKind::Optimizer: return cpp::pointer(cpp::plain("ltr::Optimizer"));
    case TypeKind::Stream: return cpp::plain("ltr::Stream");
    case TypeKind::Scope: return cpp::plain("ltr::Scope");
    case TypeKind::Block:
    case TypeKind::Model:
    case TypeKind::Data:
    case TypeKind::Metric:
    case TypeKind::Callback:
    case TypeKind::MetricValue: return cpp::pointer(cpp::plain(struct_name(type.name)));
    case TypeKind::List: return cpp::generic("std::vector", {this->type(type.fields[0].type)});
    // An undefined tensor and a none Value are themselves nothing.
    case TypeKind::Option: {
      const ir::Type& inner = type.fields[0].type;
      if (inner.is_tensor() || inner.is(TypeKind::Value) || inner.is(TypeKind::Option)) return this->type(inner);
      return cpp::generic("ltr::Option", {this->type(inner)});
    }
    case TypeKind::Tuple: {
      std::vector<cpp::Type> args;
      for (const ir::Field& field : type.fields) args.push_back(this->type(field.type));
      return cpp::generic("std::tuple", std::move(args));
    }
    case TypeKind::Record: {
      cpp::Struct record;
      std::string key, name = "Record";
      for (const ir::Field& field : type.fields) {
        const cpp::Type field_type = this->type(field.type);
        key += field.name + ":" + cpp::print(field_type) + ";";
        name += "_" + field.name;
        record.fields.push_back({field_type, identifier(field.name)});
      }
      const auto known = records_.find(key);
      if (known != records_.end()) return cpp::plain("program::" + known->second);
      // Types of other elements, or objects of the program, may have this name.
      const std::string wanted = name;
      const auto is_taken = [&](const std::string& candidate) {
        for (const auto& [other, taken] : records_) {
          if (taken == candidate) return true;
        }
        return tables.find_object(candidate) != nullptr || module.find(candidate) != nullptr;
      };
      for (int i = 2; is_taken(name); ++i) name = wanted + "_" + std::to_string(i);
      record.name = name;
      records_[key] = name;
      file.structs.push_back(std::move(record));
      return cpp::plain("program::" + name);
    }
    case TypeKind::Error: break;
  }
  throw ir::InternalError("a type that C++ has no form for", {});
}

cpp::Type Context::param_type(const ir::Type& type) {
  switch (type.kind) {
    case TypeKind::Int:
    case TypeKind::Float:
    case TypeKind::Bool:
    case TypeKind::None:
    case TypeKind::Function:
    case TypeKind::Handle:
    case TypeKind::Optimizer:
    case TypeKind::Scope:
    case TypeKind::Block:
    case TypeKind::Model:
    case TypeKind::Data:
    case TypeKind::Metric:
    case TypeKind::Callback:
    case TypeKind::MetricValue: return this->type(type);
    default: return cpp::const_reference(this->type(type));
  }
}

cpp::Expr Context::none_of(const ir::Type& type) {
  if (type.is(TypeKind::None)) return cpp::braces({});
  if (type.is(TypeKind::Function)) return cpp::name("nullptr");
  return cpp::braces(this->type(type), {});
}

void Context::give_parts(const ir::Type& type) {
  for (const ir::Field& field : type.fields) give_parts(field.type);
  if (!type.is(TypeKind::Record)) return;
  const cpp::Type record = this->type(type);
  const std::string shown = cpp::print(record), name = shown.substr(shown.rfind(':') + 1);
  std::vector<cpp::Type> types;
  std::vector<cpp::Expr> parts;
  for (const ir::Field& field : type.fields) {
    types.push_back(this->type(field.type));
    parts.push_back(cpp::dot(cpp::name("whole"), identifier(field.name)));
  }
  const auto one = std::find_if(file.structs.begin(), file.structs.end(),
                                [&](const cpp::Struct& other) { return other.name == name; });
  LTR_INVARIANT(one != file.structs.end(), "a record without its struct: " + name, ir::Loc{});
  if (!one->methods.empty()) return;
  cpp::Function apart;
  apart.result = cpp::generic("std::tuple", std::move(types));
  apart.name = "ltr_parts";
  apart.params = {{cpp::const_reference(record), "whole"}};
  apart.is_static = true;
  one->methods.push_back(apart);
  apart.owner = name;
  apart.body.push_back(cpp::give_back(cpp::braces(apart.result, std::move(parts))));
  file.functions.push_back(std::move(apart));
}

cpp::Expr Context::read_value(cpp::Expr value, const ir::Type& type) {
  const cpp::Type wanted = this->type(type);
  give_parts(type);
  return cpp::print(wanted) == "ltr::Value" ? value
                                            : cpp::call(cpp::templated("ltr::value_as", wanted), {std::move(value)});
}

cpp::Expr Context::dtype(ir::Element element) {
  const auto name = [&]() -> const char* {
    switch (element) {
      case ir::Element::Float: return "Float";
      case ir::Element::F16: return "F16";
      case ir::Element::BF16: return "BF16";
      case ir::Element::F32: return "F32";
      case ir::Element::F64: return "F64";
      case ir::Element::I8: return "I8";
      case ir::Element::I16: return "I16";
      case ir::Element::I32: return "I32";
      case ir::Element::I64: return "I64";
      case ir::Element::U8:
      case ir::Element::Str: return "U8";  // A text is a row of bytes.
      case ir::Element::Bool: return "Bool";
    }
    return "Float";
  };
  return cpp::name(std::string("ltr::DType::") + name());
}

bool Context::is_users(const ir::Loc& loc) const {
  return loc.line != 0 && loc.file < module.files.size() &&
         !(loc.file < tables.is_library_file.size() && tables.is_library_file[loc.file]);
}

cpp::Expr Context::location(const ir::Loc& loc) {
  if (loc.line == 0 || loc.file >= module.files.size()) return cpp::braces(cpp::plain("ltr::Location"), {});
  size_t at = 0;
  while (at < places.size() && !(places[at] == loc)) ++at;
  if (at == places.size()) places.push_back(loc);
  return cpp::index(cpp::name("program::ltr_at"), cpp::integer(int64_t(at)));
}

cpp::Origin Context::origin(const ir::Loc& loc) const {
  if (!is_users(loc)) return {};
  return {module.files[loc.file], loc.line};
}

bool takes_context(ir::Role role) { return role == ir::Role::Step || role == ir::Role::Hook || role == ir::Role::Test; }

}  // namespace ltr::emit
