#include <fmt/core.h>
#include <fmt/ranges.h>

#include <charconv>
#include <utility>

#include "dsl/check/declarations/devices.h"
#include "dsl/check/experiment/settings.h"
#include "dsl/check/expressions/expressions.h"
#include "dsl/check/walk.h"
#include "dsl/diagnostics/suggest.h"
#include "ltrc/plan.h"
#include "runtime/tables/ranges.h"

namespace ltr::driver {

namespace {

using check::Expr;
using check::ExprView;
using elaborate::Layout;
using elaborate::Size;
using elaborate::Strategy;

/// What a plan rests on. Other settings of a topology change neither its memory nor its times.
constexpr const char* kRead[] = {"devices",      "nodes",     "precision",     "precision.reduce", "strategy",
                                 "mesh.replica", "mesh.fsdp", "shard.weights", "recompute",        "bucket"};

/// The type of `topology.PATH`, as the runtime's table has it; null if there is none.
const char* table_type_of(const std::string& path) {
  struct SettingRow {
    std::string_view path;
    const char* type;
  };
  static constexpr SettingRow kRows[] = {
#define LTR_TOPOLOGY(name, type, written, initial, range, doc) {#name, type},
#define LTR_PART(path, type, initial, range, doc) {path, type},
#include "runtime/tables/settings.def"
  };
  const auto* row =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const SettingRow& one) { return one.path == path; });
  return row == std::end(kRows) ? nullptr : row->type;
}

Expr make_word(const std::string& text) { return check::symbol_const(text, check::Type::of(check::Kind::OneOf), {}); }

std::optional<Expr> read_int(const std::string& text) {
  int64_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && stop == text.data() + text.size() ? std::optional(check::int_const(number, {}))
                                                                   : std::nullopt;
}

/// `8 MiB`, the size of a bucket.
std::optional<Expr> read_bucket(const std::string& text) {
  char* stop = nullptr;
  const double number = std::strtod(text.c_str(), &stop);
  const std::string behind = stop;
  const size_t unit = behind.find_first_not_of(' ');
  const auto bytes = stop == text.c_str() || unit == std::string::npos
                         ? std::nullopt
                         : check::make_quantity(number, behind.substr(unit), {});
  const bool is_size = bytes && bytes->type.kind == check::Kind::Bytes;
  if (!is_size || broken_rule("topology.bucket", bytes->get<check::node::Quantity>()->value)) return std::nullopt;
  return bytes;
}

/// `[Layer, "Net"]`, as the runtime reads it.
std::optional<std::vector<std::string>> read_list(const std::string& text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return std::nullopt;
  std::vector<std::string> list;
  std::string word;
  for (const char c : text.substr(1)) {
    if (c != ',' && c != ']') {
      if (c != ' ' && c != '"') word += c;
    } else if (!word.empty()) {
      list.push_back(std::exchange(word, ""));
    }
  }
  return list;
}

void refuse(const std::string& path, const std::string& text, const std::string& wanted) {
  fmt::print(stderr, "error: topology.{} cannot be `{}`\n  = help: {}\n", path, text, wanted);
}

/// `text` as a setting of this type; nothing after a message.
std::optional<Expr> read_text(const std::string& path, const std::string& type, const std::string& text) {
  std::optional<Expr> value;
  std::string wanted = type;
  if (type == "int") {
    wanted = "a whole number";
    value = read_int(text);
  } else if (type == "str") {
    value = check::str_const(text, {});
  } else if (type == "devices") {
    wanted = "auto, cpu, cpu[4], cuda or cuda[8]";
    if (check::read_devices(text)) value = make_word(text);
  } else if (type == "auto_or_bytes") {
    wanted = "auto, or a size such as 8 MiB";
    value = text == "auto" ? make_word(text) : read_bucket(text);
  } else {
    const std::vector<std::string> choices = check::choices_of(type);
    wanted = fmt::format("{}", fmt::join(choices, ", "));
    if (std::find(choices.begin(), choices.end(), text) != choices.end()) value = make_word(text);
  }
  if (!value) refuse(path, text, wanted);
  return value;
}

/// The settings of a topology with what the command line says instead.
class TopologyReader {
 public:
  TopologyReader(const check::Program& program, const check::Experiment& experiment, const elaborate::Options& numbers)
      : program_(program), experiment_(experiment), numbers_(numbers) {}

  std::optional<Machinery> run(const std::string& name, const TopologySets& sets) {
    for (const check::Topology& topology : program_.topologies) {
      if (topology.name != name) continue;
      for (const check::SettingValue& setting : topology.settings) {
        settings_[setting.path] = setting.value;
        if (setting.path == "recompute") recompute_ = words_of(setting.value);
      }
    }
    for (const auto& [path, text] : sets) {
      if (!replace(path, text)) return std::nullopt;
    }
    Machinery machinery = read(name);
    if (!is_right_ || !check_places(machinery) || !check_axes(machinery.layout)) return std::nullopt;
    return machinery;
  }

 private:
  /// False after a message.
  bool replace(const std::string& path, const std::string& text) {
    if (!is_read(path)) return false;
    const std::string option = "option[", type = table_type_of(path);
    const bool is_option = type.starts_with(option);
    settings_.erase(path);
    if (path == "recompute") return replace_recompute(text);
    if (is_option && text == "none") return true;
    const auto value =
        read_text(path, is_option ? type.substr(option.size(), type.size() - option.size() - 1) : type, text);
    if (!value || (path == "shard.weights" && !is_block(path, text))) return false;
    settings_[path] = *value;
    return true;
  }

  /// False after a message.
  bool replace_recompute(const std::string& text) {
    const auto blocks = read_list(text);
    if (!blocks) {
      refuse("recompute", text, "a list, as [] or [\"Layer\"]");
      return false;
    }
    recompute_ = *blocks;
    return std::all_of(blocks->begin(), blocks->end(),
                       [&](const std::string& block) { return is_block("recompute", block); });
  }

  std::vector<std::string> words_of(const ExprView& list) const {
    std::vector<std::string> words;
    check::for_each_child(list, [&](check::ExprId word) { words.push_back(check::text_of(program_.exprs[word])); });
    return words;
  }

  /// False after a message.
  bool is_block(const std::string& path, const std::string& name) const {
    std::vector<std::string> known;
    for (const check::Object& block : program_.blocks) known.push_back(block.name);
    if (std::find(known.begin(), known.end(), name) != known.end()) return true;
    fmt::print(stderr, "error: topology.{} cannot be `{}`: there is no such block\n", path, name);
    if (const auto near = diagnostics::suggest(name, known))
      fmt::print(stderr, "  = help: did you mean `{}`?\n", *near);
    return false;
  }

  /// False after a message.
  static bool is_read(const std::string& path) {
    if (std::find(std::begin(kRead), std::end(kRead), path) != std::end(kRead)) return true;
    if (table_type_of(path) != nullptr) {
      fmt::print(stderr, "error: a plan does not depend on `topology.{}`\n", path);
      return false;
    }
    fmt::print(stderr, "error: there is no setting `topology.{}`\n", path);
    if (const auto near = diagnostics::suggest(path, {std::begin(kRead), std::end(kRead)}))
      fmt::print(stderr, "  = help: did you mean `topology.{}`?\n", *near);
    return false;
  }

  std::string text(const char* path, const std::string& otherwise) const {
    const auto found = settings_.find(path);
    return found == settings_.end() ? otherwise : check::text_of(found->second);
  }

  /// Nothing if it is not said, or after a message.
  Size number(const std::string& path) {
    const auto found = settings_.find(path);
    if (found == settings_.end()) return std::nullopt;
    const elaborate::Value value = elaborate::evaluate_setting(found->second, program_, experiment_, numbers_);
    const bool is_known = value.kind == elaborate::Value::Kind::Int;
    const auto rule = is_known ? broken_rule("topology." + path, double(value.whole)) : std::nullopt;
    if (is_known && !rule) return value.whole;
    is_right_ = false;
    if (rule) {
      fmt::print(stderr, "error: topology.{} is {} with these numbers: {}\n", path, value.whole, *rule);
    } else {
      fmt::print(stderr, "error: topology.{} has no value with these numbers\n", path);
    }
    return std::nullopt;
  }

  Machinery read(const std::string& name) {
    Machinery result;
    result.topology = name;
    const check::Devices devices = *check::read_devices(text("devices", "auto"));
    result.kind = devices.kind;
    result.nodes = number("nodes").value_or(1);
    result.precision = text("precision", result.precision);
    result.reduce = text("precision.reduce", "");
    result.block = text("shard.weights", "");
    const auto bucket = settings_.find("bucket");
    const auto* bytes = bucket != settings_.end() ? bucket->second.get<check::node::Quantity>() : nullptr;
    if (bytes != nullptr) result.bucket_bytes = bytes->value;
    result.recompute = recompute_;
    const Size replica = number("mesh.replica"), fsdp = number("mesh.fsdp");
    result.has_mesh = replica || fsdp;
    // Without a number of devices the mesh has it.
    const int64_t places = replica.value_or(1) * fsdp.value_or(1);
    result.per_node = devices.count > 0 ? devices.count : std::max<int64_t>(places / result.nodes, 1);
    result.layout = layout_of(replica, fsdp, result);
    return result;
  }

  /// What the runtime makes of it: the strategy that it names, or the one that follows from its mesh.
  Layout layout_of(Size replica, Size fsdp, const Machinery& machinery) const {
    Layout layout{Strategy::Single, 1, 1, machinery.per_node};
    if (const std::string strategy = text("strategy", ""); !strategy.empty()) {
      layout.strategy = *elaborate::find_strategy(strategy);
    } else if (fsdp || !machinery.block.empty()) {
      layout.strategy = replica ? Strategy::Hsdp : Strategy::Fsdp;
    } else if (machinery.devices() > 1) {
      layout.strategy = Strategy::Ddp;
    }
    if (replica || fsdp) {
      layout.replica = replica.value_or(1);
      layout.fsdp = fsdp.value_or(1);
    } else if (layout.strategy == Strategy::Ddp) {
      layout.replica = machinery.devices();
    } else if (layout.strategy != Strategy::Single) {
      layout.fsdp = machinery.devices();
    }
    return layout;
  }

  /// False after a message: the mesh has as many places as there are devices, which the command line can change.
  static bool check_places(const Machinery& machinery) {
    const int64_t places = machinery.layout.ranks();
    if (!machinery.has_mesh || places == machinery.devices()) return true;
    fmt::print(stderr,
               "error: the mesh of topology {} has {} places, and there are {} devices\n"
               "  = help: --devices, --set topology.mesh.replica=N and --set topology.mesh.fsdp=N change them\n",
               machinery.topology, places, machinery.devices());
    return false;
  }

  /// False after a message: the axes are those of the strategy. The compiler has checked what the program says, not what the
  /// command line makes of it.
  static bool check_axes(const Layout& layout) {
    const bool copies = layout.strategy == Strategy::Ddp || layout.strategy == Strategy::Hsdp;
    const bool divides = layout.strategy != Strategy::Single && layout.strategy != Strategy::Ddp;
    if ((copies || layout.replica == 1) && (divides || layout.fsdp == 1)) return true;
    fmt::print(stderr, "error: strategy {} has no mesh of (replica = {}, fsdp = {})\n",
               elaborate::to_text(layout.strategy), layout.replica, layout.fsdp);
    return false;
  }

  const check::Program& program_;
  const check::Experiment& experiment_;
  const elaborate::Options& numbers_;
  std::map<std::string, Expr> settings_;
  std::vector<std::string> recompute_;
  bool is_right_ = true;
};

}  // namespace

std::optional<Machinery> read_topology(const check::Program& program, const check::Experiment& experiment,
                                       const std::string& name, const TopologySets& sets,
                                       const elaborate::Options& numbers) {
  return TopologyReader(program, experiment, numbers).run(name, sets);
}

}  // namespace ltr::driver
