#pragma once

#include "dsl/ast/stmt.h"

namespace ltr::ast {

/// `import "file" as name`, `import a.b`, `import a.b.{c, d}`, `import a.b as name`.
struct Import {
  std::optional<std::string> file;
  std::vector<Name> path;
  std::vector<Name> names;
  bool has_names = false;
  std::optional<Name> alias;
};
struct Hparam {
  Name name;
  TypeExpr type;
  Expr value;
  std::optional<Expr> where;
};
/// `type name = type`: another name for it.
struct TypeName {
  Name name;
  TypeExpr type;
};
struct Const {
  Name name;
  std::optional<TypeExpr> type;
  Expr value;
};
struct Param {
  Name name;
  TypeExpr type;  ///< a `BlockType` for `body: block [B](…) -> …`
  std::optional<Expr> initial;
  Span span;
};
/// `fn name[binders](params) -> result where … { body }`, or `= value`.
struct Fn {
  Name name;
  std::vector<Name> binders;
  std::vector<Param> params;
  Span params_span;
  std::optional<TypeExpr> result;
  std::optional<Expr> where;
  Body body;
  std::optional<Expr> value;  ///< of the form `= value`
  bool has_body = false;
};
struct ExternFn {
  Fn signature;
  std::optional<Name> backward;
  std::string doc;
  Span span;
};
struct Extern {
  std::string file;
  Span file_span;
  std::vector<ExternFn> fns;
};
/// `let name: type = value`.
struct Let {
  Name name;
  std::optional<TypeExpr> type;
  Expr value;
};
/// `state name: type = value reduce sum` (in a callback there is no `reduce`).
struct State {
  Name name;
  TypeExpr type;
  Expr value;
  std::optional<Name> reduce;
  std::optional<Name> merge;  ///< the function of `reduce merge f`
};
struct LoadRule {
  enum class Kind { Error, Rename, Skip, Freeze } kind = Kind::Error;
  std::string pattern;
  std::string replacement;
  Span span;
};
/// `name = value [from source { rules }]`.
struct Member {
  Name name;
  Expr value;
  std::optional<Expr> source;
  std::vector<LoadRule> rules;
};
/// `weight name: type = value`, `buffer name: type = value`.
struct Parameter {
  bool is_buffer = false;
  Name name;
  TypeExpr type;
  Expr value;
};
struct Setting {
  Name name;
  Expr value;
  bool is_draw = false;  ///< `name in [a, b]`, in a sweep
  Span span;
};
struct Group {
  std::string pattern;
  Span pattern_span;
  std::vector<Setting> settings;
};
struct Optimizer {
  Name name;
  Expr value;
  std::vector<Setting> settings;
  std::vector<Group> groups;
};
struct Init {
  std::string pattern;
  Span pattern_span;
  Expr value;
};
/// `step name = other`, or a function with `manual`.
struct Step {
  Fn fn;  ///< its name is the step's
  bool is_manual = false;
  std::optional<Name> copy_of;
};
/// `train = expr`, `val.clean = expr`.
struct Stream {
  Name role;
  std::optional<Name> name;
  Expr value;
};
struct Hook {
  Name name;
  Body body;
};

/// What stands between the braces of a metric, data, block, model or callback.
struct ErrorItem {
  std::vector<Name> names;  ///< what it would have declared, as far as that can be told
};
struct Item {
  Span span;
  std::string doc;
  std::variant<ErrorItem, Let, Fn, State, Member, Parameter, Optimizer, Init, Step, Stream, Hook> node;

  template <class T>
  const T* get() const {
    return std::get_if<T>(&node);
  }
};

struct Metric {
  Name name;
  std::vector<Param> params;
  std::vector<Item> items;
};
struct Data {
  Name name;
  std::vector<Param> params;
  std::vector<Name> batch_binders;
  std::vector<FieldType> batch_fields;
  Span batch_span;
  std::vector<Item> items;
};
struct Block {
  Name name;
  std::vector<Param> params;
  std::vector<Item> items;
};
struct Model {
  Name name;
  std::vector<Param> params;
  std::vector<Item> items;
};
struct Callback {
  Name name;
  std::vector<Param> params;
  std::optional<Name> model;  ///< of `for Model`
  std::vector<Item> items;
};
struct Shard {
  Name what;
  std::vector<Name> axes;
  std::optional<Name> at;
  Span span;
};
struct Recompute {
  Name at;
  Span span;
};
struct Section {
  Name name;
  std::vector<Setting> settings;  ///< of trainer, sweep, tags, serve, and of the braces in a topology
  std::vector<Expr> values;       ///< of callbacks, loggers
  bool adds = false;              ///< `callbacks += { … }`
  Span span;
};
struct Topology {
  Name name;
  std::optional<Name> amends;
  std::vector<Setting> settings;
  std::vector<Shard> shards;
  std::vector<Recompute> recomputes;
  std::vector<Section> sections;
};
struct Experiment {
  Name name;
  std::optional<Name> amends;
  std::vector<Setting> settings;
  std::vector<Section> sections;
  std::vector<Setting> sets;  ///< of all `set` lines
};
struct Test {
  std::string title;
  Span title_span;
  std::optional<Name> fails;
  Body body;
};

struct ErrorDecl {
  std::vector<Name> names;  ///< what it would have declared or imported, as far as that can be told
};
struct Decl {
  Span span;
  bool is_damaged = false;  ///< something in it could not be read, and was reported
  std::string doc;          ///< the `##` lines above it, without marks
  std::variant<ErrorDecl, Import, Hparam, TypeName, Const, Fn, Extern, Metric, Data, Block, Model, Callback, Topology,
               Experiment, Test>
      node;

  template <class T>
  const T* get() const {
    return std::get_if<T>(&node);
  }
};

/// One parsed file.
struct Module {
  source::SourceId source;
  int64_t edition = 0;
  Span edition_span;
  std::vector<Decl> decls;
};

}  // namespace ltr::ast
