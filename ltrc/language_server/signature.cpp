#include "ltrc/language_server/cursor.h"
#include "ltrc/language_server/features.h"

namespace ltr::language_server {

namespace {

/// The name of the argument whose name the place is in, `padd|ing = 1`.
std::string argument_around(std::string_view text, const Cursor& cursor) {
  size_t end = cursor.word_begin;
  const auto is_letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  while (end < text.size() && is_letter(text[end])) ++end;
  const size_t sign = text.find_first_not_of(' ', end);
  const bool is_named = sign != std::string_view::npos && text[sign] == '=' && text.substr(sign, 2) != "==";
  return is_named ? std::string(text.substr(cursor.word_begin, end - cursor.word_begin)) : "";
}

}  // namespace

Json signature_help(const Snapshot& snapshot, uint32_t offset) {
  const Cursor cursor = cursor_at(snapshot.text(), offset);
  if (!cursor.call || !snapshot.compilation.graph) return nullptr;
  const Cursor::Call& call = *cursor.call;
  const Use* use = snapshot.index->use_at(kMain, call.callee_begin);
  const auto id = use != nullptr ? std::optional(use->entity) : snapshot.index->find_symbol(call.callee);
  if (!id) return nullptr;
  const Entity* entity = &snapshot.index->entity(*id);
  const bool is_value = entity->params == nullptr;
  if (is_value && use != nullptr) {
    // A block that is called is its `forward`, a metric its `update`.
    const TypedPlace* typed = snapshot.index->typed(use->span);
    for (const EntityId member :
         typed != nullptr ? snapshot.index->members_of(*typed->type) : std::vector<EntityId>{}) {
      const std::string& name = snapshot.index->entity(member).name;
      if (name == "forward" || name == "update") entity = &snapshot.index->entity(member);
    }
  }
  if (entity->params == nullptr) return nullptr;
  const std::string argument = call.argument.empty() ? argument_around(snapshot.text(), cursor) : call.argument;
  std::string label = call.callee + "(";
  Json parameters = Json::array();
  int active = -1;
  const size_t first = call.takes_receiver && entity->fn != nullptr && entity->kind == EntityKind::Function ? 1 : 0;
  for (size_t i = first; i < entity->params->size(); ++i) {
    const ast::Param& param = (*entity->params)[i];
    if (i > first) label += ", ";
    const uint32_t begin = utf16_length(label);
    label += snapshot.sources().text(param.span);
    parameters.push_back({{"label", Json::array({begin, utf16_length(label)})}});
    const bool is_active = argument.empty() ? i - first == call.position : param.name.text == argument;
    if (is_active) active = int(i - first);
  }
  label += ")";
  if (entity->fn != nullptr && entity->fn->result)
    label += " -> " + std::string(snapshot.sources().text(entity->fn->result->span));
  Json signature = {{"label", label}, {"parameters", std::move(parameters)}};
  if (!entity->doc.empty()) signature["documentation"] = {{"kind", "markdown"}, {"value", entity->doc}};
  Json result = {{"signatures", Json::array({std::move(signature)})}, {"activeSignature", 0}};
  if (active >= 0) result["activeParameter"] = active;
  return result;
}

}  // namespace ltr::language_server
