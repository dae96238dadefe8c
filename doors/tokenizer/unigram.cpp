// Unigram (Kudo 2018): of all ways to cut a text into tokens the one whose scores have the largest sum.

#include <algorithm>
#include <cmath>
#include <limits>

#include "doors/tokenizer/model.h"
#include "doors/tokenizer/unicode.h"

namespace ltr::doors {

namespace {

/// Tokens by their beginnings.
class Trie {
 public:
  void add(std::string_view token, int64_t id) {
    uint32_t node = 0;
    for (const char c : token) {
      const auto [place, is_new] = next_.try_emplace(edge(node, c), uint32_t(ids_.size()));
      if (is_new) ids_.push_back(-1);
      node = place->second;
    }
    ids_[node] = id;
  }

  /// Calls `visit(bytes, id)` with each token that `text` begins with, the shortest first.
  template <typename Visit>
  void for_each_prefix(std::string_view text, const Visit& visit) const {
    uint32_t node = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      const auto found = next_.find(edge(node, text[i]));
      if (found == next_.end()) return;
      node = found->second;
      if (ids_[node] >= 0) visit(i + 1, ids_[node]);
    }
  }

 private:
  static uint64_t edge(uint32_t node, char c) { return uint64_t(node) << 8 | static_cast<unsigned char>(c); }

  std::unordered_map<uint64_t, uint32_t> next_;
  std::vector<int64_t> ids_ = {-1};
};

class Unigram : public TokenModel {
 public:
  explicit Unigram(const nlohmann::json& json) {
    const nlohmann::json& vocab = field_of(json, "vocab");
    if (!vocab.is_array() || vocab.empty()) refuse("`vocab` is no list of tokens and scores");
    for (const nlohmann::json& one : vocab) {
      if (!one.is_array() || one.size() != 2 || !one[0].is_string() || !one[1].is_number())
        refuse("token " + std::to_string(scores_.size()) + " is no text with its score");
      const auto token = one[0].get<std::string>();
      trie_.add(token, add(token, int64_t(scores_.size())));
      scores_.push_back(one[1]);
    }
    const auto unknown = field_or<int64_t>(json, "unk_id", -1);
    if (unknown >= int64_t(scores_.size())) refuse("`unk_id` is " + std::to_string(unknown));
    if (unknown >= 0) unknown_ = unknown;
    const bool has_bytes = field_or(json, "byte_fallback", false);
    for (size_t byte = 0; byte < 256 && has_bytes; ++byte)
      bytes_.push_back(find(byte_token(static_cast<unsigned char>(byte))));
    constexpr double kPenalty = 10;  // SentencePiece's, of a character that has no token.
    of_unknown_ = *std::min_element(scores_.begin(), scores_.end()) - kPenalty;
  }

  void encode(std::string_view part, std::vector<int64_t>& ids) const override {
    std::vector<Way> ways(part.size() + 1);
    for (size_t at = 0; at < part.size();) {
      const double so_far = ways[at].score;
      const size_t one = std::min(char_bytes(part[at]), part.size() - at);
      bool has_one = false;
      const auto offer = [&](size_t bytes, int64_t id, double score) {
        Way& way = ways[at + bytes];
        if (way.bytes != 0 && so_far + score <= way.score) return;
        way = {so_far + score, id, bytes};
      };
      trie_.for_each_prefix(part.substr(at), [&](size_t bytes, int64_t id) {
        has_one = has_one || bytes == one;
        offer(bytes, id, scores_[size_t(id)]);
      });
      if (!has_one) {
        if (!unknown_) refuse("a character has no token, and there is no `unk_id`");
        offer(one, kUnknown, of_unknown_);
      }
      at += one;
    }
    const size_t begin = ids.size();
    for (size_t at = part.size(); at > 0;) {
      size_t first = at - ways[at].bytes;
      if (ways[at].id != kUnknown && ways[at].id != unknown_) {
        ids.push_back(ways[at].id);
      } else {
        // Neighbours without a token are one.
        while (first > 0 && (ways[first].id == kUnknown || ways[first].id == unknown_)) first -= ways[first].bytes;
        push_unknown(part.substr(first, at - first), ids);
      }
      at = first;
    }
    std::reverse(ids.begin() + std::ptrdiff_t(begin), ids.end());
  }

 private:
  static constexpr int64_t kUnknown = -1;

  /// The best way that ends at a byte: its last token.
  struct Way {
    double score = 0;
    int64_t id = kUnknown;
    size_t bytes = 0;  ///< 0: none ends here
  };

  /// What has no token, its bytes from the last to the first.
  void push_unknown(std::string_view text, std::vector<int64_t>& ids) const {
    if (const auto whole = find(text)) {
      ids.push_back(*whole);
      return;
    }
    const auto id_of = [&](char c) { return bytes_[static_cast<unsigned char>(c)]; };
    const bool has_bytes =
        !bytes_.empty() && std::all_of(text.begin(), text.end(), [&](char c) { return id_of(c).has_value(); });
    if (!has_bytes) {
      ids.push_back(*unknown_);
      return;
    }
    for (auto c = text.rbegin(); c != text.rend(); ++c) ids.push_back(*id_of(*c));
  }

  Trie trie_;
  std::vector<double> scores_;
  std::vector<std::optional<int64_t>> bytes_;
  std::optional<int64_t> unknown_;
  double of_unknown_ = 0;
};

}  // namespace

std::unique_ptr<const TokenModel> read_unigram(const nlohmann::json& model) { return std::make_unique<Unigram>(model); }

}  // namespace ltr::doors
