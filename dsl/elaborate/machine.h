#pragma once

#include <deque>
#include <set>

#include "dsl/elaborate/elaborate.h"

namespace ltr::elaborate {

/// Loops run as written up to here; nobody reads a plan of more.
inline constexpr int64_t kMaxRounds = 65'536;
/// A longer list is not built.
inline constexpr int64_t kMaxLength = 100'000;
/// Objects of one tree, expressions and rounds that building it may take, and levels of expressions in each other.
inline constexpr size_t kMaxObjects = 150'000;
inline constexpr int64_t kMaxSteps = 4'000'000;
inline constexpr int kMaxDepth = 2'000;

/// Where code runs: its locals, the meaning of its sizes, the object whose code it is; while a member is built, the place
/// of what the expression at hand builds.
struct Frame {
  const std::vector<check::Local>* locals = nullptr;
  std::map<check::LocalId, Value> values;
  Sizes sizes;
  std::optional<ObjectId> self;
  std::optional<std::string> place;
};

/// Runs typed code on sizes instead of tensors. What it cannot know is `Unknown` and goes on so. The program may have
/// errors: their nodes are `Unknown`.
class Machine {
 public:
  Machine(const check::Program& program, const Options& options, Plan& plan)
      : program_(program), options_(options), plan_(plan) {}

  Value eval(const check::ExprView& expr, Frame& frame);
  Value eval(check::ExprId id, Frame& frame) { return eval(program_.exprs[id], frame); }
  Value call(uint32_t fn, std::optional<ObjectId> self, std::vector<Value> args);
  /// What is given for the params of an object.
  struct Arguments {
    size_t count = 0;
    std::function<Value(size_t index, const std::string& param)> evaluate;
  };
  /// Builds an object, and what it is made of, at `place`; data and metrics have none. What `type` says of its int params
  /// is in terms of the root of the tree.
  Value construct(const check::Type& type, const Arguments& args, const std::optional<std::string>& place);
  /// The value of `expr`, which lies at `place` as far as it is built there. The place is left open if nobody knows what is.
  Value eval_at(const std::string& place, const check::ExprView& expr, Frame& frame);
  void bind(const check::Type& type, const Value& value, Sizes& sizes) const;
  Value value_of(const check::Type& type, const Frame& frame) const;
  std::vector<Size> dims_of(const check::Type& type, const Frame& frame) const;

  void set_hparam(const check::Hparam& hparam, Value value);

  const check::Object& decl_of(const Object& object) const;

  bool is_tracing = false;       ///< ops go to the tape
  std::optional<ObjectId> data;  ///< of the experiment

 private:
  Size size_of(const check::Polynomial& value, const Frame& frame) const;
  Size atom(check::AtomId id, const Frame& frame) const;
  Size element(const check::Polynomial& list, int64_t index, const Frame& frame) const;
  const check::Polynomial* meaning_of(check::AtomId id, const Frame& frame) const;
  const std::vector<Size>* ints_of(check::AtomId list, const Frame& frame) const;
  check::Polynomial in_terms(const check::Polynomial& value, const Frame& frame) const;
  check::Type in_terms(check::Type built, const Frame& frame) const;
  void assign(check::LocalId local, Value value, Frame& frame) const;
  /// Likewise for the variable of a loop, an atom of the sizes in its body with another value each round.
  void assign_anew(check::LocalId local, Value value, Frame& frame) const;
  std::optional<Value> run(const check::Body& body, Frame& frame);
  struct ExprRunner;
  struct StmtRunner;
  /// Counts one more step; false where it is one too many, or the tree is too large.
  bool may_go_on(check::Span span);
  /// Whether nothing is guessed, and sizes are told in terms of what is not known.
  bool is_exact() const { return options_.atoms != nullptr; }
  Value member_of(const check::Member& member, const std::optional<std::string>& place, Frame& frame);
  Value add_weight(const check::Member& member, const std::string& path, Value value, const Frame& frame);
  void freeze(const check::WeightSource& source, const std::string& place);
  Value apply(const Value& closure, std::vector<Value> args);
  void unknown(const std::string& what, check::Span span);
  std::vector<GivenWeight> weights_of(const Value& value) const;
  std::vector<GivenWeight> weights_at(const std::string& place) const;

  const check::Program& program_;
  const Options& options_;
  Plan& plan_;
  Sizes hparams_;
  std::set<std::pair<std::string, check::Span>> reported_;
  Value yielded_;  ///< by the last round of a scan
  struct Closure {
    const check::node::Function* function;
    Frame frame;  ///< as it was where the function was made
  };
  std::deque<Closure> closures_;
  int64_t steps_ = 0;
  int depth_ = 0;
};

}  // namespace ltr::elaborate
