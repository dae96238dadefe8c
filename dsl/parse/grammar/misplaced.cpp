#include <array>

#include "dsl/parse/grammar/rules.h"
#include "dsl/parse/parse.h"

namespace ltr::parse::grammar {

namespace {

using K = TokenKind;

struct Home {
  TokenKind kind = K::Error;
  KindSet next;  ///< what follows the word where it begins a declaration
  std::string_view places;
};

constexpr KindSet kStrings = {K::Str, K::StrBegin};
constexpr std::string_view kBodies = "the body of a `fn`, a `step`, a hook or a `test`";
constexpr std::string_view kTop = "the top of a file";
constexpr std::array kHomes = {
    Home{K::Step, kNames, "a model"},
    Home{K::Optimizer, kNames, "a model"},
    Home{K::Init, kStrings, "a model"},
    Home{K::Weight, kNames, "a block or a model"},
    Home{K::Buffer, kNames, "a block or a model"},
    Home{K::State, kNames, "a metric or a callback"},
    Home{K::On, kNames, "a callback"},
    Home{K::Batch, KindSet{K::OpenBracket, K::OpenBrace}, "data"},
    Home{K::Let, kNames, "a block, a model, a metric or data"},
    Home{K::Fn, kNames, "a file, a block, a model, a metric, a callback or data"},
    Home{K::Shard, kNames, "a topology"},
    Home{K::Recompute, kNames, "a topology"},
    Home{K::Set, kNames, "an experiment"},
    Home{K::Group, kStrings, "the braces of an optimizer"},
#define LTR_SETTINGS_SECTION(Token, name, amends) Home{K::Token, K::OpenBrace, "an experiment"},
#define LTR_VALUES_SECTION(Token, name) Home{K::Token, KindSet{K::OpenBrace, K::PlusAssign}, "an experiment"},
#include "dsl/ast/section.def"
    Home{K::Log, kNames, kBodies},
    Home{K::Minimize, kNames, kBodies},
    Home{K::Return, kNames, kBodies},
    Home{K::Assert, kNames, kBodies},
    Home{K::Print, kNames | kStrings, kBodies},
    Home{K::Backward, kNames, kBodies},
    Home{K::For, kNames, kBodies},
    Home{K::Hparam, kNames, kTop},
    Home{K::Type, kNames, kTop},
    Home{K::Const, kNames, kTop},
    Home{K::Import, kNames | kStrings, kTop},
    Home{K::Extern, kStrings, kTop},
    Home{K::Metric, kNames, kTop},
    Home{K::Data, kNames, kTop},
    Home{K::Block, kNames, kTop},
    Home{K::Model, kNames, kTop},
    Home{K::Callback, kNames, kTop},
    Home{K::Topology, kNames, kTop},
    Home{K::Experiment, kNames, kTop},
    Home{K::Test, kStrings, kTop},
};

}  // namespace

bool Misplaced::report_misplaced(State& state, Iter at, const char* place) {
  if (at->kind == K::End) return false;
  for (const Home& home : kHomes) {
    if (home.kind != at->kind || !home.next.has(std::next(at)->kind) || std::next(at)->starts_line) continue;
    if (home.places.find(place) != std::string_view::npos) return false;
    diagnostics::Diagnostic diagnostic =
        diag::misplaced_member(at->span, state.text(*at), (place == kTop ? "at " : "in ") + std::string(place));
    if (home.kind == K::Let && place == kTop) {
      diagnostic.help("a value for the whole file is a `const`").fix(at->span, "const");
    } else if (home.kind == K::Let && place == std::string_view("a callback")) {
      diagnostic.help("what a callback keeps is a `state`, with its type: `state seen: int = 0`");
    } else if (home.kind == K::Const || home.kind == K::Hparam) {
      diagnostic.help("it belongs at {}; inside, a value is a `let` or a parameter", home.places);
    } else {
      diagnostic.help("it belongs {} {}", home.places == kTop ? "at" : "in", home.places);
    }
    state.report_at(at, std::move(diagnostic));
    return true;
  }
  return false;
}

}  // namespace ltr::parse::grammar

namespace ltr::parse {

std::vector<std::string_view> words_at_home(std::string_view place) {
  std::vector<std::string_view> words;
  for (const grammar::Home& home : grammar::kHomes) {
    if (home.places.find(place) != std::string_view::npos) words.push_back(lex::spelling(home.kind));
  }
  return words;
}

}  // namespace ltr::parse
