#include "dsl/check/context.h"
#include "dsl/check/settings.h"
#include "dsl/diagnostics/suggest.h"

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
    // What is amended comes first and is replaced field by field.
    for (auto at = chain_.rbegin(); at != chain_.rend(); ++at) put(settings_, (*at)->settings);
    for (const ast::Setting& setting : settings_) {
      if (auto value = check_setting(setting, topology_settings(), "a topology", scope_))
        typed_.settings.push_back(std::move(*value));
    }
    check_mesh();
    check_scheduler();
    check_precision();
    for (const ast::Topology* at : chain_) {
      for (const ast::Shard& shard : at->shards) check_shard(shard);
      for (const ast::Recompute& recompute : at->recomputes) {
        note("recompute", recompute.span);
        check_block(recompute.at);
      }
      const ast::Setting* precision = nullptr;
      for (const ast::Setting& one : at->settings) {
        if (one.name.text == "precision") precision = &one;
      }
      // What amends has the last word.
      is_precision_decided_ = is_precision_decided_ || precision != nullptr;
      for (const ast::Section& section : at->sections) {
        check_section(section);
        if (precision != nullptr && section.name.text == "precision")
          cx_.report(diag::setting_twice(section.name.span, "precision")
                         .label(precision->name.span, "first here"));
      }
      is_precision_decided_ = is_precision_decided_ || !at->sections.empty();
    }
    cx_.program.topologies.push_back(std::move(typed_));
  }

 private:
  void find_amended() {
    const resolve::Module& module = cx_.graph.modules[module_index_];
    for (const ast::Topology* at = &topology_; at != nullptr;) {
      if (std::find(chain_.begin(), chain_.end(), at) != chain_.end()) {
        cx_.report(diag::amends_cycle(topology_.name.span, topology_.name.text));
        return;
      }
      chain_.push_back(at);
      if (!at->amends) return;
      const auto base = module.topologies.find(at->amends->text);
      if (base == module.topologies.end()) {
        std::vector<std::string> names;
        for (const auto& [name, symbol] : module.topologies) names.push_back(name);
        suggest(diag::unknown_topology(at->amends->span, "topology", at->amends->text), *at->amends,
                names);
        return;
      }
      if (base->second.kind == SymbolKind::Error) return;
      at = base->second.decl->get<ast::Topology>();
    }
  }

  void suggest(diagnostics::Diagnostic diagnostic,
               const ast::Name& name,
               const std::vector<std::string>& known) {
    if (const auto near = diagnostics::suggest(name.text, known))
      diagnostic.help("did you mean `{}`?", *near).fix(name.span, *near);
    cx_.report(std::move(diagnostic));
  }

  const ast::Setting* setting(const std::string& name) const {
    for (const ast::Setting& one : settings_) {
      if (one.name.text == name) return &one;
    }
    return nullptr;
  }

  /// What the runtime reads as text, because it is not a plain setting.
  void note(const std::string& path, Span span) {
    for (const SettingValue& other : typed_.settings) {
      if (other.path == path) return;
    }
    typed_.settings.push_back(
        {path, "str",
         make_expr(ExprKind::StrConst, Type::of(Kind::Str), span, {}, cx_.source_text(span)),
         span});
  }

  /// `cuda[8]` on each of the nodes, if both are known.
  std::optional<int64_t> device_count() {
    const ast::Setting* devices = setting("devices");
    if (devices == nullptr) return std::nullopt;
    const std::string text = cx_.source_text(devices->value.span);
    const size_t open = text.find('[');
    if (open == std::string::npos) return std::nullopt;
    int64_t count = std::atoll(text.c_str() + open + 1);
    for (const SettingValue& one : typed_.settings) {
      if (one.path != "nodes") continue;
      const auto nodes = evaluate(one.value, cx_.program);
      if (!nodes) return std::nullopt;
      count *= nodes->whole;
    }
    return count;
  }

  void check_mesh() {
    const ast::Setting* mesh = setting("mesh");
    if (mesh == nullptr) return;
    has_mesh_ = true;
    const auto* record = mesh->value.get<ast::Record>();
    if (record == nullptr) {
      is_mesh_known_ = false;
      if (!mesh->value.is_error())
        cx_.report(
            diag::wrong_type(mesh->value.span, "a mesh names its axes: `mesh = (fsdp = 8)`"));
      return;
    }
    static const std::vector<std::string> kAxes = {"replica", "fsdp"};
    int64_t places = 1;
    bool is_known = true;
    for (const ast::RecordField& field : record->fields) {
      if (std::find(kAxes.begin(), kAxes.end(), field.name.text) == kAxes.end()) {
        diagnostics::Diagnostic diagnostic =
            diag::unknown_mesh_axis(field.name.span, field.name.text);
        diagnostic.note("a mesh has the axes `replica` and `fsdp`");
        suggest(std::move(diagnostic), field.name, kAxes);
        is_known = false;
      }
      const Expr size = check_as(*field.value, Type::of(Kind::Int), scope_, "the size of an axis");
      const auto value = size.type.is_error() ? std::nullopt : evaluate(size, cx_.program);
      is_known = is_known && value;
      if (value && value->whole < 1) {
        cx_.report(diag::out_of_range(size.span, "an axis has a size of at least 1"));
        is_known = false;
      }
      if (value) places *= value->whole;
      axes_.push_back({field.name, value ? std::optional(value->whole) : std::nullopt});
    }
    const auto devices = device_count();
    if (!is_known || !devices || *devices == places) return;
    diagnostics::Diagnostic diagnostic =
        diag::mesh_differs(mesh->value.span, std::to_string(places), std::to_string(*devices));
    diagnostic.label(setting("devices")->value.span, "the devices of one node");
    if (const ast::Setting* nodes = setting("nodes"))
      diagnostic.label(nodes->value.span, "the nodes");
    cx_.report(std::move(diagnostic));
  }

  void check_shard(const ast::Shard& shard) {
    note("shard", shard.span);
    static const std::vector<std::string> kWhat = {"weights", "batch"};
    if (std::find(kWhat.begin(), kWhat.end(), shard.what.text) == kWhat.end()) {
      diagnostics::Diagnostic diagnostic = diag::not_shardable(shard.what.span, shard.what.text);
      diagnostic.note("sharded are `weights`, at a block, and `batch`");
      suggest(std::move(diagnostic), shard.what, kWhat);
    }
    std::vector<std::string> known;
    std::string list;
    for (const Axis& axis : axes_) {
      known.push_back(axis.name.text);
      list += (list.empty() ? "`" : ", `") + axis.name.text + "`";
    }
    for (const ast::Name& axis : shard.axes) {
      if (!is_mesh_known_ || std::find(known.begin(), known.end(), axis.text) != known.end())
        continue;
      diagnostics::Diagnostic diagnostic = diag::unknown_mesh_axis(axis.span, axis.text);
      if (has_mesh_) {
        diagnostic.label(setting("mesh")->value.span, "it has {}", list);
      } else {
        diagnostic.help("say which axes the devices form: `mesh = ({} = 8)`", axis.text);
      }
      suggest(std::move(diagnostic), axis, known);
    }
    if (shard.at) check_block(*shard.at);
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

  void check_section(const ast::Section& section) {
    if (section.name.text != "precision") {
      cx_.report(diag::unknown_setting(section.name.span, "a topology", section.name.text));
      return;
    }
    check_twice(cx_, section.settings);
    std::map<std::string, const ast::Setting*> written;
    std::map<std::string, std::string> parts;
    bool has_error = false;
    for (const ast::Setting& part : section.settings) {
      const auto value = check_setting(part, precision_parts(), "`precision`", scope_);
      has_error = has_error || !value;
      if (!value) continue;
      written[part.name.text] = &part;
      parts[part.name.text] = value->value.name;
      if (part.name.text == "compute") check_available(part.value, value->value.name);
    }
    if (!has_error) put_precision(section, written, std::move(parts));
  }

  /// Parts that make one of the precisions there are are that precision; others are refused.
  void put_precision(const ast::Section& section,
                     const std::map<std::string, const ast::Setting*>& written,
                     std::map<std::string, std::string> parts) {
    struct Row {
      const char* name;
      const char* compute;
      const char* weights;  ///< the state of optimizers has their type
    };
    static constexpr Row kRows[] = {{"f64", "f64", "f64"},   {"f32", "f32", "f32"},
                                    {"tf32", "tf32", "f32"}, {"bf16", "bf16", "f32"},
                                    {"f16", "f16", "f32"},   {"bf16_pure", "bf16", "bf16"}};
    const std::string compute = parts.try_emplace("compute", "f32").first->second;
    const std::string weights =
        parts.try_emplace("weights", compute == "f64" ? "f64" : "f32").first->second;
    const std::string state = parts.try_emplace("state", weights).first->second;
    const std::string reduce = parts.try_emplace("reduce", weights).first->second;
    const auto refuse = [&](const char* part, const std::string& what) {
      const auto at = written.find(part);
      cx_.report(diag::not_in_this_version(
                     at == written.end() ? section.span : at->second->value.span, what)
                     .help("`precision = bf16` computes in bf16 and keeps weights in f32, "
                           "`bf16_pure` has all in bf16"));
    };
    const Row* row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& one) {
      return compute == one.compute && weights == one.weights;
    });
    if (row == std::end(kRows))
      return refuse("weights", "`weights = " + weights + "` with `compute = " + compute + "`");
    if (state != weights)
      return refuse("state", "`state = " + state + "` with `weights = " + weights + "`");
    if (reduce != weights)
      return refuse("reduce", "`reduce = " + reduce + "` with `weights = " + weights + "`");
    if (is_precision_decided_) return;
    std::erase_if(typed_.settings, [](const SettingValue& one) { return one.path == "precision"; });
    const auto info = std::find_if(topology_settings().begin(), topology_settings().end(),
                                   [](const SettingInfo& one) { return one.name == std::string("precision"); });
    typed_.settings.push_back({"precision", info->type,
                               make_expr(ExprKind::Symbol, Type::of(Kind::OneOf), section.span, {},
                                         row->name),
                               section.span});
  }

  void check_precision() {
    const ast::Setting* precision = setting("precision");
    if (precision == nullptr) return;
    for (const SettingValue& one : typed_.settings) {
      if (one.path == "precision") check_available(precision->value, one.value.name);
    }
  }

  /// f16 needs loss scaling, and tf32 its own units: neither is there on a CPU.
  void check_available(const ast::Expr& written, const std::string& precision) {
    const ast::Setting* devices = setting("devices");
    if (devices == nullptr || (precision != "f16" && precision != "tf32")) return;
    const std::string text = cx_.source_text(devices->value.span);
    if (!text.starts_with("cpu")) return;
    // The setting that stands later is the one to change.
    const bool is_later = devices->value.span.source == written.span.source &&
                          devices->value.span.begin > written.span.begin;
    diagnostics::Diagnostic diagnostic = diag::precision_unavailable(
        is_later ? devices->value.span : written.span, precision, "a CPU");
    diagnostic.label(is_later ? written.span : devices->value.span, "with this")
        .help("`precision = {}` is there on a CPU", precision == "f16" ? "bf16" : "f32");
    cx_.report(std::move(diagnostic));
  }

  void check_scheduler() {
    const ast::Setting* scheduler = setting("scheduler");
    if (scheduler == nullptr || scheduler->value.is_error()) return;
    static const std::vector<std::string> kSchedulers = {"slurm", "k8s", "azureml", "databricks",
                                                         "sagemaker"};
    const auto* call = scheduler->value.get<ast::Call>();
    const auto* name = call != nullptr ? call->callee->get<ast::NameRef>() : nullptr;
    if (name == nullptr) {
      cx_.report(
          diag::wrong_type(scheduler->value.span,
                           "a scheduler is wanted here, such as `slurm(partition = \"gpu\")`"));
      return;
    }
    if (std::find(kSchedulers.begin(), kSchedulers.end(), name->name.text) != kSchedulers.end())
      return;
    diagnostics::Diagnostic diagnostic = diag::unknown_scheduler(name->name.span, name->name.text);
    diagnostic.note("there are slurm, k8s, azureml, databricks and sagemaker");
    suggest(std::move(diagnostic), name->name, kSchedulers);
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
  bool has_mesh_ = false;
  bool is_mesh_known_ = true;
  bool is_precision_decided_ = false;
};

}  // namespace

void check_topologies(Context& cx, uint32_t module_index) {
  for (const ast::Decl& decl : cx.graph.modules[module_index].ast.decls) {
    if (const auto* topology = decl.get<ast::Topology>())
      TopologyChecker(cx, module_index, *topology).run();
  }
}

}  // namespace ltr::check
