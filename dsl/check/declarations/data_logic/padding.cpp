// W0515: what `collate` fills up with is the word that a vocabulary has for it.

#include <algorithm>
#include <cctype>

#include "dsl/check/declarations/data_logic/data_logic.h"
#include "dsl/check/expressions/expressions.h"
#include "dsl/check/walk.h"

namespace ltr::check {

namespace {

/// Where the word that fills up stands in a vocabulary.
struct PadWord {
  std::string vocabulary;
  Span special;
  size_t id = 0;
  std::vector<std::string> words;  ///< the special ones, by their ids
};

bool is_pad_word(const std::string& word) {
  std::string letters;
  for (const char c : word) {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) letters += char(std::tolower(static_cast<unsigned char>(c)));
  }
  return letters == "pad" || letters == "padding";
}

std::vector<PadWord> pad_words(const DataObject& data, const Program& program) {
  constexpr size_t kSpecial = 4;  // of `vocab(stream, of, max, min_count, special, unknown)`
  std::vector<PadWord> found;
  for (const Member& member : data.object.members) {
    const auto* op = member.value.get<node::Op>();
    if (op == nullptr || op->op != library::Id::Vocab || op->args.size() <= kSpecial) continue;
    const ExprView& special = program.exprs[op->args[kSpecial]];
    const auto* list = special.get<node::List>();
    if (list == nullptr) continue;
    PadWord one{.vocabulary = member.name, .special = special.span};
    for (const ExprId id : list->elements) {
      const auto* word = program.exprs[id].get<node::StrConst>();
      one.words.push_back(word != nullptr ? word->text : "");
    }
    const auto pad = std::ranges::find_if(one.words, is_pad_word);
    if (pad == one.words.end()) continue;
    one.id = size_t(pad - one.words.begin());
    found.push_back(std::move(one));
  }
  return found;
}

/// The number that `collate` fills up with, written in it; nothing if it is another stage, or fills nothing up.
std::optional<size_t> filled_with(const ExprView& stage, const Program& program) {
  constexpr size_t kPad = 3;  // of `collate(stream, size, drop_last, pad, …)`
  const auto* op = stage.get<node::Op>();
  if (op == nullptr || op->op != library::Id::Collate || op->args.size() <= kPad) return std::nullopt;
  const ExprView& pad = program.exprs[op->args[kPad]];
  const auto value = pad.span.is_empty() ? std::nullopt : evaluate(pad, program);
  return value ? std::optional(size_t(value->kind == HostValue::Kind::Int ? double(value->whole) : value->real))
               : std::nullopt;
}

}  // namespace

void check_padding(Context& cx, const DataObject& data) {
  const std::vector<PadWord> words = pad_words(data, cx.program);
  if (words.empty()) return;
  for (const StreamDecl& stream : data.streams) {
    const ExprView& stage = behind_lets(stream.value, data, cx.program);
    const auto filled = filled_with(stage, cx.program);
    // Of several vocabularies it may be that of another one.
    if (!filled || std::ranges::any_of(words, [&](const PadWord& one) { return one.id == *filled; })) continue;
    const PadWord& one = words.front();
    const bool is_word = *filled < one.words.size() && !one.words[*filled].empty();
    cx.report(diag::other_padding(stage_span(cx, stage), *filled,
                                  is_word ? "`" + one.words[*filled] + "`" : "another word", one.vocabulary)
                  .label(one.special, "`{}` is {} here", one.words[one.id], one.id)
                  .help("`pad = {}`", one.id));
    return;  // One says it for all of a data.
  }
}

}  // namespace ltr::check
