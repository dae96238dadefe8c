#include "doors/tokenizer/tokenizer.h"

#include <doctest/doctest.h>

#include "doors/file.h"
#include "doors/tokenizer/pattern.h"
#include "doors/tokenizer/unicode.h"

using namespace ltr::doors;

// Files of Python are read in tests/parity/tokenizing.py; what is here holds without it.
namespace {

using Ids = std::vector<int64_t>;

Tokenizer seed(const std::string& name) {
  const std::string path = LTR_SOURCE_DIR "/tests/fuzz/seeds/tokenizer/" + name + ".json";
  return {read_file(path), path};
}

/// What is said of a file that is none; "" if it is one.
std::string refusal(const std::string& json) {
  try {
    const Tokenizer made(json, "t.json");
  } catch (const FormatError& error) {
    return error.reason;
  }
  return "";
}

}  // namespace

TEST_CASE("bytes are merged in the order in which they were learnt") {
  const Tokenizer tokens = seed("bpe");
  CHECK(tokens.size() == 9);
  CHECK(tokens.encode("ab lo") == Ids{3, 2, 3, 7});
  CHECK(tokens.encode("ab[CLS]ab") == Ids{3, 2, 8, 3, 2});
  CHECK(tokens.decode({4, 1, 8, 3, 7}) == " ab lo");
  CHECK(tokens.id("lo") == 7);
  CHECK(!tokens.id("ol"));
  CHECK_THROWS_AS(tokens.decode({99}), std::out_of_range);
}

TEST_CASE("characters without a token are bytes, or one unknown") {
  const Tokenizer tokens = seed("spm");
  CHECK(tokens.encode("a\nxyz") == Ids{0, 4, 1, 0});
  CHECK(tokens.decode({0, 4, 1}) == "<unk> a\n");
}

TEST_CASE("words are cut into their longest pieces") {
  const Tokenizer tokens = seed("wordpiece");
  CHECK(tokens.encode("H\xC3\xA9llo, WORLD worx") == Ids{5, 1, 4, 2, 3, 0, 6});
  CHECK(tokens.decode({5, 1, 4, 2, 3, 6}) == "[CLS] hello, world [SEP]");
}

TEST_CASE("of all ways to cut a text the best is taken") {
  const Tokenizer tokens = seed("unigram");
  CHECK(tokens.encode("A lo") == Ids{2, 1, 3});
  CHECK(tokens.encode("qq") == Ids{1, 0});
}

TEST_CASE("a token may ask for a word's borders, and takes the blanks beside it") {
  const Tokenizer tokens = seed("words");
  CHECK(tokens.encode("a b a") == Ids{1, 3, 1});
  CHECK(tokens.encode("ab") == Ids{0});
}

TEST_CASE("what is no UTF-8 is a replacement character for each part of one") {
  CHECK(valid_utf8("a\xFFz") == "a\xEF\xBF\xBDz");
  CHECK(valid_utf8("\xE2\x82") == "\xEF\xBF\xBD");
  CHECK(valid_utf8("\xE2\x28") == "\xEF\xBF\xBD(");
  CHECK(valid_utf8("\xED\xA0\x80") == "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST_CASE("classes of patterns are Unicode's") {
  CHECK(Pattern::regex("\\s+").replaced("a\xC2\x85 \t"
                                        "b",
                                        "_") == "a_b");
  CHECK(Pattern::regex("[^\\s]+").replaced("ab c", "_") == "_ _");
  CHECK(Pattern::regex("\\w").replaced("\xE0\xA4\xBE-", "_") == "_-");
  CHECK(Pattern::text("a.").replaced("a.ab", "_") == "_ab");
  CHECK_THROWS_AS(Pattern::regex("("), std::invalid_argument);
}

TEST_CASE("a file that is none is refused by what is wrong with it") {
  CHECK(refusal("[]") == "there is no `model`");
  CHECK(refusal(R"({"model": {"type": "Char"}})") ==
        "the model `Char` is not known here: BPE, Unigram, WordPiece and WordLevel are");
  CHECK(refusal(R"({"model": {"type": "BPE", "vocab": {"a": -1}, "merges": []}})") == "the token \"a\" has the id -1");
  CHECK(refusal(R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}})") == "merge 0 is not of tokens");
  CHECK(refusal(R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [], "dropout": 0.1}})") ==
        "`dropout` of merges is not known here");
  CHECK(refusal(R"({"model": {"type": "Unigram", "vocab": [["a"]]}})") == "token 0 is no text with its score");
  const std::string words = R"({"model": {"type": "WordLevel", "vocab": {"a": 0}})";
  CHECK(refusal(words + "}").empty());
  CHECK(refusal(words + R"(, "normalizer": {"type": "Nmt"}})") == "the normalizer `Nmt` is not known here");
  CHECK(refusal(words + R"(, "pre_tokenizer": {"type": "Jieba"}})") == "the pre-tokenizer `Jieba` is not known here");
  CHECK(refusal(words + R"(, "decoder": {"type": "CTC"}})") == "the decoder `CTC` is not known here");
  CHECK(refusal(words + R"(, "post_processor": {"type": "Own"}})") == "the post-processor `Own` is not known here");
  CHECK(refusal(words + R"(, "post_processor": {"type": "BertProcessing", "sep": ["a", 0], "cls": ["b", 7]}})") ==
        "the post-processor puts token 7 around a text");
  CHECK(refusal(words + R"(, "added_tokens": [{"id": 9000000, "content": "x"}]})") ==
        "the added token \"x\" has the id 9000000");
  CHECK(refusal(words + R"(, "normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAA"}})") ==
        "precompiled_charsmap is cut off");
}
