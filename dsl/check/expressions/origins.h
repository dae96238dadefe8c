#pragma once

// Where what does not fit comes from, in the program as it is written: the layer that was built, the stage that gives a size, the
// value of a name.

#include <functional>

#include "dsl/check/expressions/expressions.h"
#include "dsl/check/scope/aside.h"

namespace ltr::check {

/// While it lives, what is said of the sizes that a member is given, a layer or a metric, has a label where it is built.
class BlameBuilder {
 public:
  /// `receiver` is what `site` calls; null, or no member, and nothing is added.
  BlameBuilder(const Expr* receiver, const CallSite& site);
  ~BlameBuilder();
  BlameBuilder(const BlameBuilder&) = delete;
  BlameBuilder& operator=(const BlameBuilder&) = delete;

 private:
  const CallSite& site_;
  std::string name_;
  std::optional<Span> built_;
  diagnostics::Sink found_;
  std::optional<Aside> aside_;
};

/// Adds where the member is built that is called at `use`, or with what is there, if `is_argument`.
void label_builder(diagnostics::Diagnostic& diagnostic, Span use, bool is_argument, const Context& cx);

/// Whether the function of a stage, which is written at `place`, takes a record; of a size that it does not take, with a label at
/// the stage in front of it that gives the size, `window(T)` or `pack(T)`.
bool fits_record(const FnInfo& fn, const Type& record, Span place, Scope& scope);

/// Adds where the layer is built that gives a value its size, also behind what keeps the size and where a local holds it; of
/// another local where it is given.
void label_layer(diagnostics::Diagnostic& diagnostic, const ExprView& value, const Scope& scope);

/// Whether the function of the library takes axes away, as `mean(1)` does: it may keep one, `keepdim`.
bool is_reduction(const std::string& name, const Scope& scope);

/// What took an axis away, `mean(0)` or the index `[-1]`, and that axis.
struct Taken {
  Span span;
  Dim dim;
};
/// The one that `is_it` is true of, among all that `value` is computed of.
std::optional<Taken> find_taken(const ExprView& value, Scope& scope, const std::function<bool(const Dim&)>& is_it);

/// Adds what took an axis of `value` away that `wanted` has.
void label_taken(diagnostics::Diagnostic& diagnostic, const ExprView& value, const Type& wanted, Scope& scope);

/// How far `arange(n)` counts, which `value` is in whatever arrangement; nothing if it is no such thing.
std::optional<Polynomial> counted_to(const ExprView& value, Scope& scope);

/// Adds how one element of each row is taken, where rows were taken by as many places as there are rows: `q[action]`.
void help_one_of_each(diagnostics::Diagnostic& diagnostic, const ExprView& value, Scope& scope);

/// Adds the `collate` above that has made batches already of what comes into the stage that is called at `stage`.
void label_batches(diagnostics::Diagnostic& diagnostic, Span stage, const Scope& scope);

/// The call that cuts the first axis of a tensor into equal parts where no other one is named, `chunk(2)`, of which a name that is
/// read at `use` is a part; null if there is none.
const ast::Expr* cut_of(Span use, const Scope& scope);

/// Adds that call to what says that `have` does not fit `wanted` at `use`, if it is why: a part of it is what is wanted.
void label_cut(diagnostics::Diagnostic& diagnostic, Span use, const Type& have, const Type& wanted, const Scope& scope);

/// Adds what gives `have` its size, where `wanted` is asked for at `use`: the layer that is called there, or `chunk`.
void label_given(diagnostics::Diagnostic& diagnostic, Span use, const Type& have, const Type& wanted,
                 const Scope& scope);

/// What a local was given last above `use`, and which of several values it is.
struct Assigned {
  const ast::Expr* value = nullptr;               ///< null if that cannot be told
  Span name;                                      ///< where it is assigned
  std::optional<size_t> part;                     ///< of `a, b = value`
  const std::vector<ast::Name>* names = nullptr;  ///< then, all of them
};
Assigned find_assigned(const ExprView& local, const Scope& scope);

/// The function that `value` calls first of all to make it, such as `argmax` of `scores.argmax(1)`, also where a local holds it;
/// empty if it is no call of a name.
std::string maker_of(const ExprView& value, const Scope& scope);

}  // namespace ltr::check
