#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ltrc/compile.h"

namespace ltr::language_server {

using source::Span;

enum class EntityKind {
  Module,
  Hparam,
  Type,
  Const,
  Function,
  Metric,
  Data,
  Block,
  Model,
  Callback,
  Topology,
  Experiment,
  Param,
  Binder,
  Local,
  Member,
  Method,
  Step,
  State,
  Stream,
  Field,
  Series,
};

/// What a name can mean. Two entities are the same if their names stand in the same place.
struct Entity {
  EntityKind kind = EntityKind::Local;
  std::string name;
  Span span;              ///< of the name where it is declared
  Span whole;             ///< of what declares it
  uint32_t module = 0;    ///< of the graph
  std::string container;  ///< name of the declaration or function around it
  std::string doc;
  std::string type;                                 ///< as inferred, or as written; may be empty
  const ast::Decl* decl = nullptr;                  ///< of a top-level name
  const ast::Fn* fn = nullptr;                      ///< of what is called with arguments
  const std::vector<ast::Param>* params = nullptr;  ///< likewise
  const ast::TypeExpr* written = nullptr;           ///< the type as written
};
using EntityId = uint32_t;

/// A name where it stands.
struct Use {
  Span span;
  EntityId entity = 0;
  bool is_definition = false;
  bool is_write = false;
  bool is_shorthand = false;  ///< `log loss`: the name of the series and the value in one word
};

/// Where a name that is not top-level can be used.
struct Visible {
  Span region;
  EntityId entity = 0;
};

/// A name that means something without being declared: settings, hooks, element types.
enum class PlainKind { Setting, Type, Hook, Field };
struct PlainName {
  Span span;
  PlainKind kind = PlainKind::Setting;
};

/// Where the inferred type of a local may be shown.
struct Inferred {
  Span name;
  const check::Type* type = nullptr;
};

/// A typed expression as it is written.
struct TypedPlace {
  Span span;
  const check::Type* type = nullptr;
};

/// What the features look into. Made once after each analysis of it, never changed; it lives as
/// long as the compilation, and no longer.
class Index {
 public:
  explicit Index(const driver::Compilation& compilation);

  const std::vector<Entity>& entities() const { return entities_; }
  const std::vector<Use>& uses() const { return uses_; }  ///< sorted by place
  const std::vector<Visible>& visible() const { return visible_; }
  const std::vector<PlainName>& plain() const { return plain_; }
  const std::vector<Inferred>& inferred() const { return inferred_; }
  const Entity& entity(EntityId id) const { return entities_[id]; }

  /// The name that `offset` of `source` stands in or at the end of.
  const Use* use_at(source::SourceId source, uint32_t offset) const;
  /// The smallest typed expression around `offset`, and the one that is exactly `span`.
  const TypedPlace* typed_at(source::SourceId source, uint32_t offset) const;
  const TypedPlace* typed(Span span) const;
  /// The largest one that ends at `end`.
  const TypedPlace* typed_before(source::SourceId source, uint32_t end) const;
  std::optional<EntityId> find(Span name) const;
  /// What can be called or constructed: a top-level name seen from the program.
  std::optional<EntityId> find_symbol(const std::string& name) const;
  /// Members, functions and parameters of a declaration, by name.
  std::vector<EntityId> members_of(const check::Type& type) const;

 private:
  friend class NameWalk;
  EntityId add(Entity entity);
  void add_series(const check::Program& program);
  EntityId of_symbol(const resolve::Symbol& symbol);
  std::vector<EntityId> members_of(const ast::Decl& decl, uint32_t module);

  const driver::Compilation* compilation_;
  std::vector<Entity> entities_;
  std::map<Span, EntityId> by_name_;
  std::map<const ast::Decl*, std::vector<EntityId>> members_;
  std::vector<Use> uses_;
  std::vector<Visible> visible_;
  std::vector<PlainName> plain_;
  std::vector<Inferred> inferred_;
  std::map<Span, TypedPlace> typed_;
};

/// Every typed expression by its place, conversions looked through; and the statements.
struct TypedPlaces {
  std::map<Span, TypedPlace> exprs;
  std::map<Span, std::pair<const check::Fn*, const check::Stmt*>> statements;
};
TypedPlaces typed_places(const check::Program& program);

/// The typed block, model, data or metric that a type names.
const check::Object* object_of(const check::Type& type, const check::Program& program);
/// The declaration of a block, model, data or metric type.
const resolve::Symbol* symbol_of(const check::Type& type, const driver::Compilation& compilation);

}  // namespace ltr::language_server
