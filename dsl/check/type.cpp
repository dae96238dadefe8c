#include "dsl/check/type.h"

#include <algorithm>

#include "dsl/check/host_types.h"

namespace ltr::check {

const char* to_text(Element element) {
  switch (element) {
    case Element::Error: return "error";
#define LTR_ELEMENT(Name, name, ...) \
  case Element::Name: return #name;
#include "runtime/tables/elements.def"
#undef LTR_ELEMENT
    case Element::Any: return "any";
  }
  return "error";
}

const TypeField* Type::find(const std::string& field, size_t place) const {
  if (place < fields.size() && fields[place].name == field) return &fields[place];
  const auto found = std::ranges::find(fields, field, &TypeField::name);
  return found == fields.end() ? nullptr : &*found;
}

bool holds_metrics(const Type& type) {
  return type.kind == Kind::Metric || std::any_of(type.fields.begin(), type.fields.end(),
                                                  [](const TypeField& field) { return holds_metrics(field.type); });
}

bool holds_layers(const Type& type) {
  if (type.kind != Kind::List && type.kind != Kind::Tuple && type.kind != Kind::Record) return false;
  return std::any_of(type.fields.begin(), type.fields.end(), [](const TypeField& field) {
    return field.type.kind == Kind::Block || field.type.kind == Kind::Function || holds_layers(field.type);
  });
}

bool is_made_of(const Type& type, std::initializer_list<Kind> kinds) {
  return std::find(kinds.begin(), kinds.end(), type.kind) != kinds.end() &&
         std::all_of(type.fields.begin(), type.fields.end(),
                     [&](const TypeField& field) { return is_made_of(field.type, kinds); });
}

bool holds_options(const Type& type) {
  return type.kind == Kind::Option || std::any_of(type.fields.begin(), type.fields.end(),
                                                  [](const TypeField& field) { return holds_options(field.type); });
}

bool is_floating(Element element) {
  switch (element) {
#define LTR_ELEMENT(Name, name, is_floating) \
  case Element::Name: return is_floating;
#include "runtime/tables/elements.def"
#undef LTR_ELEMENT
    case Element::Error:
    case Element::Any: return false;
  }
  return false;
}

namespace {

std::string join_fields(const std::vector<TypeField>& fields, const AtomTable& atoms, bool with_names) {
  std::string text;
  for (const TypeField& field : fields) {
    if (!text.empty()) text += ", ";
    if (with_names) text += field.name + ": ";
    text += to_text(field.type, atoms);
  }
  return text;
}

}  // namespace

std::string to_text(const Type& type, const AtomTable& atoms) {
  switch (type.kind) {
    case Kind::Error: return "error";
    case Kind::Void: return "nothing";
    case Kind::None: return "none";
    // Some have a name of their own, such as `int_or_all`.
    case Kind::Int:
    case Kind::Period: return type.name.empty() ? std::string(host_name(type.kind)) : type.name;
    case Kind::Tensor: {
      std::string text = std::string(to_text(type.element)) + "[";
      for (size_t i = 0; i < type.dims.size(); ++i) {
        if (i > 0) text += ", ";
        text += type.dims[i].group != 0 ? "..." : atoms.to_text(type.dims[i].size);
      }
      return text + "]";
    }
    case Kind::Texts: return "str[" + atoms.to_text(type.dims[0].size) + "]";
    case Kind::Record: return "{" + join_fields(type.fields, atoms, true) + "}";
    case Kind::Tuple: return "(" + join_fields(type.fields, atoms, false) + ")";
    case Kind::List:
      if (type.uniform) return "list[" + (type.fields.empty() ? "" : to_text(type.fields[0].type, atoms)) + "]";
      return "[" + join_fields(type.fields, atoms, false) + "]";
    case Kind::Option: return "option[" + join_fields(type.fields, atoms, false) + "]";
    case Kind::OneOf: {
      std::string text;
      for (const std::string& choice : type.choices) text += (text.empty() ? "" : ", ") + choice;
      return "one_of[" + text + "]";
    }
    case Kind::Range: return "range";
    case Kind::Block:
    case Kind::Model:
    case Kind::Data:
    case Kind::Metric:
    case Kind::CallbackValue: return type.name;
    case Kind::Function: {
      if (type.fields.empty()) return type.name;
      const std::vector<TypeField> params(type.fields.begin(), type.fields.end() - 1);
      return "block (" + join_fields(params, atoms, false) + ") -> " + to_text(type.fields.back().type, atoms);
    }
    case Kind::MetricValue: return "the value of a metric";
    case Kind::Stream: return "stream of {" + join_fields(type.fields, atoms, true) + "}";
    case Kind::Device: return "device";
    case Kind::Precision: return "precision";
    case Kind::TrainerValue: return "value of a trainer";
    case Kind::Facts: return "facts of {" + join_fields(type.fields, atoms, true) + "}";
    case Kind::FieldFacts: return "facts of " + join_fields(type.fields, atoms, false);
    case Kind::Gradients: return "gradients";
    case Kind::Batches: return "batches";
    default: return std::string(host_name(type.kind));
  }
}

}  // namespace ltr::check
