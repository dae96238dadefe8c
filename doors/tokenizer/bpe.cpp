// Byte-pair encoding (Sennrich et al. 2016): the two neighbours whose merge was learnt first become one, again and again.

#include <algorithm>
#include <queue>

#include "doors/tokenizer/model.h"
#include "doors/tokenizer/unicode.h"

namespace ltr::doors {

namespace {

struct Merge {
  int64_t rank = 0;
  int64_t id = 0;
};

/// A part of the word, linked to its neighbours; -1 where there is none. `bytes` is 0 once it is merged away.
struct Symbol {
  int64_t id = 0;
  int64_t before = -1;
  int64_t behind = -1;
  size_t bytes = 0;
};

/// Two neighbours that may be merged: those learnt first come first, of equal ones the left.
struct Candidate {
  int64_t rank = 0;
  int64_t left = 0;
  int64_t id = 0;
  bool operator<(const Candidate& other) const { return rank != other.rank ? rank > other.rank : left > other.left; }
};

class Bpe : public TokenModel {
 public:
  explicit Bpe(const nlohmann::json& json)
      : prefix_(field_or<std::string>(json, "continuing_subword_prefix", "")),
        suffix_(field_or<std::string>(json, "end_of_word_suffix", "")),
        fuses_unknown_(field_or(json, "fuse_unk", false)),
        takes_whole_(field_or(json, "ignore_merges", false)) {
    if (field_or(json, "dropout", 0.0) != 0.0) refuse("`dropout` of merges is not known here");
    const nlohmann::json& vocab = field_of(json, "vocab");
    if (!vocab.is_object()) refuse("`vocab` is no object");
    for (const auto& [token, id] : vocab.items()) {
      if (!id.is_number_integer()) refuse("the token \"" + token + "\" has no number");
      add(token, id.get<int64_t>());
    }
    if (const auto unknown = field_or<std::string>(json, "unk_token", ""); !unknown.empty()) {
      unknown_ = find(unknown);
      if (!unknown_) refuse("`unk_token` \"" + unknown + "\" is not in the vocabulary");
    }
    if (field_or(json, "byte_fallback", false)) {
      for (size_t byte = 0; byte < 256; ++byte) bytes_.push_back(find(byte_token(static_cast<unsigned char>(byte))));
    }
    read_merges(field_of(json, "merges"));
  }

  void encode(std::string_view part, std::vector<int64_t>& ids) const override {
    if (takes_whole_) {
      if (const auto whole = find(part)) {
        ids.push_back(*whole);
        return;
      }
    }
    std::vector<Symbol> symbols;
    cut(part, symbols);
    merge(symbols);
    for (const Symbol& symbol : symbols) {
      if (symbol.bytes != 0) ids.push_back(symbol.id);
    }
  }

 private:
  static uint64_t pair(int64_t left, int64_t right) { return uint64_t(left) << 32 | uint64_t(right); }

  void read_merges(const nlohmann::json& merges) {
    if (!merges.is_array()) refuse("`merges` is no list");
    for (size_t rank = 0; rank < merges.size(); ++rank) {
      std::string left, right;
      if (const nlohmann::json& one = merges[rank]; one.is_string()) {
        const auto text = one.get<std::string>();
        const size_t blank = text.find(' ');
        left = text.substr(0, blank);
        right = blank == std::string::npos ? "" : text.substr(blank + 1);
      } else if (one.is_array() && one.size() == 2 && one[0].is_string() && one[1].is_string()) {
        left = one[0];
        right = one[1];
      }
      const auto first = find(left), second = find(right);
      const bool continues = !prefix_.empty() && right.starts_with(prefix_);
      const auto whole = find(left + (continues ? right.substr(prefix_.size()) : right));
      if (!first || !second || !whole) refuse("merge " + std::to_string(rank) + " is not of tokens");
      merges_[pair(*first, *second)] = {int64_t(rank), *whole};
    }
  }

  /// The characters of `part` as symbols.
  void cut(std::string_view part, std::vector<Symbol>& symbols) const {
    const auto push = [&](int64_t id, size_t bytes) {
      const auto at = int64_t(symbols.size());
      if (at > 0) symbols.back().behind = at;
      symbols.push_back({id, at - 1, -1, bytes});
    };
    bool was_unknown = false;
    std::string written;
    for (size_t at = 0; at < part.size();) {
      const size_t size = std::min(char_bytes(part[at]), part.size() - at);
      std::string_view token = part.substr(at, size);
      if ((at > 0 && !prefix_.empty()) || (at + size == part.size() && !suffix_.empty())) {
        written = (at > 0 ? prefix_ : "") + std::string(token) + (at + size == part.size() ? suffix_ : "");
        token = written;
      }
      const auto id = find(token);
      const bool is_unknown = !id && !push_bytes(token, push);
      if (id) {
        push(*id, size);
      } else if (is_unknown && unknown_) {
        if (was_unknown && fuses_unknown_) {
          symbols.back().bytes += size;
        } else {
          push(*unknown_, size);
        }
      }
      was_unknown = is_unknown;
      at += size;
    }
  }

  template <typename Push>
  bool push_bytes(std::string_view token, const Push& push) const {
    if (bytes_.empty()) return false;
    const auto id_of = [&](char c) { return bytes_[static_cast<unsigned char>(c)]; };
    if (!std::all_of(token.begin(), token.end(), [&](char c) { return id_of(c).has_value(); })) return false;
    for (const char c : token) push(*id_of(c), 1);
    return true;
  }

  void merge(std::vector<Symbol>& symbols) const {
    if (symbols.size() < 2) return;
    std::vector<Candidate> store;
    store.reserve(symbols.size() * 2);
    std::priority_queue<Candidate> queue({}, std::move(store));
    const auto offer = [&](int64_t left) {
      const int64_t right = symbols[size_t(left)].behind;
      if (left < 0 || right < 0) return;
      const auto found = merges_.find(pair(symbols[size_t(left)].id, symbols[size_t(right)].id));
      if (found != merges_.end()) queue.push({found->second.rank, left, found->second.id});
    };
    for (size_t i = 0; i + 1 < symbols.size(); ++i) offer(int64_t(i));
    while (!queue.empty()) {
      const Candidate best = queue.top();
      queue.pop();
      Symbol& left = symbols[size_t(best.left)];
      if (left.bytes == 0 || left.behind < 0) continue;
      Symbol& right = symbols[size_t(left.behind)];
      // Either may be another one by now.
      const auto found = merges_.find(pair(left.id, right.id));
      if (found == merges_.end() || found->second.id != best.id) continue;
      left.id = best.id;
      left.bytes += right.bytes;
      right.bytes = 0;
      left.behind = right.behind;
      if (left.behind >= 0) symbols[size_t(left.behind)].before = best.left;
      if (left.before >= 0) offer(left.before);
      offer(best.left);
    }
  }

  std::string prefix_, suffix_;
  bool fuses_unknown_, takes_whole_;
  std::optional<int64_t> unknown_;
  std::vector<std::optional<int64_t>> bytes_;  // With byte_fallback: the token of each.
  std::unordered_map<uint64_t, Merge> merges_;
};

}  // namespace

std::unique_ptr<const TokenModel> read_bpe(const nlohmann::json& model) { return std::make_unique<Bpe>(model); }

}  // namespace ltr::doors
