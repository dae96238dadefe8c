#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "dsl/ast/section.h"
#include "dsl/check/declarations/devices.h"
#include "dsl/check/declarations/hook.h"
#include "dsl/check/declarations/optimizer_rule.h"
#include "dsl/check/experiment/settings.h"
#include "dsl/check/scope/members.h"
#include "dsl/check/scope/places.h"
#include "dsl/check/statements/reductions.h"
#include "dsl/check/types/types.h"
#include "dsl/parse/parse.h"
#include "ltrc/language_server/cursor.h"
#include "ltrc/language_server/declaring_words.h"
#include "ltrc/language_server/features.h"
#include "ltrc/language_server/importable.h"
#include "runtime/tables/roles.h"
#include "runtime/tables/sweep_words.h"

namespace ltr::language_server {

namespace {

/// CompletionItemKind of the protocol.
enum class ItemKind {
  Method = 2,
  Function = 3,
  Field = 5,
  Variable = 6,
  Class = 7,
  Module = 9,
  Property = 10,
  Value = 12,
  EnumMember = 20,
  Keyword = 14,
  Constant = 21,
  Event = 23,
};

ItemKind kind_of(EntityKind kind) {
  switch (kind) {
    case EntityKind::Module: return ItemKind::Module;
    case EntityKind::Const:
    case EntityKind::Hparam: return ItemKind::Constant;
    case EntityKind::Function: return ItemKind::Function;
    case EntityKind::Type:
    case EntityKind::Metric:
    case EntityKind::Data:
    case EntityKind::Block:
    case EntityKind::Model:
    case EntityKind::Callback: return ItemKind::Class;
    case EntityKind::Method:
    case EntityKind::Step: return ItemKind::Method;
    case EntityKind::Topology:
    case EntityKind::Experiment: return ItemKind::Value;
    case EntityKind::Param:
    case EntityKind::Binder:
    case EntityKind::Local: return ItemKind::Variable;
    case EntityKind::Member:
    case EntityKind::State:
    case EntityKind::Stream:
    case EntityKind::Field:
    case EntityKind::Series: return ItemKind::Field;
  }
  return ItemKind::Variable;
}

struct Completer {
  const Snapshot& snapshot;
  const Snapshot& library;  ///< where all of it was read; of the program's snapshot only what it mentions
  std::string_view text;
  uint32_t offset;
  Cursor cursor;
  Json items = Json::array();
  std::set<std::string> seen;

  const Index& index() const { return *snapshot.index; }
  const resolve::ModuleGraph& graph() const { return *snapshot.compilation.graph; }

  /// What comes first in `rank` is shown first.
  void add(const std::string& label, ItemKind kind, int rank, const std::string& detail = "",
           const std::string& doc = "", const std::string& insert = "") {
    if (label.empty() || !seen.insert(label).second) return;
    Json item = {{"label", label}, {"kind", int(kind)}, {"sortText", fmt::format("{}{}", rank, label)}};
    if (!detail.empty()) item["detail"] = detail;
    if (!doc.empty()) item["documentation"] = {{"kind", "markdown"}, {"value", doc}};
    if (!insert.empty()) item["insertText"] = insert;
    items.push_back(std::move(item));
  }
  void add(const Entity& entity, int rank) { add(entity, snapshot, rank); }
  void add(const Entity& entity, const Snapshot& from, int rank) {
    if (entity.name.starts_with("_") && from.compilation.graph->modules[entity.module].is_library) return;
    add(entity.name, kind_of(entity.kind), rank, signature_line(entity, from), entity.doc);
  }
  bool is_library(const Entity& entity) const { return graph().modules[entity.module].is_library; }
  /// Cheap: the whole signature is what hover is for.
  static std::string signature_line(const Entity& entity, const Snapshot& from) {
    std::string line(from.sources().text(entity.whole).substr(0, 100));
    line = line.substr(0, std::min(line.find('\n'), line.find('{')));
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.pop_back();
    return line;
  }
  using Symbols = std::map<std::string, resolve::Symbol>;
  void add_symbols(const Symbols& symbols, int rank) {
    for (const auto& [name, symbol] : symbols) add_symbol(symbol, snapshot, rank);
  }
  /// Of what all may use of the library.
  void add_shared(Symbols resolve::ModuleGraph::* list, int rank) {
    for (const auto& [name, symbol] : (*library.compilation.graph).*list) add_symbol(symbol, library, rank);
  }
  void add_symbol(const resolve::Symbol& symbol, const Snapshot& from, int rank) {
    if (const auto id = from.index->find(symbol.span)) add(from.index->entity(*id), from, rank);
  }
  void add_words(const std::vector<const char*>& words, ItemKind kind, int rank) {
    for (const char* word : words) add(word, kind, rank);
  }
  /// The words that begin what stands in `place`, "a model".
  void add_declaring(const std::string& place, int rank) {
    for (const std::string_view word : parse::words_at_home(place)) add(std::string(word), ItemKind::Keyword, rank);
  }

  // ---- behind a dot

  /// The series of an entry; of several the first.
  static std::string shown(const check::LogEntry& entry) { return entry.name + (entry.each.empty() ? "" : "[0]"); }
  void add_series(const std::string& role, size_t given) {
    if (!snapshot.compilation.program) return;
    for (const check::LogEntry& entry : snapshot.compilation.program->logs) {
      if (entry.role == role && given == 1) add(shown(entry), ItemKind::Field, 0, role + "." + shown(entry));
    }
  }
  bool add_after_role() {
    if (cursor.dotted.empty() || !is_logging_role(cursor.dotted[0])) return false;
    add_series(cursor.dotted[0], cursor.dotted.size());
    return !seen.empty();
  }
  bool add_import() {
    const bool in_names = !cursor.braces.empty() && cursor.braces.back() == "import";
    if (cursor.entry_first != "import" && !in_names) return false;
    for (const LibraryName& name : importable(text.substr(0, offset)))
      add(name.name, name.is_folder ? ItemKind::Module : ItemKind::Class, 0, name.file);
    return true;
  }

  void add_fields(const check::Type& type) {
    using check::Kind;
    const check::AtomTable& atoms = snapshot.compilation.program->atoms;
    for (const check::TypeField& field : type.fields) {
      if (type.kind == Kind::Record) add(field.name, ItemKind::Field, 0, check::to_text(field.type, atoms));
    }
    for (const EntityId id : index().members_of(type)) {
      const Entity& entity = index().entity(id);
      if (entity.kind != EntityKind::Step) add(entity, 0);
    }
    if (type.kind == Kind::Block || type.kind == Kind::Model || type.kind == Kind::Optimizer)
      add("weights", ItemKind::Property, 1, "the trained tensors");
    if (type.is_tensor()) add_tensor_fields();
    if (type.kind == Kind::Stream) add_shared(&resolve::ModuleGraph::stages, 1);
  }
  void add_tensor_fields() {
    add("shape", ItemKind::Property, 0, "list[int]");
    add_words({"item", "to"}, ItemKind::Method, 1);
    for (const auto& [name, symbol] : library.compilation.graph->prelude) {
      const bool takes_tensor =
          symbol.fn != nullptr && !symbol.fn->params.empty() && is_tensor_type(symbol.fn->params[0].type);
      if (takes_tensor) add_symbol(symbol, library, 2);
    }
  }
  /// By the type as it was written.
  void add_fields(const ast::TypeExpr& type) {
    const auto* record = type.get<ast::RecordType>();
    for (const ast::FieldType& field : record != nullptr ? record->fields : std::vector<ast::FieldType>{})
      add(field.name.text, ItemKind::Field, 0, std::string(snapshot.sources().text(field.type->span)));
    if (is_tensor_type(type)) add_tensor_fields();
  }
  static bool is_tensor_type(const ast::TypeExpr& type) {
    const auto* named = type.get<ast::NamedType>();
    return named != nullptr && named->has_dims && check::element_of(named->name.text);
  }

  void after_dot() {
    if (add_import() || add_after_role()) return;
    if (cursor.dotted.size() == 1) {
      if (cursor.dotted[0] == "run") {
        for (const check::RunField& field : check::kRunFields) add(std::string(field.name), ItemKind::Property, 0);
        return;
      }
      const auto& aliases = graph().modules[0].aliases;
      if (const auto alias = aliases.find(cursor.dotted[0]); alias != aliases.end())
        return add_symbols(graph().modules[alias->second].symbols, 0);
    }
    if (!snapshot.compilation.program) return;
    if (const TypedPlace* base = index().typed_before(kMain, cursor.dot)) return add_fields(*base->type);
    add_by_declaration();
  }
  /// The base was not typed, because what stands around it is broken or wrong: the declarations of
  /// the names before the dot may tell.
  void add_by_declaration() {
    if (cursor.dotted.empty()) return;
    std::optional<check::Type> type = type_of_name(cursor.dotted[0]);
    for (size_t i = 1; type && i < cursor.dotted.size(); ++i) type = type_of_member(*type, cursor.dotted[i]);
    if (type) return add_fields(*type);
    const auto nearest = visible_entity(cursor.dotted[0]);
    if (!nearest || cursor.dotted.size() > 1) return;
    if (const ast::TypeExpr* written = index().entity(*nearest).written) add_fields(*written);
  }
  static std::optional<check::Type> type_of_member(const check::Object& object, const std::string& name) {
    for (const check::Member& member : object.members) {
      if (member.name == name) return member.type;
    }
    return std::nullopt;
  }
  std::optional<check::Type> type_of_member(const check::Type& type, const std::string& name) const {
    for (const check::TypeField& field : type.fields) {
      if (field.name == name) return field.type;
    }
    const check::Object* object = check_object(type);
    return object != nullptr ? type_of_member(*object, name) : std::nullopt;
  }
  const check::Object* check_object(const check::Type& type) const {
    return object_of(type, *snapshot.compilation.program);
  }
  std::optional<EntityId> visible_entity(const std::string& name) const {
    std::optional<EntityId> nearest;
    for (const Visible& visible : index().visible()) {
      const bool is_it = visible.region.source == kMain && visible.region.begin <= offset &&
                         offset <= visible.region.end && index().entity(visible.entity).name == name;
      if (is_it) nearest = visible.entity;
    }
    return nearest;
  }
  std::optional<check::Type> type_of_name(const std::string& name) const {
    const std::optional<EntityId> nearest = visible_entity(name);
    if (!nearest) return std::nullopt;
    for (const Use& use : index().uses()) {
      const TypedPlace* typed = use.entity == *nearest ? index().typed(use.span) : nullptr;
      if (typed != nullptr) return *typed->type;
    }
    const check::Program& program = *snapshot.compilation.program;
    for (const auto* objects : {&program.blocks, &program.models, &program.metrics, &program.callbacks}) {
      for (const check::Object& object : *objects) {
        if (object.name == index().entity(*nearest).container) return type_of_member(object, name);
      }
    }
    return std::nullopt;
  }

  // ---- arguments and settings

  /// Values that the written type of a parameter or setting names.
  void add_values(std::string_view type) {
    if (type.find("one_of[") != std::string_view::npos) {
      std::string choices(type.substr(type.find("one_of[") + 7));
      choices = choices.substr(0, choices.find(']'));
      for (size_t at = 0; at < choices.size();) {
        const size_t end = std::min(choices.find(',', at), choices.size());
        std::string choice = choices.substr(at, end - at);
        choice.erase(0, choice.find_first_not_of(' '));
        add(choice, ItemKind::EnumMember, 0);
        at = end + 1;
      }
    }
    if (type.find("series") != std::string_view::npos && snapshot.compilation.program) {
      for (const check::LogEntry& entry : snapshot.compilation.program->logs) {
        if (entry.kind == "scalar" || entry.kind == "metric")
          add(entry.role + "." + shown(entry), ItemKind::Field, 0, "logged by " + entry.owner);
      }
    }
    if (type.find("bool") != std::string_view::npos) add_words({"true", "false"}, ItemKind::Keyword, 0);
    if (type.find("option[") != std::string_view::npos) add("none", ItemKind::Keyword, 1);
    if (type.find("schedule") != std::string_view::npos) add_shared(&resolve::ModuleGraph::schedules, 0);
    for (const auto& [name, symbol] : library.compilation.graph->setting_values) {
      const bool is_asked = (std::string(type) + " ").find(" or " + name + " ") != std::string::npos;
      if (is_asked) add_symbol(symbol, library, 0);
    }
    if (type.find("device") != std::string_view::npos) add_devices();
  }
  void add_devices() {
    for (const std::string& kind : check::device_kinds()) add(kind, ItemKind::Value, 0);
  }
  bool add_argument() {
    const Cursor::Call& call = *cursor.call;
    const auto id = index().find_symbol(call.callee);
    const std::vector<ast::Param>* params = id ? index().entity(*id).params : nullptr;
    if (params == nullptr) return false;
    for (const ast::Param& param : *params) {
      const std::string type(snapshot.sources().text(param.type.span));
      if (call.is_value) {
        if (param.name.text == call.argument) add_values(type);
        continue;
      }
      const bool is_given = std::find(call.given.begin(), call.given.end(), param.name.text) != call.given.end();
      if (!is_given)
        add(param.name.text + " =", ItemKind::Property, 0, std::string(snapshot.sources().text(param.span)), "",
            param.name.text + " = ");
    }
    return false;
  }
  void add_settings(const std::vector<check::SettingInfo>& settings) {
    for (const check::SettingInfo& setting : settings) {
      if (cursor.setting == setting.name) add_values(std::string(setting.type));
      if (cursor.setting.empty() && cursor.starts_entry)
        add(setting.name, ItemKind::Property, 0, std::string(setting.type), "", std::string(setting.name) + " = ");
    }
  }
  /// Functions of the library that give `result`: callbacks, loggers, optimizers.
  void add_giving(const char* result) {
    for (const auto& [name, symbol] : library.compilation.graph->prelude) {
      const ast::Fn* fn = symbol.fn;
      const auto* named = fn != nullptr && fn->result ? fn->result->get<ast::NamedType>() : nullptr;
      if (named != nullptr && named->name.text == result) add_symbol(symbol, library, 0);
    }
  }
  /// True if nothing else stands there.
  bool add_entry() {
    const std::string brace = cursor.braces.empty() ? "" : cursor.braces.back();
    const std::vector<check::SettingInfo>& settings = check::settings_of(brace);
    add_settings(settings);
    if (brace == "topology") {
      if (cursor.setting == "devices") add_devices();
      if (cursor.starts_entry) add_declaring("a topology", 1);
      if (cursor.starts_entry) add("precision", ItemKind::Keyword, 1);
    }
    if (!settings.empty()) return cursor.starts_entry;
    if (brace == "optimizer" || brace == "group") {
      if (cursor.starts_entry) {
        // Those of a group are its rule's, too, of which most have these two.
        const bool is_group = brace == "group";
        for (const std::string& name :
             is_group ? check::group_settings({"lr", "weight_decay"}) : check::optimizer_settings())
          add(name, ItemKind::Property, 0, "", "", name + " = ");
        if (!is_group) add_declaring("an optimizer", 1);
      }
      if (cursor.setting == "schedule") add_shared(&resolve::ModuleGraph::schedules, 0);
      return cursor.starts_entry;
    }
    if (brace == "experiment") {
      if (cursor.starts_entry) {
        for (const std::string_view part : ast::kExperimentParts) add(std::string(part), ItemKind::Keyword, 0);
        add_declaring("an experiment", 0);
        return true;
      }
      if (cursor.setting == "topology") return add_symbols(graph().modules[0].topologies, 0), true;
      const EntityKind wanted = cursor.setting == "data" ? EntityKind::Data : EntityKind::Model;
      for (const Entity& entity : index().entities()) {
        const bool is_wanted =
            (cursor.setting == "data" || cursor.setting == "model") && entity.kind == wanted && !is_library(entity);
        if (is_wanted) add(entity, 0);
      }
      return false;
    }
    if (brace == "sweep" && cursor.starts_entry) {
      for (const std::string_view word : kSweepWords) add(std::string(word), ItemKind::Property, 1);
    }
    if (brace == "callbacks") {
      add_giving("callback");
      for (const Entity& entity : index().entities()) {
        if (entity.kind == EntityKind::Callback) add(entity, 0);
      }
    }
    if (brace == "loggers") add_giving("logger");
    return brace == "callbacks" || brace == "loggers";
  }

  // ---- names and words

  bool add_special() {
    using K = lex::TokenKind;
    const std::string brace = cursor.braces.empty() ? "" : cursor.braces.back();
    if (cursor.before == K::On && brace == "callback") {
      for (const check::Hook& hook : check::hooks())
        add(std::string(hook.name), ItemKind::Event, 0, std::string(hook.names), std::string(hook.doc));
      return true;
    }
    if (cursor.before == K::On) return add_words({"step", "epoch", "both"}, ItemKind::Keyword, 0), true;
    if (cursor.before == K::Reduce) {
      for (const check::Reduction& one : check::kReductions) add(std::string(one.name), ItemKind::Keyword, 0);
      add("merge", ItemKind::Keyword, 0);
      return true;
    }
    if (cursor.before == K::Fails) {
      for (const diagnostics::CodeInfo& code : diagnostics::all_codes())
        add(std::string(code.text), ItemKind::Constant, 0, std::string(code.format));
      return true;
    }
    if (cursor.before == K::Amends) {
      const auto& module = graph().modules[0];
      add_symbols(cursor.entry_first == "topology" ? module.topologies : module.experiments, 0);
      return true;
    }
    if (cursor.before == K::Set || cursor.entry_first == "set") {
      for (const Entity& entity : index().entities()) {
        if (entity.kind == EntityKind::Hparam) add(entity, 0);
      }
      return cursor.before == K::Set;
    }
    const bool in_type = cursor.before == K::Arrow || (cursor.before == K::Colon && !cursor.in_brackets);
    if (in_type) {
      for (const std::string& name : check::type_words()) add(name, ItemKind::Class, 0);
      for (const Entity& entity : index().entities()) {
        if (entity.kind == EntityKind::Block && !is_library(entity)) add(entity, 1);
      }
      return true;
    }
    return false;
  }
  void add_place_names(bool in_hook) {
    for (const check::PlaceName& name : check::kPlaceNames) {
      if (!in_hook && name.reach == check::Reach::SomeHooks) continue;
      add(std::string(name.name), ItemKind::Variable, 3, std::string(name.type), std::string(name.doc));
    }
  }
  void add_keywords() {
    const std::string brace = cursor.braces.empty() ? "" : cursor.braces.back();
    if (!cursor.starts_entry) {
      add_words({"if", "then", "else", "and", "or", "not", "true", "false", "none", "in", "as", "scan"},
                ItemKind::Keyword, 8);
      return;
    }
    if (cursor.braces.empty()) {
      for (const DeclaringWord& one : kDeclaringWords) add(std::string(one.word), ItemKind::Keyword, 0);
      return;
    }
    if (brace == "data") {
      for (const RoleRow& role : kRoleRows) add(std::string(role.name), ItemKind::Keyword, 0);
    }
    const DeclaringWord* around = find_declaring(brace);
    if (around != nullptr && around->has_items) return add_declaring(brace == "data" ? brace : "a " + brace, 0);
    add_declaring("the body", 3);
    add_words({"if", "while", "every", "no_grad", "yield"}, ItemKind::Keyword, 3);
  }
  bool is_items_brace() const {
    if (!cursor.starts_entry || cursor.braces.empty()) return cursor.starts_entry;
    const DeclaringWord* around = find_declaring(cursor.braces.back());
    return around != nullptr && around->has_items;
  }
  void add_names() {
    for (auto visible = index().visible().rbegin(); visible != index().visible().rend(); ++visible) {
      const bool is_seen =
          visible->region.source == kMain && visible->region.begin <= offset && offset <= visible->region.end;
      if (is_seen) add(index().entity(visible->entity), 1);
    }
    const resolve::Module& main = graph().modules[0];
    add_symbols(main.symbols, 2);
    add_symbols(main.imported.symbols, 2);
    for (const auto& [name, module] : main.aliases) add(name, ItemKind::Module, 2);
    const auto stands_in = [&](const char* word) {
      return std::find(cursor.braces.begin(), cursor.braces.end(), word) != cursor.braces.end();
    };
    if (stands_in("on")) add_words({"model", "run"}, ItemKind::Function, 3);
    for (const check::PlaceFunction& function : check::kPlaceFunctions) {
      const bool is_of_hooks = function.place == check::PlaceFunction::Of::Hooks;
      if (stands_in(is_of_hooks ? "on" : "test")) add(std::string(function.name), ItemKind::Function, 3);
    }
    if (stands_in("step") || stands_in("on")) add_place_names(stands_in("on"));
    add_shared(&resolve::ModuleGraph::prelude, 5);
    add_shared(&resolve::ModuleGraph::stages, 6);
  }

  void run() {
    if (cursor.in_text) return;
    if (cursor.after_dot) return after_dot();
    if (add_import() || add_special()) return;
    if (cursor.call) {
      if (add_argument()) return;
    } else if (add_entry()) {
      return;
    }
    add_keywords();
    if (!is_items_brace()) add_names();
  }
};

}  // namespace

Json completion(const Snapshot& snapshot, std::string_view text, uint32_t offset) {
  Json result = {{"isIncomplete", false}, {"items", Json::array()}};
  if (!snapshot.compilation.graph) return result;
  const bool is_whole = snapshot.compilation.reach == Reach::Whole;
  Completer completer{snapshot, is_whole ? snapshot : whole_library(), text, offset, cursor_at(text, offset)};
  completer.run();
  result["items"] = std::move(completer.items);
  return result;
}

}  // namespace ltr::language_server
