#include <algorithm>

#include "dsl/check/declarations/declarations.h"
#include "dsl/check/declarations/devices.h"
#include "dsl/check/experiment/settings.h"
#include "dsl/diagnostics/suggest.h"
#include "runtime/tables/precisions.h"
#include "runtime/tables/ranges.h"

namespace ltr::check {

namespace {

struct Axis {
  ast::Name name;
  std::optional<int64_t> size;
};

const std::vector<SettingInfo>& precision_parts() {
  static const std::vector<SettingInfo> kParts = {{"compute", "one_of[f64, f32, tf32, bf16, f16]"},
                                                  {"weights", "one_of[f64, f32, bf16]"},
                                                  {"state", "one_of[f64, f32, bf16]"},
                                                  {"reduce", "one_of[f64, f32, bf16, f16]"}};
  return kParts;
}

Type list_of_str() {
  Type type = Type::of(Kind::List);
  type.fields.push_back({"", Type::of(Kind::Str)});
  return type;
}

/// Checks one topology with all that it amends.
class TopologyChecker {
 public:
  TopologyChecker(Context& cx, uint32_t module_index, const ast::Topology& topology)
      : cx_(cx),
        module_index_(module_index),
        topology_(topology),
        scope_{.cx = cx, .module = module_index, .place = Place::Experiment, .locals = locals_} {}

  void run() {
    typed_.name = topology_.name.text;
    typed_.span = topology_.name.span;
    check_twice(cx_, topology_.settings);
    find_amended();
    if (chain_.size() > kDeepest) return;
    // What a circle of them would have been is not known, nor what it amends if there is none.
    if (is_lost_) return cx_.program.topologies.push_back(std::move(typed_));
    // What is amended comes first and is replaced field by field.
    for (auto at = chain_.rbegin(); at != chain_.rend(); ++at) put(settings_, (*at)->settings);
    for (const ast::Setting& setting : settings_) {
      if (setting.name.text == "mesh") continue;
      Scope scope = scope_.in_file_of(setting.span);
      if (setting.name.text == "scheduler") {
        for (SettingValue& one : check_scheduler(setting, scope)) typed_.settings.push_back(std::move(one));
        continue;
      }
      if (auto value = check_setting(setting, settings_of("topology"), "a topology", scope))
        typed_.settings.push_back(std::move(*value));
      else
        has_lost_setting_ = true;
    }
    check_mesh();
    check_shards();
    check_strategy();
    check_processes(typed_, cx_);
    check_recompute();
    check_precision();
    for (const ast::Topology* at : chain_) {
      const ast::Setting* precision = nullptr;
      for (const ast::Setting& one : at->settings) {
        if (one.name.text == "precision") precision = &one;
      }
      // What amends has the last word.
      is_precision_decided_ = is_precision_decided_ || precision != nullptr;
      for (const ast::Section& section : at->sections) {
        check_section(section);
        if (precision != nullptr && section.name.text == "precision")
          cx_.report(diag::setting_twice(section.name.span, "precision").label(precision->name.span, "first here"));
      }
      is_precision_decided_ = is_precision_decided_ || !at->sections.empty();
    }
    cx_.program.topologies.push_back(std::move(typed_));
  }

 private:
  void find_amended() {
    uint32_t module = module_index_;
    for (const ast::Topology* at = &topology_; at != nullptr;) {
      if (std::find(chain_.begin(), chain_.end(), at) != chain_.end()) {
        cx_.report(diag::amends_cycle(topology_.name.span, topology_.name.text));
        is_lost_ = true;
        return;
      }
      chain_.push_back(at);
      if (chain_.size() > kDeepest) {
        cx_.report_too_deep(topology_.amends->span, "of topologies that amend each other");
        return;
      }
      if (!at->amends) return;
      const Symbol* base = cx_.graph.find(module, at->amends->text, resolve::Space::Topologies);
      if (base == nullptr) {
        is_lost_ = true;
        std::vector<std::string> known = cx_.graph.visible(module, resolve::Space::Topologies);
        std::erase(known, topology_.name.text);
        diagnostics::Diagnostic diagnostic = diag::unknown_topology(at->amends->span, "topology", at->amends->text);
        if (!help_qualifier(diagnostic, at->amends->text, at->amends->span, resolve::Space::Topologies, module, cx_))
          return;
        if (diagnostic.helps.empty() && !did_you_mean(diagnostic, at->amends->text, at->amends->span, known))
          note_there_are(diagnostic, known);
        cx_.report(std::move(diagnostic));
        return;
      }
      if (base->kind == SymbolKind::Error) return;
      at = base->decl->get<ast::Topology>();
      module = base->module;
    }
  }

  void suggest(diagnostics::Diagnostic diagnostic, const ast::Name& name, const std::vector<std::string>& known) {
    if (!did_you_mean(diagnostic, name.text, name.span, known)) note_there_are(diagnostic, known);
    cx_.report(std::move(diagnostic));
  }

  const ast::Setting* setting(const std::string& name) const {
    const auto at = std::ranges::find_if(settings_, [&](const ast::Setting& one) { return one.name.text == name; });
    return at != settings_.end() ? &*at : nullptr;
  }

  const SettingValue* typed(const std::string& path) const {
    const auto at = std::ranges::find(typed_.settings, path, &SettingValue::path);
    return at != typed_.settings.end() ? &*at : nullptr;
  }

  /// `cuda[8]` on each of the nodes, if both are known.
  std::optional<int64_t> device_count() const {
    const SettingValue* devices = typed("devices");
    const int64_t count = devices == nullptr ? 0 : read_devices(text_of(devices->value))->count;
    if (count == 0) return std::nullopt;
    if (setting("nodes") == nullptr) return has_lost_setting_ ? std::nullopt : std::optional(count);
    const SettingValue* nodes = typed("nodes");
    const auto known = nodes != nullptr ? evaluate(nodes->value, cx_.program) : std::nullopt;
    return known ? std::optional(count * known->whole) : std::nullopt;
  }

  void check_mesh() {
    const ast::Setting* mesh = setting("mesh");
    if (mesh == nullptr) return;
    const auto* record = mesh->value.get<ast::Record>();
    if (record == nullptr) {
      is_mesh_known_ = false;
      if (!mesh->value.is_error())
        cx_.report(diag::wrong_type(mesh->value.span, "a mesh names its axes: `mesh = (fsdp = 8)`"));
      return;
    }
    for (const ast::RecordField& field : record->fields) is_mesh_known_ = check_axis(field) && is_mesh_known_;
    if (!is_mesh_known_) return;
    int64_t places = 1;
    for (const Axis& axis : axes_) places *= axis.size.value_or(1);
    const auto devices = device_count();
    const bool is_known =
        std::all_of(axes_.begin(), axes_.end(), [](const Axis& axis) { return axis.size.has_value(); });
    if (!is_known || !devices || *devices == places) return;
    is_mesh_right_ = false;
    diagnostics::Diagnostic diagnostic =
        diag::mesh_differs(mesh->value.span, std::to_string(places), std::to_string(*devices));
    diagnostic.label(setting("devices")->value.span, "the devices of one node");
    if (const ast::Setting* nodes = setting("nodes")) diagnostic.label(nodes->value.span, "the nodes");
    cx_.report(std::move(diagnostic));
  }

  /// False after a report.
  bool check_axis(const ast::RecordField& field) {
    static const std::vector<std::string> kAxes = {"replica", "fsdp"};
    const std::string& name = field.name.text;
    const Axis* same = axis_of(name);
    if (same != nullptr) {
      cx_.report(diag::setting_twice(field.name.span, name).label(same->name.span, "first here"));
      return false;
    }
    axes_.push_back({field.name, std::nullopt});
    if (std::find(kAxes.begin(), kAxes.end(), name) == kAxes.end()) {
      suggest(diag::unknown_mesh_axis(field.name.span, name).note("a mesh has the axes {}", diagnostics::listed(kAxes)),
              field.name, kAxes);
      return false;
    }
    Expr size = check_as(*field.value, Type::of(Kind::Int), scope_, "the size of an axis");
    if (size.type.is_error()) return false;
    const auto value = evaluate(size, cx_.program);
    const auto rule = value ? broken_rule("topology.mesh." + name, value->real) : std::nullopt;
    if (rule) {
      cx_.report(diag::out_of_range(size.span, "an axis cannot have a size of " + cx_.source_text(size.span))
                     .note("`{}`", *rule));
      return false;
    }
    if (value) axes_.back().size = value->whole;
    typed_.settings.push_back({"mesh." + name, "int", std::move(size), field.name.span});
    return true;
  }

  const Axis* axis_of(const std::string& name) const {
    for (const Axis& axis : axes_) {
      if (axis.name.text == name) return &axis;
    }
    return nullptr;
  }

  /// `shard WHAT` of the topology itself, or of the nearest that it amends and that has one.
  void check_shards() {
    std::map<std::string, const ast::Shard*> by_what;
    for (const ast::Topology* at : chain_) {
      std::map<std::string, const ast::Shard*> own;
      for (const ast::Shard& shard : at->shards) {
        const auto [first, is_new] = own.emplace(shard.what.text, &shard);
        if (!is_new)
          cx_.report(diag::setting_twice(shard.what.span, "shard " + shard.what.text)
                         .label(first->second->what.span, "first here"));
      }
      by_what.merge(own);
    }
    for (const auto& [what, shard] : by_what) check_shard(*shard);
    if (by_what.contains("weights")) weights_ = by_what.at("weights");
  }

  /// A strategy, the axes of its mesh and what is sharded go together. What is wrong with one by itself has been said.
  void check_strategy() {
    const SettingValue* given = typed("strategy");
    const Axis* replica = axis_of("replica");
    const Axis* fsdp = axis_of("fsdp");
    if (!is_mesh_known_ || has_unknown_shard_) return;
    if (given == nullptr) {
      if (fsdp != nullptr && weights_ == nullptr && setting("strategy") == nullptr)
        cx_.report(diag::strategy_contradicts(fsdp->name.span, "nothing says what is divided along `fsdp`")
                       .help("`shard weights over fsdp at BLOCK`, or `strategy = zero1` or `zero2`"));
      return;
    }
    const std::string strategy = text_of(given->value);
    const Span span = given->value.span;
    const std::string name = "`strategy = " + strategy + "` ";
    const bool divides_weights = strategy == "fsdp" || strategy == "hsdp";
    const bool divides = divides_weights || strategy.starts_with("zero");
    if (strategy == "hsdp" && (replica == nullptr || fsdp == nullptr))
      cx_.report(
          diag::strategy_contradicts(span, name + "needs a mesh of two axes").help("`mesh = (replica = 2, fsdp = 4)`"));
    if (divides_weights && weights_ == nullptr)
      cx_.report(diag::strategy_contradicts(span, name + "does not say at which block weights are divided")
                     .help("`shard weights over fsdp at BLOCK`"));
    if (!divides_weights && weights_ != nullptr)
      cx_.report(diag::strategy_contradicts(span, name + "keeps weights whole")
                     .label(weights_->span, "divided here")
                     .help("`strategy = fsdp`, or no `shard weights`"));
    else if (!divides && fsdp != nullptr && fsdp->size != 1)
      cx_.report(diag::strategy_contradicts(span, name + "divides nothing along `fsdp`")
                     .label(fsdp->name.span, "an axis of the mesh"));
    if (strategy != "ddp" && strategy != "hsdp" && replica != nullptr && replica->size != 1)
      cx_.report(diag::strategy_contradicts(span, name + "has no copies along `replica`")
                     .label(replica->name.span, "an axis of the mesh"));
  }

  void check_shard(const ast::Shard& shard) {
    static const std::vector<std::string> kWhat = {"weights", "batch"};
    const bool has_known_axes = check_axes(shard);
    if (shard.at) check_block(*shard.at);
    if (shard.what.text == "weights") {
      if (has_known_axes) check_weights(shard);
    } else if (shard.what.text == "batch") {
      if (has_known_axes) check_batch(shard);
    } else {
      has_unknown_shard_ = true;
      suggest(
          diag::not_shardable(shard.what.span, shard.what.text).note("sharded are `weights`, at a block, and `batch`"),
          shard.what, kWhat);
    }
  }

  /// Whether the mesh has all of them.
  bool check_axes(const ast::Shard& shard) {
    std::vector<std::string> known;
    std::string list;
    for (const Axis& axis : axes_) {
      known.push_back(axis.name.text);
      list += (list.empty() ? "`" : ", `") + axis.name.text + "`";
    }
    bool has_all = is_mesh_known_;
    for (const ast::Name& axis : shard.axes) {
      if (!is_mesh_known_ || axis_of(axis.text) != nullptr) continue;
      has_all = false;
      diagnostics::Diagnostic diagnostic = diag::unknown_mesh_axis(axis.span, axis.text);
      if (setting("mesh") != nullptr) {
        diagnostic.label(setting("mesh")->value.span, "it has {}", list);
      } else {
        diagnostic.help("say which axes the devices form: `mesh = ({} = 8)`", axis.text);
      }
      suggest(std::move(diagnostic), axis, known);
    }
    return has_all;
  }

  /// Along `replica` devices hold the same weights, so only `fsdp` can be meant, and a block that is gathered at once.
  void check_weights(const ast::Shard& shard) {
    for (const ast::Name& axis : shard.axes) {
      if (axis.text == "fsdp") continue;
      cx_.report(diag::wrong_shard_axis(axis.span, shard.what.text, axis.text)
                     .note("along `{}` each device holds the same weights; along `fsdp` they are divided", axis.text));
      return;
    }
    if (!shard.at) {
      cx_.report(diag::shard_without_block(shard.span)
                     .help("`shard weights over fsdp at BLOCK`: the weights of one such block are gathered at a time"));
      return;
    }
    put_typed({"shard.weights", "str", str_const(shard.at->text, shard.at->span), shard.span});
  }

  /// Every device has records of its own, so a batch is spread over all axes.
  void check_batch(const ast::Shard& shard) {
    if (!is_mesh_right_) return;
    for (const Axis& axis : axes_) {
      const bool is_named = std::any_of(shard.axes.begin(), shard.axes.end(),
                                        [&](const ast::Name& one) { return one.text == axis.name.text; });
      if (is_named || axis.size == 1) continue;
      cx_.report(diag::batch_axis_missing(shard.span, axis.name.text)
                     .label(axis.name.span, "an axis of the mesh")
                     .help("every device has records of its own: name all axes, or leave `shard batch` out"));
    }
  }

  /// The blocks of the topology itself, or of the nearest that it amends and that has some.
  void check_recompute() {
    const auto own =
        std::find_if(chain_.begin(), chain_.end(), [](const ast::Topology* at) { return !at->recomputes.empty(); });
    if (own == chain_.end()) return;
    node::List blocks;
    std::map<std::string, const ast::Name*> seen;
    for (const ast::Recompute& recompute : (*own)->recomputes) {
      check_block(recompute.at);
      const auto [first, is_new] = seen.emplace(recompute.at.text, &recompute.at);
      if (!is_new)
        cx_.report(diag::setting_twice(recompute.at.span, "recompute at " + recompute.at.text)
                       .label(first->second->span, "first here"));
      if (is_new) blocks.elements.push_back(cx_.keep(str_const(recompute.at.text, recompute.at.span)));
    }
    const Span span = (*own)->recomputes.front().span;
    put_typed({"recompute", "list[str]", Expr{list_of_str(), span, std::move(blocks)}, span});
  }

  void put_typed(SettingValue value) {
    std::erase_if(typed_.settings, [&](const SettingValue& one) { return one.path == value.path; });
    typed_.settings.push_back(std::move(value));
  }

  void check_block(const ast::Name& name) {
    const Symbol* block = cx_.graph.find(module_index_, name.text);
    if (block != nullptr && block->kind == SymbolKind::Block) return;
    std::vector<std::string> known;
    for (const auto& [candidate, symbol] : cx_.graph.modules[module_index_].symbols) {
      if (symbol.kind == SymbolKind::Block) known.push_back(candidate);
    }
    suggest(diag::unknown_block(name.span, name.text), name, known);
  }

  void report_section(const ast::Name& name) {
    std::vector<std::string> known;
    for (const SettingInfo& one : settings_of("topology")) known.emplace_back(one.name);
    if (std::find(known.begin(), known.end(), name.text) != known.end()) {
      cx_.report(diag::wrong_argument(name.span, "`" + name.text + "` is one value: `" + name.text + " = …`"));
      return;
    }
    diagnostics::Diagnostic diagnostic = diag::unknown_setting(name.span, "a topology", name.text);
    note_known(diagnostic, known);
    did_you_mean(diagnostic, name.text, name.span, known);
    cx_.report(std::move(diagnostic));
  }

  void check_section(const ast::Section& section) {
    if (section.name.text != "precision") return report_section(section.name);
    check_twice(cx_, section.settings);
    std::map<std::string, const ast::Setting*> written;
    std::map<std::string, std::string> parts;
    bool has_error = false;
    for (const ast::Setting& part : section.settings) {
      const auto value = check_setting(part, precision_parts(), "`precision`", scope_);
      has_error = has_error || !value;
      if (!value) continue;
      written[part.name.text] = &part;
      parts[part.name.text] = text_of(value->value);
      if (part.name.text == "compute") check_available(part.value, text_of(value->value));
    }
    if (!has_error) put_precision(section, written, std::move(parts));
  }

  /// Parts that make one of the precisions there are are that precision; others are refused.
  void put_precision(const ast::Section& section, const std::map<std::string, const ast::Setting*>& written,
                     std::map<std::string, std::string> parts) {
    const std::string compute = parts.try_emplace("compute", "f32").first->second;
    const std::string weights = parts.try_emplace("weights", compute == "f64" ? "f64" : "f32").first->second;
    const std::string state = parts.try_emplace("state", weights).first->second;
    const std::string reduce = parts.try_emplace("reduce", weights).first->second;
    const auto refuse = [&](const char* part, const std::string& what, const char* why) {
      const auto at = written.find(part);
      cx_.report(diag::not_in_this_version(at == written.end() ? section.span : at->second->value.span, what)
                     .note("{}", why)
                     .help("`precision = bf16` computes in bf16 and keeps weights in f32, "
                           "`bf16_pure` has all in bf16"));
    };
    const PrecisionRow* row =
        std::find_if(std::begin(kPrecisionRows), std::end(kPrecisionRows),
                     [&](const PrecisionRow& one) { return compute == one.compute && weights == one.weights; });
    if (row == std::end(kPrecisionRows))
      return refuse("weights", "`weights = " + weights + "` with `compute = " + compute + "`",
                    "weights have the type of the products, or are f32 where products are narrower");
    if (state != weights)
      return refuse("state", "`state = " + state + "` with `weights = " + weights + "`",
                    "an optimizer's state has the type of its weights");
    // The wire may be narrower than the weights, not wider.
    const bool is_narrower = (reduce == "bf16" || reduce == "f16") && (weights == "f32" || weights == "f64");
    if (reduce != weights && !is_narrower)
      return refuse(
          "reduce", "`reduce = " + reduce + "` with `weights = " + weights + "`",
          "gradients have the type of the weights, and cross the wire in it, or as bf16 or f16 from a wider one");
    if (is_precision_decided_) return;
    const auto info = std::find_if(settings_of("topology").begin(), settings_of("topology").end(),
                                   [](const SettingInfo& one) { return one.name == std::string("precision"); });
    put_typed({"precision", std::string(info->type), symbol_const(row->name, Type::of(Kind::OneOf), section.span),
               section.span});
    if (is_narrower)
      put_typed({"precision.reduce", "one_of[bf16, f16]",
                 symbol_const(reduce, Type::of(Kind::OneOf), written.at("reduce")->value.span), section.span});
  }

  void check_precision() {
    const ast::Setting* precision = setting("precision");
    if (precision == nullptr) return;
    for (const SettingValue& one : typed_.settings) {
      if (one.path == "precision") check_available(precision->value, text_of(one.value));
    }
  }

  void check_available(const ast::Expr& written, const std::string& precision) {
    const ast::Setting* devices = setting("devices");
    if (devices == nullptr || !needs_gpu(precision)) return;
    const SettingValue* kind = typed("devices");
    if (kind == nullptr || !text_of(kind->value).starts_with("cpu")) return;
    // The setting that stands later is the one to change.
    const bool is_later =
        devices->value.span.source == written.span.source && devices->value.span.begin > written.span.begin;
    diagnostics::Diagnostic diagnostic =
        diag::precision_unavailable(is_later ? devices->value.span : written.span, precision, "a CPU");
    diagnostic.label(is_later ? written.span : devices->value.span, "with this")
        .help("`precision = {}` is there on a CPU", find_precision(precision)->on_cpu);
    cx_.report(std::move(diagnostic));
  }

  Context& cx_;
  uint32_t module_index_;
  const ast::Topology& topology_;
  std::vector<Local> locals_;
  Scope scope_;
  Topology typed_;
  std::vector<const ast::Topology*> chain_;
  std::vector<ast::Setting> settings_;
  std::vector<Axis> axes_;
  const ast::Shard* weights_ = nullptr;  ///< the `shard weights` that counts
  bool is_lost_ = false;                 ///< it amends itself, or what is not there
  bool has_lost_setting_ = false;        ///< one could not be read
  bool is_mesh_known_ = true;            ///< nothing was reported of its axes
  bool is_mesh_right_ = true;            ///< it has as many places as there are devices
  bool has_unknown_shard_ = false;       ///< it may be meant to be one that there is
  bool is_precision_decided_ = false;
};

}  // namespace

void check_topologies(Context& cx) {
  for (const ast::Decl& decl : cx.graph.modules[0].ast.decls) {
    if (cx.sink->is_full()) return;
    if (const auto* topology = decl.get<ast::Topology>()) TopologyChecker(cx, 0, *topology).run();
    const auto* import = decl.get<ast::Import>();
    for (const ast::Name& name : import != nullptr ? import->names : std::vector<ast::Name>()) {
      const Symbol* symbol = cx.graph.find(0, name.text, resolve::Space::Topologies);
      if (symbol != nullptr && symbol->kind == SymbolKind::Topology) take_topology(cx, *symbol, name.span);
    }
  }
}

void take_topology(Context& cx, const Symbol& symbol, Span use) {
  for (const Topology& known : cx.program.topologies) {
    if (known.span == symbol.span) return;
    if (known.name != symbol.name) continue;
    cx.report(diag::duplicate_name(use, symbol.name)
                  .label(known.span, "the program has this one")
                  .label(symbol.span, "and would have this one"));
    return;
  }
  TopologyChecker(cx, symbol.module, *symbol.decl->get<ast::Topology>()).run();
}

}  // namespace ltr::check
