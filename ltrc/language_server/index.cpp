#include "ltrc/language_server/index.h"

#include <algorithm>

#include "ltrc/language_server/name_walk.h"

namespace ltr::language_server {

namespace {

EntityKind kind_of(resolve::SymbolKind kind) {
  using From = resolve::SymbolKind;
  switch (kind) {
    case From::Hparam: return EntityKind::Hparam;
    case From::Type: return EntityKind::Type;
    case From::Const: return EntityKind::Const;
    case From::Metric: return EntityKind::Metric;
    case From::Data: return EntityKind::Data;
    case From::Block: return EntityKind::Block;
    case From::Model: return EntityKind::Model;
    case From::Callback: return EntityKind::Callback;
    case From::Topology: return EntityKind::Topology;
    case From::Experiment: return EntityKind::Experiment;
    case From::Error:
    case From::Fn:
    case From::Op: return EntityKind::Function;
  }
  return EntityKind::Function;
}

template <class T>
bool has_params(const ast::Decl& decl, Entity& entity) {
  const T* object = decl.get<T>();
  if (object != nullptr) entity.params = &object->params;
  return object != nullptr;
}

/// What an item of a declaration declares; an empty name if it is nothing that has one.
Entity entity_of(const ast::Item& item) {
  Entity entity;
  entity.whole = item.span;
  entity.doc = item.doc;
  const auto take = [&](EntityKind kind, const ast::Name& name, const ast::TypeExpr* type = nullptr) {
    entity.kind = kind;
    entity.name = name.text;
    entity.span = name.span;
    entity.written = type;
  };
  const auto call = [&](const ast::Fn& fn) {
    entity.fn = &fn;
    entity.params = &fn.params;
  };
  if (const auto* let = item.get<ast::Let>()) take(EntityKind::Member, let->name, let->type ? &*let->type : nullptr);
  if (const auto* state = item.get<ast::State>()) take(EntityKind::State, state->name, &state->type);
  if (const auto* member = item.get<ast::Member>()) take(EntityKind::Member, member->name);
  if (const auto* weight = item.get<ast::Parameter>()) take(EntityKind::Member, weight->name, &weight->type);
  if (const auto* optimizer = item.get<ast::Optimizer>()) take(EntityKind::Member, optimizer->name);
  if (const auto* stream = item.get<ast::Stream>())
    take(EntityKind::Stream, stream->name ? *stream->name : stream->role);
  if (const auto* fn = item.get<ast::Fn>()) {
    take(EntityKind::Method, fn->name);
    call(*fn);
  }
  if (const auto* step = item.get<ast::Step>()) {
    take(EntityKind::Step, step->fn.name);
    call(step->fn);
  }
  return entity;
}

template <class T>
const std::vector<ast::Item>* items_in(const ast::Decl& decl) {
  const T* object = decl.get<T>();
  return object != nullptr ? &object->items : nullptr;
}

}  // namespace

std::string name_of(const ast::Decl& decl) {
  return std::visit(
      [](const auto& node) -> std::string {
        if constexpr (requires { node.name.text; }) return node.name.text;
        return "";
      },
      decl.node);
}

const std::vector<ast::Item>* items_of(const ast::Decl& decl) {
  for (const auto* items : {items_in<ast::Block>(decl), items_in<ast::Model>(decl), items_in<ast::Metric>(decl),
                            items_in<ast::Data>(decl), items_in<ast::Callback>(decl)}) {
    if (items != nullptr) return items;
  }
  return nullptr;
}

EntityId Index::add(Entity entity) {
  const auto [place, is_new] = by_name_.try_emplace(entity.span, EntityId(entities_.size()));
  if (is_new) entities_.push_back(std::move(entity));
  return place->second;
}

EntityId Index::of_symbol(const resolve::Symbol& symbol) {
  if (const auto known = find(symbol.span)) return *known;
  Entity entity;
  entity.kind = kind_of(symbol.kind);
  entity.name = symbol.name;
  entity.span = symbol.span;
  entity.module = symbol.module;
  entity.doc = symbol.doc;
  entity.decl = symbol.decl;
  entity.fn = symbol.fn;
  entity.whole = symbol.decl != nullptr ? symbol.decl->span : symbol.span;
  if (symbol.fn != nullptr) {
    entity.params = &symbol.fn->params;
  } else if (symbol.decl != nullptr) {
    has_params<ast::Block>(*symbol.decl, entity) || has_params<ast::Model>(*symbol.decl, entity) ||
        has_params<ast::Metric>(*symbol.decl, entity) || has_params<ast::Data>(*symbol.decl, entity) ||
        has_params<ast::Callback>(*symbol.decl, entity);
  }
  if (symbol.decl != nullptr) {
    if (const auto* block = symbol.decl->get<ast::Extern>()) {
      for (const ast::ExternFn& fn : block->fns) {
        if (&fn.signature == symbol.fn) entity.whole = fn.span;
      }
    }
  }
  return add(std::move(entity));
}

std::vector<EntityId> Index::members_of(const ast::Decl& decl, uint32_t module) {
  if (const auto known = members_.find(&decl); known != members_.end()) return known->second;
  std::vector<EntityId> members;
  if (const auto* items = items_of(decl)) {
    for (const ast::Item& item : *items) {
      Entity entity = entity_of(item);
      if (entity.name.empty()) continue;
      entity.module = module;
      entity.container = name_of(decl);
      members.push_back(add(std::move(entity)));
    }
  }
  return members_[&decl] = members;
}

std::vector<EntityId> Index::members_of(const check::Type& type) const {
  const resolve::Symbol* symbol = symbol_of(type, *compilation_);
  if (symbol == nullptr || symbol->decl == nullptr) return {};
  const auto known = members_.find(symbol->decl);
  return known != members_.end() ? known->second : std::vector<EntityId>{};
}

// Before all else: what a schedule or an experiment watches may be logged further on.
void Index::add_series(const check::Program& program) {
  for (const check::LogEntry& entry : program.logs) {
    const auto& modules = compilation_->graph->modules;
    const auto home = std::ranges::find(modules, entry.span.source, [](const auto& one) { return one.ast.source; });
    Entity series{.kind = EntityKind::Series, .name = entry.name, .span = entry.span};
    // What a step would log that could not be read has no place.
    series.module = home != modules.end() ? uint32_t(home - modules.begin()) : 0;
    series.container = entry.owner;
    add(std::move(series));
  }
}

Index::Index(const driver::Compilation& compilation) : compilation_(&compilation) {
  if (!compilation.graph) return;
  if (compilation.program) add_series(*compilation.program);
  TypedPlaces places;
  if (compilation.program) places = typed_places(*compilation.program);
  typed_ = std::move(places.exprs);
  for (uint32_t i = 0; i < compilation.graph->modules.size(); ++i) {
    const resolve::Module& module = compilation.graph->modules[i];
    for (const auto* names : {&module.symbols, &module.topologies, &module.experiments}) {
      for (const auto& [name, symbol] : *names) {
        if (symbol.decl == nullptr) continue;
        of_symbol(symbol);
        members_of(*symbol.decl, i);
      }
    }
  }
  for (uint32_t i = 0; i < compilation.graph->modules.size(); ++i) {
    // The library is walked as well: its uses of its own names answer `references`.
    NameWalk(*this, compilation, places.statements, i).run();
  }
  std::stable_sort(uses_.begin(), uses_.end(),
                   [](const Use& left, const Use& right) { return left.span < right.span; });
}

const Use* Index::use_at(source::SourceId source, uint32_t offset) const {
  auto at = std::upper_bound(uses_.begin(), uses_.end(), Span{source, offset, UINT32_MAX},
                             [](const Span& span, const Use& use) { return span < use.span; });
  if (at == uses_.begin()) return nullptr;
  --at;
  const bool holds = at->span.source == source && at->span.begin <= offset && offset <= at->span.end;
  return holds ? &*at : nullptr;
}

const TypedPlace* Index::typed_at(source::SourceId source, uint32_t offset) const {
  const TypedPlace* best = nullptr;
  for (auto at = typed_.lower_bound(Span{source, 0, 0});
       at != typed_.end() && at->first.source == source && at->first.begin <= offset; ++at) {
    if (offset > at->first.end) continue;
    if (best == nullptr || at->first.end - at->first.begin <= best->span.end - best->span.begin) best = &at->second;
  }
  return best;
}

const TypedPlace* Index::typed(Span span) const {
  const auto found = typed_.find(span);
  return found != typed_.end() ? &found->second : nullptr;
}

const TypedPlace* Index::typed_before(source::SourceId source, uint32_t end) const {
  for (auto at = typed_.lower_bound(Span{source, 0, 0});
       at != typed_.end() && at->first.source == source && at->first.begin < end; ++at) {
    if (at->first.end == end) return &at->second;
  }
  return nullptr;
}

std::optional<EntityId> Index::find(Span name) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return std::nullopt;
  return found->second;
}

std::optional<EntityId> Index::find_symbol(const std::string& name) const {
  if (!compilation_->graph) return std::nullopt;
  const resolve::ModuleGraph& graph = *compilation_->graph;
  const resolve::Symbol* symbol = graph.find(0, name);
  for (const auto* library : {&graph.stages, &graph.schedules, &graph.setting_values}) {
    if (symbol != nullptr) break;
    if (const auto found = library->find(name); found != library->end()) symbol = &found->second;
  }
  return symbol != nullptr ? find(symbol->span) : std::nullopt;
}

}  // namespace ltr::language_server
