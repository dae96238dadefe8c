// `from "weights.safetensors" { … }`: the names, shapes and types of a member's weights against
// those of the file, as far as both are known.

#include <algorithm>

#include "dsl/check/declarations/block_tree.h"
#include "dsl/check/declarations/declarations.h"
#include "dsl/check/expressions/expressions.h"
#include "dsl/check/types/types.h"
#include "dsl/diagnostics/suggest.h"

namespace ltr::check {

namespace {

using diagnostics::Diagnostic;

bool is_block_or_list(const Type& type) {
  if (type.kind == Kind::Block) return true;
  return type.kind == Kind::List && std::any_of(type.fields.begin(), type.fields.end(),
                                                [](const TypeField& field) { return is_block_or_list(field.type); });
}

WeightRule::Kind kind_of(ast::LoadRule::Kind kind) {
  switch (kind) {
    case ast::LoadRule::Kind::Rename: return WeightRule::Kind::Rename;
    case ast::LoadRule::Kind::Skip: return WeightRule::Kind::Skip;
    case ast::LoadRule::Kind::Freeze:
    case ast::LoadRule::Kind::Error: break;
  }
  return WeightRule::Kind::Freeze;
}

/// The element type that a stored one is.
std::optional<Element> element_of_dtype(const std::string& dtype) {
  static const std::map<std::string, Element> kElements = {
      {"F64", Element::F64}, {"F32", Element::F32},  {"F16", Element::F16}, {"BF16", Element::BF16},
      {"I64", Element::I64}, {"I32", Element::I32},  {"I16", Element::I16}, {"I8", Element::I8},
      {"U8", Element::U8},   {"BOOL", Element::Bool}};
  const auto found = kElements.find(dtype);
  return found == kElements.end() ? std::nullopt : std::optional(found->second);
}

std::string joined(const std::vector<std::string>& names) {
  constexpr size_t kShown = 8;
  std::string text;
  for (size_t i = 0; i < names.size() && i < kShown; ++i) text += (i == 0 ? "`" : ", `") + names[i] + "`";
  if (names.size() > kShown) text += " and " + std::to_string(names.size() - kShown) + " more";
  return text;
}

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

/// What can be read, where no command makes it of what is there.
const std::string kPlainFile = "save names and tensors alone: `torch.save(model.state_dict(), \"weights.pt\")`";

/// Compares one member with its file.
class Comparison {
 public:
  Comparison(const Member& member, const WeightSource& source, const WeightsFile& file, Context& cx)
      : member_(member), source_(source), file_(file), cx_(cx) {}

  /// Names and types, which hang on no size.
  void names(const BlockTree& tree) {
    const LoadPlan plan = plan_for(tree);
    if (!plan.rename_from.empty()) {
      cx_.report(missing(plan.missing)
                     .help("the names fit with `{ rename \"{}\" => \"{}\" }`", plan.rename_from, plan.rename_to));
      return;
    }
    for (const size_t rule : plan.idle_rules) {
      if (tree.is_complete || source_.rules[rule].kind == WeightRule::Kind::Rename) idle(rule, tree);
    }
    // A rule that matches nothing is why names are left over.
    if (!plan.idle_rules.empty()) return;
    if (!plan.missing.empty()) {
      cx_.report(missing(plan.missing)
                     .help("leave it out with `skip \"{}\"`, or name what it is called "
                           "there with `rename`",
                           plan.missing.front()));
    }
    if (tree.is_complete && !plan.unexpected.empty()) unexpected(plan.unexpected);
    dtypes(tree, plan);
  }

  /// Sizes. Those that hang on hparams become obligations of `scope`, where there is one.
  void shapes(const BlockTree& tree, Scope* scope, std::set<std::string>& reported) {
    std::optional<Diagnostic> differing;
    for (const auto& [name, stored] : plan_for(tree).loads) {
      const Type& type = tensor_of(tree, name).type;
      const std::vector<int64_t>& shape = stored_of(stored).shape;
      bool fits = type.dims.size() == shape.size();
      for (size_t i = 0; fits && i < shape.size(); ++i) {
        const auto size = type.dims[i].size.constant();
        fits = !size || *size == shape[i];
      }
      if (!fits && reported.insert(name).second) {
        add(differing, diag::weights_shape(source_.span, name, shape_text(shape), cx_.text(type)));
      }
      for (size_t i = 0; fits && scope != nullptr && i < shape.size(); ++i)
        oblige(type.dims[i].size, shape[i], name, *scope);
    }
    if (differing) cx_.report(std::move(*differing));
  }

  LoadPlan plan_for(const BlockTree& tree) const {
    std::vector<WantedTensor> wanted;
    for (const TreeTensor& tensor : tree.tensors) wanted.push_back({tensor.name, tensor.shared_with});
    std::vector<std::string> stored;
    for (const StoredTensor& tensor : file_.tensors) stored.push_back(tensor.name);
    return cx_.files->plan(wanted, stored, source_.rules);
  }

 private:
  /// One mistake mostly shows in several tensors: what is found behind the first is a note to it.
  static void add(std::optional<Diagnostic>& all, Diagnostic one) {
    constexpr size_t kMostNotes = 8;
    if (!all) {
      all = std::move(one);
    } else if (all->notes.size() < kMostNotes) {
      all->note("{}", one.message);
    }
  }

  Diagnostic missing(const std::vector<std::string>& names) {
    Diagnostic diagnostic = diag::weights_missing(source_.span, file_name(), names.front());
    diagnostic.label(member_.span, "`{}` needs it", member_.name);
    std::vector<std::string> stored;
    for (const StoredTensor& tensor : file_.tensors) stored.push_back(tensor.name);
    if (const auto near = diagnostics::suggest(names.front(), stored)) diagnostic.note("it has `{}`", *near);
    if (names.size() > 1) diagnostic.note("nor {}", joined({names.begin() + 1, names.end()}));
    return diagnostic;
  }

  void unexpected(const std::vector<std::string>& names) {
    Diagnostic diagnostic = diag::weights_unexpected(source_.span, file_name(), names.front(), member_.name);
    if (names.size() > 1) diagnostic.note("and {}", joined({names.begin() + 1, names.end()}));
    cx_.report(std::move(diagnostic).help("leave it out with `skip \"{}\"`", names.front()));
  }

  void idle(size_t index, const BlockTree& tree) {
    const WeightRule& rule = source_.rules[index];
    const bool is_block_side = rule.kind == WeightRule::Kind::Freeze;
    std::vector<std::string> names;
    for (const TreeTensor& tensor : tree.tensors) names.push_back(tensor.name);
    if (!is_block_side) {
      names.clear();
      for (const StoredTensor& tensor : file_.tensors) names.push_back(tensor.name);
    }
    cx_.report(diag::weights_pattern(rule.span, word_of(rule.kind), rule.pattern)
                   .note("{} has {}", is_block_side ? "`" + member_.name + "`" : file_name(), joined(names)));
  }

  void dtypes(const BlockTree& tree, const LoadPlan& plan) {
    std::optional<Diagnostic> differing;
    for (const auto& [name, there] : plan.loads) {
      const Element wanted = tensor_of(tree, name).type.element;
      const std::string& dtype = stored_of(there).dtype;
      const auto element = element_of_dtype(dtype);
      // Floats become floats of another width; nothing else changes its type.
      const bool fits = element && (*element == wanted || (is_floating(*element) && is_floating(wanted)));
      if (fits) continue;
      const std::string shown = element ? std::string(to_text(*element)) : dtype;
      add(differing, diag::weights_dtype(source_.span, name, shown, std::string(to_text(wanted))));
    }
    if (differing) cx_.report(std::move(*differing));
  }

  void oblige(const Polynomial& size, int64_t stored, const std::string& name, Scope& scope) {
    if (size.constant() || cx_.program.atoms.mentions_unknown(size)) return;
    Requirement requirement;
    requirement.left = size;
    requirement.right = Polynomial(stored);
    requirement.text = cx_.text(size) + " == " + std::to_string(stored) + ", as `" + name + "` of " + file_name();
    requirement.origin = source_.span;
    require(std::move(requirement), source_.span, scope);
  }

  std::string file_name() const {
    const auto* text = source_.path.get<node::StrConst>();
    return text != nullptr ? text->text : "the file";
  }

  const TreeTensor& tensor_of(const BlockTree& tree, const std::string& name) const {
    return *std::find_if(tree.tensors.begin(), tree.tensors.end(),
                         [&](const TreeTensor& tensor) { return tensor.name == name; });
  }
  const StoredTensor& stored_of(const std::string& name) const {
    return *std::find_if(file_.tensors.begin(), file_.tensors.end(),
                         [&](const StoredTensor& tensor) { return tensor.name == name; });
  }

  const Member& member_;
  const WeightSource& source_;
  const WeightsFile& file_;
  Context& cx_;
};

/// Reports why a file cannot be used; true if it can.
bool is_usable(const WeightsFile& file, const WeightSource& source, const std::string& path, Context& cx) {
  switch (file.problem) {
    case WeightsFile::Problem::None: return true;
    case WeightsFile::Problem::NotThere: return false;
    case WeightsFile::Problem::Damaged:
      cx.report(diag::weights_damaged(source.span, path, file.offset, file.reason));
      return false;
    case WeightsFile::Problem::Unsupported:
      cx.report(diag::weights_unsupported(source.span, path, file.reason)
                    .help("{}", file.cure.empty() ? kPlainFile : "convert it: " + file.cure));
      return false;
    case WeightsFile::Problem::NeedsCode:
      cx.report(diag::weights_need_code(source.span, path, joined(file.callables))
                    .note("a file of weights is read without running anything")
                    .help("where you trust it, convert it: {}", file.cure));
      return false;
  }
  return false;
}

void compare(const Member& member, const Object& owner, Context& cx) {
  const WeightSource& source = *member.source;
  const auto path = evaluate(source.path, cx.program);
  if (!path || source.path.is<node::Hparam>()) return;
  const WeightsFile file = cx.files->weights(path->text, owner.module);
  if (!is_usable(file, source, path->text, cx)) return;
  Comparison comparison(member, source, file, cx);
  const BlockTree tree = tree_of(member, owner, {}, cx);
  comparison.names(tree);
  std::set<std::string> reported;
  comparison.shapes(tree, nullptr, reported);
  for (const Experiment& experiment : cx.program.experiments) {
    if (&cx.program.models[experiment.model] != &owner) continue;
    std::vector<std::pair<AtomId, Polynomial>> dims;
    for (size_t i = 0; i < owner.params.size() && i < experiment.model_arguments.size(); ++i) {
      const Type& param = owner.params[i].type;
      const Type& given = cx.at(experiment.model_arguments[i]).type;
      const auto atom = param.value ? param.value->single_atom() : std::nullopt;
      if (atom && given.value) dims.emplace_back(*atom, *given.value);
    }
    std::vector<Local> locals;
    Scope scope{.cx = cx, .module = 0, .place = Place::Experiment, .locals = locals};
    const BlockTree built = tree_of(member, owner, dims, cx);
    if (!tree.is_complete && built.is_complete) comparison.names(built);
    comparison.shapes(built, &scope, reported);
  }
}

}  // namespace

std::optional<WeightSource> check_source(const ast::Member& member, const ExprView& value, Scope& scope) {
  WeightSource source;
  source.span = member.source->span;
  source.path = check_as(*member.source, Type::of(Kind::Str), scope, "the file");
  if (source.path.type.is_error() || value.type.is_error()) return std::nullopt;
  if (!is_block_or_list(value.type)) {
    scope.cx.report(
        diag::wrong_type(source.span, "weights are loaded into a block, not into " + scope.cx.text(value.type)));
    return std::nullopt;
  }
  for (const ast::LoadRule& rule : member.rules) {
    const auto stars = [](const std::string& text) { return std::count(text.begin(), text.end(), '*'); };
    const bool is_rename = rule.kind == ast::LoadRule::Kind::Rename;
    if (rule.kind == ast::LoadRule::Kind::Error) continue;
    if (is_rename && (stars(rule.pattern) > 1 || stars(rule.pattern) != stars(rule.replacement))) {
      scope.cx.report(diag::wrong_argument(rule.span, "both sides of a `rename` have one `*`, or none"));
      continue;
    }
    source.rules.push_back({kind_of(rule.kind), rule.pattern, rule.replacement, rule.span});
  }
  return source;
}

void check_weights(Context& cx) {
  if (cx.files == nullptr) return;
  const auto each = [&](const std::vector<Object>& objects) {
    for (const Object& object : objects) {
      for (const Member& member : object.members) {
        if (member.source) compare(member, object, cx);
      }
    }
  };
  each(cx.program.models);
  each(cx.program.blocks);
}

}  // namespace ltr::check
