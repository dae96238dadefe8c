#include "ltrc/language_server/name_walk.h"

#include <algorithm>

namespace ltr::language_server {

NameWalk::NameWalk(Index& index, const driver::Compilation& compilation, const Statements& statements, uint32_t module)
    : index_(index),
      compilation_(compilation),
      statements_(statements),
      graph_(*compilation.graph),
      module_(graph_.modules[module]),
      number_(module) {}

void NameWalk::run() { children(module_.ast); }

// ---- what names mean

EntityId NameWalk::declare(EntityKind kind, const ast::Name& name, Span whole, const ast::TypeExpr* written) {
  Entity entity;
  entity.kind = kind;
  entity.name = name.text;
  entity.span = name.span;
  entity.whole = whole;
  entity.module = number_;
  entity.container = container_;
  entity.written = written;
  const EntityId id = index_.add(std::move(entity));
  define(id);
  if (!frames_.empty() && !name.text.empty()) frames_.back()[name.text] = id;
  index_.visible_.push_back({region_, id});
  return id;
}

void NameWalk::use(const ast::Name& name, EntityId entity, bool is_write) {
  if (name.text.empty()) return;
  // Of `b.Row` the last word is the name, the first one that of a file.
  Span span = name.span;
  if (const size_t dot = name.text.rfind('.'); dot != std::string::npos) {
    span.begin = span.end - uint32_t(name.text.size() - dot - 1);
    const std::string file = name.text.substr(0, dot);
    const Span before = {span.source, name.span.begin, name.span.begin + uint32_t(dot)};
    if (const auto alias = find_alias(file)) use({file, before}, *alias);
  }
  index_.uses_.push_back(
      {.span = span, .entity = entity, .is_definition = index_.entity(entity).span == span, .is_write = is_write});
}

void NameWalk::define(EntityId entity) {
  const Entity& defined = index_.entity(entity);
  if (defined.name.empty()) return;
  index_.uses_.push_back({.span = defined.span, .entity = entity, .is_definition = true, .is_write = true});
}

std::optional<EntityId> NameWalk::find_local(const std::string& name) const {
  for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame) {
    if (const auto found = frame->find(name); found != frame->end()) return found->second;
  }
  return std::nullopt;
}

std::optional<EntityId> NameWalk::find_own(const std::string& name) const {
  const auto member = members_.find(name), param = own_params_.find(name);
  if (member != members_.end() && (name != initialised_ || param == own_params_.end())) return member->second;
  if (param != own_params_.end()) return param->second;
  return std::nullopt;
}

std::optional<EntityId> NameWalk::of_symbols(const std::map<std::string, resolve::Symbol>& from,
                                             const std::string& name) const {
  const auto found = from.find(name);
  return found != from.end() ? index_.find(found->second.span) : std::nullopt;
}

std::optional<EntityId> NameWalk::find_alias(const std::string& name) const {
  if (!module_.aliases.contains(name)) return std::nullopt;
  for (const auto& [span, id] : index_.by_name_) {
    const Entity& entity = index_.entity(id);
    if (entity.kind == EntityKind::Module && entity.name == name && entity.module == number_) return id;
  }
  return std::nullopt;
}

std::optional<EntityId> NameWalk::of_space(resolve::Space space, const std::string& name) const {
  const resolve::Symbol* symbol = graph_.find(number_, name, space);
  return symbol != nullptr ? index_.find(symbol->span) : std::nullopt;
}

std::optional<EntityId> NameWalk::find(const std::string& name) const {
  if (const auto local = find_local(name)) return local;
  if (const auto own = find_own(name)) return own;
  if (const resolve::Symbol* symbol = graph_.find(number_, name)) return index_.find(symbol->span);
  if (const auto stage = of_symbols(graph_.stages, name)) return stage;
  if (const auto schedule = of_symbols(graph_.schedules, name)) return schedule;
  return of_symbols(graph_.setting_values, name);
}

std::optional<EntityId> NameWalk::find_series(const std::string& role, const std::string& name) const {
  if (!compilation_.program) return std::nullopt;
  for (const check::LogEntry& entry : compilation_.program->logs) {
    if (entry.role == role && entry.name == name) return index_.find(entry.span);
  }
  return std::nullopt;
}

// ---- declarations

void NameWalk::params(const std::vector<ast::Param>& list) {
  for (const ast::Param& param : list) {
    (*this)(param.type);
    if (param.initial) (*this)(*param.initial);
    declare(EntityKind::Param, param.name, param.span, &param.type);
  }
}

void NameWalk::function(const ast::Fn& fn, Span whole) {
  const Span outer = std::exchange(region_, whole);
  const std::string container = std::exchange(container_, fn.name.text);
  frames_.emplace_back();
  for (const ast::Name& binder : fn.binders) declare(EntityKind::Binder, binder, binder.span);
  params(fn.params);
  if (fn.result) (*this)(*fn.result);
  if (fn.where) (*this)(*fn.where);
  if (fn.value) (*this)(*fn.value);
  body(fn.body, whole);
  frames_.pop_back();
  container_ = container;
  region_ = outer;
}

void NameWalk::imported(const ast::Import& import, Span whole) {
  for (const ast::Name& name : import.names) {
    for (const auto* names : {&module_.imported.symbols, &module_.imported.topologies, &module_.imported.experiments}) {
      if (const auto id = of_symbols(*names, name.text)) use(name, *id);
    }
  }
  if (import.alias && module_.aliases.contains(import.alias->text)) declare(EntityKind::Module, *import.alias, whole);
}

void NameWalk::object(const ast::Decl& decl, const std::vector<ast::Param>& list) {
  frames_.emplace_back();
  params(list);
  own_params_ = frames_.back();
  frames_.clear();
  for (const EntityId id : index_.members_of(decl, number_)) {
    const Entity& entity = index_.entity(id);
    define(id);
    if (entity.kind != EntityKind::Stream) members_[entity.name] = id;
    index_.visible_.push_back({decl.span, id});
  }
}

void NameWalk::topology(const ast::Topology& topology) {
  if (topology.amends) {
    if (const auto id = of_space(resolve::Space::Topologies, topology.amends->text)) use(*topology.amends, *id);
  }
  settings(topology.settings);
  for (const ast::Shard& shard : topology.shards) {
    if (!shard.at) continue;
    if (const auto id = find(shard.at->text)) use(*shard.at, *id);
  }
  for (const ast::Recompute& recompute : topology.recomputes) {
    if (const auto id = find(recompute.at.text)) use(recompute.at, *id);
  }
  for (const ast::Section& inner : topology.sections) section(inner);
}

void NameWalk::experiment(const ast::Experiment& experiment) {
  static const std::vector<check::Experiment> kNone;
  if (experiment.amends) {
    if (const auto id = of_space(resolve::Space::Experiments, experiment.amends->text)) use(*experiment.amends, *id);
  }
  for (const check::Experiment& one : compilation_.program ? compilation_.program->experiments : kNone) {
    if (number_ != 0 || one.name != experiment.name.text) continue;
    data_ = check::Type::of(check::Kind::Data);
    data_.decl = one.data;
  }
  settings(experiment.settings);
  for (const ast::Section& inner : experiment.sections) section(inner);
  settings(experiment.sets, true);
  data_ = check::Type::error();
}

void NameWalk::operator()(const ast::Decl& decl) {
  frames_.clear();
  members_.clear();
  own_params_.clear();
  region_ = decl.span;
  container_ = name_of(decl);
  for (const auto* names : {&module_.symbols, &module_.topologies, &module_.experiments}) {
    const auto found = names->find(container_);
    if (found != names->end() && found->second.decl == &decl) define(*index_.find(found->second.span));
  }
  if (const auto* import = decl.get<ast::Import>()) return imported(*import, decl.span);
  if (const auto* fn = decl.get<ast::Fn>()) return function(*fn, decl.span);
  if (const auto* block = decl.get<ast::Extern>()) {
    for (const ast::ExternFn& fn : block->fns) {
      if (const auto id = of_symbols(module_.symbols, fn.signature.name.text)) define(*id);
      function(fn.signature, fn.span);
      if (fn.backward) {
        if (const auto id = find(fn.backward->text)) use(*fn.backward, *id);
      }
    }
    return;
  }
  if (const auto* block = decl.get<ast::Block>()) object(decl, block->params);
  if (const auto* model = decl.get<ast::Model>()) object(decl, model->params);
  if (const auto* metric = decl.get<ast::Metric>()) object(decl, metric->params);
  if (const auto* callback = decl.get<ast::Callback>()) {
    object(decl, callback->params);
    if (callback->model) {
      if (const auto id = find(callback->model->text)) use(*callback->model, *id);
    }
  }
  if (const auto* data = decl.get<ast::Data>()) {
    object(decl, data->params);
    frames_.emplace_back();
    const Span outer = std::exchange(region_, data->batch_span);
    for (const ast::Name& binder : data->batch_binders) declare(EntityKind::Binder, binder, binder.span);
    for (const ast::FieldType& field : data->batch_fields) {
      (*this)(*field.type);
      declare(EntityKind::Field, field.name, join(field.name.span, field.type->span), &*field.type);
    }
    region_ = outer;
    frames_.clear();
  }
  if (const auto* items = items_of(decl)) {
    for (const ast::Item& item : *items) (*this)(item);
    return;
  }
  if (const auto* topology = decl.get<ast::Topology>()) return this->topology(*topology);
  if (const auto* experiment = decl.get<ast::Experiment>()) return this->experiment(*experiment);
  if (const auto* test = decl.get<ast::Test>()) {
    frames_.emplace_back();
    body(test->body, decl.span);
    return;
  }
  children(decl);
}

void NameWalk::operator()(const ast::Item& item) {
  frames_.clear();
  if (const auto* fn = item.get<ast::Fn>()) return function(*fn, item.span);
  if (const auto* step = item.get<ast::Step>()) {
    if (step->copy_of) {
      if (const auto id = find_own(step->copy_of->text)) use(*step->copy_of, *id);
      return;
    }
    return function(step->fn, item.span);
  }
  if (const auto* hook = item.get<ast::Hook>()) {
    plain(hook->name.span, PlainKind::Hook);
    frames_.emplace_back();
    return body(hook->body, item.span);
  }
  if (const auto* optimizer = item.get<ast::Optimizer>()) {
    (*this)(optimizer->value);
    settings(optimizer->settings);
    for (const ast::Group& group : optimizer->groups) settings(group.settings);
    return;
  }
  if (const auto* state = item.get<ast::State>(); state != nullptr && state->merge) {
    if (const auto id = find(state->merge->text)) use(*state->merge, *id);
  }
  for (const auto& [name, id] : members_) {
    if (index_.entity(id).whole == item.span) initialised_ = name;
  }
  children(item);
  initialised_.clear();
}

void NameWalk::settings(const std::vector<ast::Setting>& list, bool are_hparams) {
  for (const ast::Setting& setting : list) {
    const auto id = are_hparams ? of_symbols(module_.symbols, setting.name.text) : std::nullopt;
    if (id) {
      use(setting.name, *id);
    } else {
      plain(setting.name.span, PlainKind::Setting);
    }
    const std::optional<ast::Name> name = ast::name_written(setting.value);
    const auto topology =
        name && setting.name.text == "topology" ? of_space(resolve::Space::Topologies, name->text) : std::nullopt;
    if (topology) {
      use(*name, *topology);
    } else {
      (*this)(setting.value);
    }
  }
}

void NameWalk::section(const ast::Section& inner) {
  settings(inner.settings, inner.name.text == "sweep");
  for (const ast::Expr& value : inner.values) (*this)(value);
}

// ---- statements

void NameWalk::body(const ast::Body& statements, Span region) {
  const Span outer = std::exchange(region_, region);
  for (const ast::Stmt& statement : statements) (*this)(statement);
  region_ = outer;
}

void NameWalk::infer(const ast::Name& name, const ast::Stmt& statement, size_t position) {
  const auto found = statements_.find(statement.span);
  if (found == statements_.end()) return;
  const auto& [fn, typed] = found->second;
  const auto* let = typed->get<check::stmt::Let>();
  const auto* unpack = typed->get<check::stmt::Unpack>();
  const bool is_named = unpack != nullptr && position < unpack->locals.size();
  const check::LocalId local = let != nullptr ? let->local : is_named ? unpack->locals[position] : UINT32_MAX;
  if (local < fn->locals.size() && !fn->locals[local].type.is_error())
    index_.inferred_.push_back({name.span, &fn->locals[local].type});
}

void NameWalk::assigned(const ast::Name& name, const ast::Stmt& statement, const ast::TypeExpr* written) {
  if (name.text.empty()) return;
  if (const auto local = find_local(name.text)) return use(name, *local, true);
  if (const auto member = members_.find(name.text); member != members_.end()) return use(name, member->second, true);
  if (then_names_ != nullptr) {
    // One local, which both branches give its value.
    if (const auto twin = then_names_->find(name.text); twin != then_names_->end()) {
      frames_.back()[name.text] = twin->second;
      return use(name, twin->second, true);
    }
  }
  const Span outer = region_;
  region_.begin = statement.span.end;
  declare(EntityKind::Local, name, statement.span, written);
  region_ = outer;
}

void NameWalk::assign(const ast::Stmt& statement, const ast::Assign& assign) {
  (*this)(assign.value);
  const auto* target = assign.target.get<ast::NameRef>();
  if (target == nullptr) return (*this)(assign.target);
  assigned(target->name, statement);
  infer(target->name, statement, 0);
}

void NameWalk::branch(const ast::If& branch, Span region) {
  (*this)(branch.condition);
  frames_.emplace_back();
  body(branch.then_body, region);
  const Frame then_names = std::move(frames_.back());
  frames_.back() = {};
  const Frame* outer = std::exchange(then_names_, &then_names);
  body(branch.else_body, region);
  then_names_ = outer;
  const Frame else_names = std::move(frames_.back());
  frames_.pop_back();
  for (const auto& [name, id] : then_names) {
    if (frames_.empty() || !else_names.contains(name)) continue;
    frames_.back()[name] = id;
    index_.visible_.push_back({Span{region_.source, region.end, region_.end}, id});
  }
}

void NameWalk::operator()(const ast::Stmt& statement) {
  const auto nested = [&](const ast::Body& inner) {
    const Frame* outer = std::exchange(then_names_, nullptr);
    body(inner, statement.span);
    then_names_ = outer;
  };
  if (const auto* node = statement.get<ast::Assign>()) return assign(statement, *node);
  if (const auto* node = statement.get<ast::If>()) return branch(*node, statement.span);
  if (const auto* node = statement.get<ast::Unpack>()) {
    (*this)(node->value);
    for (size_t i = 0; i < node->names.size(); ++i) {
      assigned(node->names[i], statement);
      infer(node->names[i], statement, i);
    }
    return;
  }
  if (const auto* node = statement.get<ast::Declare>()) {
    (*this)(node->type);
    (*this)(node->value);
    return assigned(node->name, statement, &node->type);
  }
  if (const auto* node = statement.get<ast::ErrorStmt>()) {
    for (const ast::Name& name : node->names) assigned(name, statement);
    return;
  }
  if (const auto* node = statement.get<ast::Log>()) {
    if (node->value) (*this)(*node->value);
    const auto local = node->value ? std::nullopt : find(node->name.text);
    Entity series;
    series.kind = EntityKind::Series;
    series.name = node->name.text;
    series.span = node->name.span;
    series.whole = statement.span;
    series.module = number_;
    series.container = container_;
    const EntityId id = index_.add(std::move(series));
    // What is asked for at a place that means both is the value, which comes behind.
    define(id);
    if (local) {
      index_.uses_.back().is_shorthand = true;
      use(node->name, *local);
      index_.uses_.back().is_shorthand = true;
    }
    if (node->merge) {
      if (const auto fn = find(node->merge->text)) use(*node->merge, *fn);
    }
    return;
  }
  if (const auto* node = statement.get<ast::For>()) {
    (*this)(node->range);
    frames_.emplace_back();
    const Span outer = std::exchange(region_, statement.span);
    declare(EntityKind::Local, node->variable, node->variable.span);
    nested(node->body);
    region_ = outer;
    frames_.pop_back();
    return;
  }
  const ast::Body* inner = nullptr;
  if (const auto* node = statement.get<ast::While>()) {
    (*this)(node->condition);
    inner = &node->body;
  }
  if (const auto* node = statement.get<ast::Every>()) {
    (*this)(node->period);
    inner = &node->body;
  }
  if (inner != nullptr) {
    frames_.emplace_back();
    nested(*inner);
    frames_.pop_back();
    return;
  }
  children(statement);
}

void NameWalk::operator()(const ast::TypeExpr& type) {
  const auto name = [&](const ast::Name& word) {
    const auto id = find(word.text);
    const EntityKind kind = id ? index_.entity(*id).kind : EntityKind::Local;
    const bool is_declared = kind == EntityKind::Block || kind == EntityKind::Model || kind == EntityKind::Metric ||
                             kind == EntityKind::Data || kind == EntityKind::Type;
    if (is_declared) return use(word, *id);
    plain(word.span, PlainKind::Type);
  };
  if (const auto* named = type.get<ast::NamedType>()) name(named->name);
  if (const auto* applied = type.get<ast::AppliedType>()) name(applied->name);
  if (const auto* record = type.get<ast::RecordType>()) {
    for (const ast::FieldType& field : record->fields) {
      Entity entity{.kind = EntityKind::Field,
                    .name = field.name.text,
                    .span = field.name.span,
                    .whole = join(field.name.span, field.type->span),
                    .module = number_,
                    .container = container_,
                    .written = &*field.type};
      define(index_.add(std::move(entity)));
    }
  }
  if (const auto* block = type.get<ast::BlockType>()) {
    frames_.emplace_back();
    const Span outer = std::exchange(region_, type.span);
    for (const ast::Name& binder : block->binders) declare(EntityKind::Binder, binder, binder.span);
    children(type);
    region_ = outer;
    frames_.pop_back();
    return;
  }
  children(type);
}

}  // namespace ltr::language_server
