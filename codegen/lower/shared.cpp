#include "codegen/lower/shared.h"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace ltr::lower {

using check::Kind;
using ir::TypeKind;

ObjectRef::ObjectRef(TypeKind as, std::string called, const check::Object& declared, const check::DataObject* of)
    : kind(as), name(std::move(called)), object(&declared), data(of) {
  for (const check::Member& member : declared.members) members.emplace(member.name, &member);
}

const check::Member* ObjectRef::find_member(const std::string& member) const {
  const auto found = members.find(member);
  return found != members.end() ? found->second : nullptr;
}

bool ObjectRef::has_param(const std::string& param) const {
  return std::any_of(object->params.begin(), object->params.end(),
                     [&](const check::Local& candidate) { return candidate.name == param; });
}

ir::Loc Shared::loc(check::Span span) const {
  if (!sources.contains(span.source)) return {};
  if (is_analysis) return {span.source.index - 1, 0, 0, span};
  const source::Position begin = sources.position(span).begin;
  return {span.source.index - 1, int32_t(begin.line), int32_t(begin.column), span};
}

bool same_storage(const ir::Type& left, const ir::Type& right) {
  if (left.kind != right.kind) return false;
  if (left.is_tensor()) return true;
  if (left.is_object()) return left.name == right.name;
  if (left.fields.size() != right.fields.size()) return left.is(TypeKind::Stream);
  if (left.is(TypeKind::Stream)) return true;
  for (size_t i = 0; i < left.fields.size(); ++i) {
    if (left.fields[i].name != right.fields[i].name) return false;
    if (!same_storage(left.fields[i].type, right.fields[i].type)) return false;
  }
  return true;
}

namespace {

ir::Element element_of(check::Element element) {
  switch (element) {
#define LTR_ELEMENT(Name, ...) \
  case check::Element::Name: return ir::Element::Name;
#include "runtime/tables/elements.def"
#undef LTR_ELEMENT
    case check::Element::Any:  // Of declarations of the library, which have no code.
    case check::Element::Error: break;
  }
  return ir::Element::Float;
}

TypeKind plain_kind(Kind kind) {
  switch (kind) {
    case Kind::Void: return TypeKind::Void;
    case Kind::None: return TypeKind::None;
    case Kind::Int: return TypeKind::Int;
    case Kind::Float: return TypeKind::Float;
    case Kind::Bool: return TypeKind::Bool;
    case Kind::Str:
    case Kind::Path:
    case Kind::OneOf: return TypeKind::Str;
    case Kind::Duration:
    case Kind::Period:
    case Kind::Bytes:
    case Kind::Secret:
    case Kind::Series:
    case Kind::Schedule:
    case Kind::Logger:
    case Kind::CallbackValue:
    case Kind::Device:
    case Kind::Precision:
    case Kind::Initializer:
    case Kind::TrainerValue:
    case Kind::Draw: return TypeKind::Value;
    case Kind::Tensor:
    case Kind::Texts: return TypeKind::Tensor;
    case Kind::Record: return TypeKind::Record;
    case Kind::Tuple:
    case Kind::Range: return TypeKind::Tuple;
    case Kind::List: return TypeKind::List;
    case Kind::Option: return TypeKind::Option;
    case Kind::Weights: return TypeKind::Weights;
    case Kind::Gradients: return TypeKind::Gradients;
    case Kind::Block: return TypeKind::Block;
    case Kind::Model: return TypeKind::Model;
    case Kind::Data: return TypeKind::Data;
    case Kind::Metric: return TypeKind::Metric;
    case Kind::MetricValue: return TypeKind::MetricValue;
    case Kind::Optimizer: return TypeKind::Optimizer;
    case Kind::Stream:
    case Kind::Batches: return TypeKind::Stream;
    case Kind::Facts:
    case Kind::FieldFacts:
    case Kind::Vocabulary:
    case Kind::Tokenizer: return TypeKind::Handle;
    case Kind::Function: return TypeKind::Function;
    case Kind::Error: return TypeKind::Error;
  }
  return TypeKind::Error;
}

}  // namespace

ir::Type Shared::type(const check::Type& type) const {
  ir::Type out = ir::Type::of(plain_kind(type.kind));
  switch (out.kind) {
    case TypeKind::Handle:
      out.name = type.kind == Kind::Facts ? "Facts" : type.kind == Kind::FieldFacts ? "FieldFacts" : "Vocabulary";
      return out;
    case TypeKind::Tensor:
      // Texts are a tensor of bytes, a row for each.
      out.element = type.kind == Kind::Texts ? ir::Element::Str : element_of(type.element);
      out.dims.reserve(type.dims.size());
      for (const check::Dim& dim : type.dims) {
        out.dims.push_back(dim.group != 0 ? module.dims.leading() : this->dim(dim.size));
      }
      return out;
    case TypeKind::Block:
    case TypeKind::Model:
    case TypeKind::Data:
    case TypeKind::Metric: out.name = object(type).name; return out;
    case TypeKind::Tuple:
      if (type.kind == Kind::Range) return out.fields.assign(2, {"", ir::Type::of(TypeKind::Int)}), out;
      break;
    default: break;
  }
  out.fields.reserve(type.fields.size());
  for (const check::TypeField& field : type.fields) out.fields.push_back({field.name, this->type(field.type)});
  // Field order does not matter in the language, so equal records get one order.
  if (out.is(TypeKind::Record)) {
    std::stable_sort(out.fields.begin(), out.fields.end(),
                     [](const ir::Field& a, const ir::Field& b) { return a.name < b.name; });
  }
  if (!out.is(TypeKind::List)) return out;
  if (out.fields.empty()) return ir::Type::list(ir::Type::of(TypeKind::None));
  const ir::Type first = out.fields[0].type;
  for (const ir::Field& field : out.fields) {
    if (same_storage(first, field.type)) continue;
    out.kind = TypeKind::Tuple;
    return out;
  }
  return ir::Type::list(first);
}

const ObjectRef& Shared::object(const check::Type& type) const {
  const auto found = objects.find({type.kind, type.decl});
  LTR_INVARIANT(found != objects.end(), "a type names an object that the program lacks: " + type.name, ir::Loc{});
  return found->second;
}

const ObjectRef& Shared::object_named(const std::string& name) const {
  for (const auto& [key, object] : objects) {
    if (object.name == name) return object;
  }
  for (const ObjectRef& callback : callbacks) {
    if (callback.name == name) return callback;
  }
  throw ir::InternalError("no object named " + name, {});
}

std::string Shared::argument_type(const std::string& call, const std::string& argument) const {
  for (const check::CallSignature& signature : program.calls) {
    if (signature.name != call) continue;
    for (const auto& [name, type] : signature.params) {
      if (name == argument) return type;
    }
  }
  for (const ObjectRef& callback : callbacks) {
    if (callback.object->name != call) continue;
    for (const check::Local& param : callback.object->params) {
      if (param.name != argument) continue;
      // What cannot be written on a command line stays as the program has it.
      const std::string text = setting_text(param.type);
      return text.empty() ? "fixed" : text;
    }
  }
  return "";
}

void Shared::name_everything() {
  std::set<std::string> taken;
  std::unordered_map<std::string, int> numbers;  ///< of each name that was wanted again: the last that was tried
  const auto unique = [&](const std::string& wanted) {
    if (taken.insert(wanted).second) return wanted;
    int& number = numbers.emplace(wanted, 1).first->second;
    std::string name;
    do name = wanted + "_" + std::to_string(++number);
    while (!taken.insert(name).second);
    return name;
  };
  const auto add = [&](Kind kind, TypeKind ir_kind, const std::vector<check::Object>& list) {
    for (size_t i = 0; i < list.size(); ++i) {
      objects[{kind, check::DeclIndex(i)}] = {ir_kind, unique(list[i].name), list[i]};
    }
  };
  // Models first: what the user reads most keeps its name.
  add(Kind::Model, TypeKind::Model, program.models);
  add(Kind::Block, TypeKind::Block, program.blocks);
  add(Kind::Metric, TypeKind::Metric, program.metrics);
  for (size_t i = 0; i < program.datas.size(); ++i) {
    const check::DataObject& data = program.datas[i];
    objects[{Kind::Data, check::DeclIndex(i)}] = {TypeKind::Data, unique(data.object.name), data.object, &data};
  }
  for (const check::Object& callback : program.callbacks) {
    callbacks.push_back({TypeKind::Callback, unique(callback.name), callback});
  }
  fn_names.resize(program.fns.size());
  fn_owners.resize(program.fns.size(), nullptr);
  const auto own = [&](const ObjectRef& ref) {
    for (const uint32_t fn : ref.object->fns) fn_owners[fn] = &ref;
  };
  for (const auto& [key, ref] : objects) own(ref);
  for (const ObjectRef& ref : callbacks) own(ref);
  for (size_t i = 1; i < program.fns.size(); ++i) {
    const check::Fn& fn = program.fns[i];
    const std::string plain = fn.role == check::FnRole::Test ? "test" : fn.name;
    fn_names[i] = unique(fn_owners[i] != nullptr ? fn_owners[i]->name + "." + plain : plain);
  }
}

namespace {

/// Whether a value of this type can be written on the command line.
bool is_setting(const check::Type& type) {
  return check::is_made_of(
      type, {Kind::Int, Kind::Float, Kind::Bool, Kind::Str, Kind::Path, Kind::Duration, Kind::Period, Kind::Bytes,
             Kind::Series, Kind::Secret, Kind::Schedule, Kind::OneOf, Kind::Option, Kind::List, Kind::Tuple});
}

/// A list whose elements are said one by one is one of the first's type.
check::Type as_setting(check::Type type) {
  for (check::TypeField& field : type.fields) field.type = as_setting(std::move(field.type));
  if (type.kind == Kind::List && type.fields.size() > 1) type.fields.resize(1);
  type.uniform = type.kind == Kind::List;
  return type;
}

}  // namespace

std::string setting_text(const check::Type& type) {
  return is_setting(type) ? check::to_text(as_setting(type), check::AtomTable()) : "";
}

}  // namespace ltr::lower
