#include "ltrc/canonical.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "codegen/toolchain/toolchain.h"
#include "ltrc/canonical_code.h"

namespace ltr::driver {

namespace {

using ir::Op;
using ir::OpKind;
using ir::ValueId;

/// The values of one function as expressions, everything written out.
class Expressions {
 public:
  using Slots = std::map<std::string, std::string>;

  Expressions(const ir::Function& function, CanonicalCode& code) : function_(function), code_(code) {
    collect(function.body);
  }

  /// What the parameters stand for; the first may be the object itself.
  void bind(size_t param, std::string text) { texts_[function_.body.params[param]] = std::move(text); }
  Slots slots;                    ///< what `read_slot` gives
  Slots members;                  ///< what `data.NAME` stands for
  std::set<std::string> hparams;  ///< read on the way

  std::string text(ValueId id) {
    const ir::Value& value = function_.values[id];
    if (value.constant) return constant_text(*value.constant);
    const auto known = texts_.find(id);
    if (known != texts_.end()) return known->second;
    const auto op = made_by_.find(id);
    if (op == made_by_.end()) return "_";
    std::string result = text(*op->second);
    texts_[id] = result;
    return result;
  }

  const Op& definition(ValueId id) const { return *made_by_.at(id); }

  std::string text(const Op& op) {
    switch (op.kind) {
      case OpKind::MakeValue: return made_value(op);
      case OpKind::MakeCall: return called(op) + named(op, op.texts("names"), 0);
      case OpKind::Setting:
      case OpKind::Convert: return text(op.operands[0]);
      case OpKind::DeclareHparam: {
        const ir::Value& given = function_.values[op.operands[1]];
        const bool is_set = !given.constant || !std::holds_alternative<ir::NoneConstant>(*given.constant);
        return text(op.operands[is_set ? 1 : 0]);
      }
      case OpKind::ReadHparam: hparams.insert(op.name); return op.name;
      case OpKind::ReadContext: return op.name;
      case OpKind::ReadSlot: {
        const auto slot = slots.find(op.name);
        return slot == slots.end() ? op.name : slot->second;
      }
      case OpKind::HostOp: return host(op);
      case OpKind::ListOf: return fmt::format("[{}]", list(op.operands, 0));
      case OpKind::TupleOf: return fmt::format("({})", list(op.operands, 0));
      case OpKind::ListGet: return text(op.operands[0]) + "[" + text(op.operands[1]) + "]";
      case OpKind::Member: {
        const std::string path = text(op.operands[0]) + "." + op.name;
        const auto known = members.find(path);
        return known == members.end() ? path : known->second;
      }
      case OpKind::ScopeOf: {
        const auto member = member_of_.find(op.operands[0]);
        return member == member_of_.end() ? text(op.operands[0]) : member->second;
      }
      case OpKind::WeightsAt: return text(op.operands[0]) + ".weights";
      case OpKind::Construct: return fmt::format("{}({})", code_.label_of_object(op.name), list(op.operands, 0));
      case OpKind::MapStream:
        return fmt::format("map({}, {}, {})", text(op.operands[1]), code_.label_of(op.name), list(op.operands, 2));
      case OpKind::TypedSource: {
        std::string columns;
        for (const ir::Field& field : function_.values[op.results[0]].type.fields)
          columns += (columns.empty() ? "" : ", ") + field.name + ": " + type_text(field.type, code_);
        return fmt::format("{}({}) as {{{}}}", op.name, list(op.operands, 0), columns);
      }
      case OpKind::Interpolate: {
        std::string formats;
        for (const std::string& format : op.texts("formats")) formats += "|" + format;
        return fmt::format("text({}{})", list(op.operands, 0), formats);
      }
      case OpKind::CallFn: return fmt::format("{}({})", code_.label_of(op.name), list(op.operands, 0));
      default: break;
    }
    if (op.kind == OpKind::CallOp) return fmt::format("{}({})", library::info(op.function).name, list(op.operands, 0));
    const std::string name(op.info().name);
    if (op.name.empty()) return fmt::format("{}({})", name, list(op.operands, 0));
    return fmt::format("{}({}; {})", name, called(op), list(op.operands, 0));
  }

  std::string list(const std::vector<ValueId>& values, size_t from) {
    std::string out;
    for (size_t i = from; i < values.size(); ++i) out += (i == from ? "" : ", ") + text(values[i]);
    return out;
  }
  /// `(lr = 0.1, eps = 1e-08)` of the operands from `from` on.
  std::string named(const Op& op, const ir::Texts& names, size_t from) {
    std::string out = "(";
    for (size_t i = 0; i < names.size() && from + i < op.operands.size(); ++i)
      out += (i == 0 ? "" : ", ") + names[i] + " = " + text(op.operands[from + i]);
    return out + ")";
  }

 private:
  /// What an op calls or names: a function of the program is code, as a schedule or what a `filter` asks.
  std::string called(const Op& op) { return code_.is_function(op.name) ? code_.label_of(op.name) : op.name; }

  void collect(const ir::Region& region) {
    for (const Op& op : region.ops) {
      for (const ValueId result : op.results) made_by_[result] = &op;
      if (op.kind == OpKind::SetMember) member_of_[op.operands[1]] = op.name;
      for (const ir::Region& inner : op.regions) collect(inner);
    }
  }

  std::string made_value(const Op& op) {
    const std::string& kind = op.text("kind");
    if (kind == "none") return "none";
    if (kind == "tuple" || kind == "list") return fmt::format("({})", list(op.operands, 0));
    std::string value = list(op.operands, 0);
    if (kind == "series" || kind == "symbol") {
      value.erase(std::remove(value.begin(), value.end(), '"'), value.end());
      return value;
    }
    return kind == "plain" ? value : value + " " + kind;
  }

  std::string host(const Op& op) {
    const std::string_view name = host::info(op.host).name;
    if (op.operands.size() == 2 && !std::isalpha(static_cast<unsigned char>(name[0])))
      return fmt::format("({} {} {})", text(op.operands[0]), name, text(op.operands[1]));
    return fmt::format("{}({})", name, list(op.operands, 0));
  }

  const ir::Function& function_;
  CanonicalCode& code_;
  std::map<ValueId, const Op*> made_by_;
  std::map<ValueId, std::string> member_of_;
  std::map<ValueId, std::string> texts_;
};

class Build {
 public:
  Build(const ir::Module& module, const ir::ExperimentInfo& info)
      : module_(module), tables_(*module.tables), info_(info), code_(module) {}

  Canonical run() {
    result_.experiment = info_.name;
    resolve();
    data();
    model();
    listed();
    topology();
    result_.code = code_.take();
    result_.objects = code_.objects();
    for (const auto& [name, text] : result_.code) collect_hparams(*module_.find(name));
    hparams();
    return std::move(result_);
  }

 private:
  const ir::Function& function(const std::string& name) const { return *module_.find(name); }

  void resolve() {
    const ir::Function& fn = function(info_.resolve);
    Expressions expr(fn, code_);
    for (const Op& op : fn.body.ops) {
      if (op.kind == OpKind::DeclareHparam) declared_[op.name] = expr.text(op);
      if (op.kind == OpKind::CheckHparam) rules_[op.name] = expr.text(op.operands[0]);
      for (const auto& [section, settings] : check::kSettingsSections) {
        const std::string begin = std::string(section) + ".";
        if (op.kind != OpKind::Setting || !op.name.starts_with(begin)) continue;
        const bool is_trainer = settings == &check::Experiment::trainer;
        Canonical::Entries& entries = is_trainer ? result_.trainer : result_.outside[section];
        entries.emplace_back(op.name.substr(begin.size()), expr.text(op));
      }
      if (op.kind == OpKind::SetSlot) slots_[op.name] = expr.text(op.operands[0]);
    }
    std::sort(result_.trainer.begin(), result_.trainer.end());
    for (auto& [section, entries] : result_.outside) std::sort(entries.begin(), entries.end());
    for (const auto& [name, text] : result_.trainer) note_words(text);
  }

  /// The arguments of the `construct` that a maker ends with.
  std::vector<std::string> arguments_of(const std::string& maker, std::string* data_text) {
    const ir::Function& fn = function(maker);
    Expressions expr(fn, code_);
    expr.slots = slots_;
    expr.members = data_members_;
    if (data_text != nullptr && !fn.body.params.empty()) expr.bind(0, *data_text);
    std::vector<std::string> arguments;
    for (const Op& op : fn.body.ops) {
      if (op.kind != OpKind::Construct) continue;
      for (const ValueId operand : op.operands) {
        const ir::Type& type = fn.values[operand].type;
        if (!type.is(ir::TypeKind::Scope)) arguments.push_back(expr.text(operand));
      }
    }
    for (const std::string& argument : arguments) note_words(argument);
    return arguments;
  }

  void data() {
    const ir::ObjectInfo& object = *tables_.find_object(info_.data);
    const std::vector<std::string> arguments = arguments_of(info_.make_data, nullptr);
    const ir::Function& fn = function(object.constructor);
    Expressions expr(fn, code_);
    for (size_t i = 0; i < arguments.size(); ++i) expr.bind(i + 1, arguments[i]);
    expr.bind(0, "data");
    for (const Op& op : fn.body.ops) {
      if (op.kind == OpKind::SetMember) data_members_["data." + op.name] = expr.text(op.operands[1]);
    }
    for (size_t i = 0; i < object.params.size() && i < arguments.size(); ++i)
      data_members_["data.$" + object.params[i].name] = arguments[i];
    for (const ir::DataInfo& info : tables_.datas) {
      if (info.object != info_.data) continue;
      std::string fields;
      std::vector<std::string> sorted;
      const auto sizes = std::find_if(fn.body.ops.begin(), fn.body.ops.end(),
                                      [](const Op& op) { return op.kind == OpKind::SetBatch; });
      for (size_t i = 0; i < info.batch.size(); ++i) {
        const ir::BatchField& field = info.batch[i];
        std::string text = field.name + ": " + type_text(field.type, code_);
        // The sizes that the schema fixes, by field; -1 is a binder.
        if (sizes != fn.body.ops.end() && i + 1 < sizes->operands.size())
          text += " of " + expr.text(sizes->operands[i + 1]);
        sorted.push_back(std::move(text));
      }
      std::sort(sorted.begin(), sorted.end());
      for (const std::string& field : sorted) fields += (fields.empty() ? "" : ", ") + field;
      note_words(fields);
      result_.data.emplace_back("batch", fields);
    }
    Canonical::Entries streams;
    for (const Op& op : fn.body.ops) {
      if (op.kind != OpKind::AddStream) continue;
      const std::string name = op.name.empty() ? "" : "." + op.name;
      streams.emplace_back(op.text("role") + name, expr.text(op.operands[1]));
    }
    std::sort(streams.begin(), streams.end());
    for (auto& [role, text] : streams) {
      note_words(text);
      result_.data.emplace_back(role, text);
    }
    // Maps may read the parameters of the data.
    for (size_t i = 0; i < arguments.size(); ++i)
      result_.data.emplace_back("argument " + std::to_string(i), arguments[i]);
  }

  void model() {
    std::string data = "data";
    const ir::ObjectInfo& object = *tables_.find_object(info_.model);
    const std::vector<std::string> arguments = arguments_of(info_.make_model, &data);
    for (size_t i = 0; i < arguments.size(); ++i)
      result_.model.emplace_back("argument " + std::to_string(i), arguments[i]);
    code_.label_of_object(info_.model);
    const ir::Function& fn = function(object.constructor);
    Expressions expr(fn, code_);
    expr.bind(0, "model");
    expr.bind(1, "here");
    for (size_t i = 0; i < arguments.size(); ++i) expr.bind(i + 2, arguments[i]);
    for (const Op& op : fn.body.ops) {
      if (op.kind == OpKind::MakeOptimizer) optimizer(op, expr);
    }
    // A model's steps in the order of their roles, so that the order of writing does not matter.
    std::vector<const ir::StepInfo*> steps;
    for (const ir::StepInfo& step : info_.steps) steps.push_back(&step);
    std::sort(steps.begin(), steps.end(),
              [](const ir::StepInfo* a, const ir::StepInfo* b) { return a->name < b->name; });
    code_.label_of(object.constructor);
    for (const ir::StepInfo* step : steps) {
      std::string defaults;
      for (const ir::StepParam& param : step->params)
        defaults += fmt::format(" {}: {} = {}", param.name, param.type_text, param.initial);
      result_.steps.emplace_back(step->name, code_.label_of(step->fn) + defaults);
    }
  }

  void optimizer(const Op& op, Expressions& expr) {
    std::string text = expr.text(op.operands[1]) + " of " + expr.text(op.operands[2]);
    result_.optimizers.emplace_back(op.name, text);
    size_t at = 3;
    for (const std::string& name : op.texts("names"))
      result_.optimizers.emplace_back(op.name + "." + name, expr.text(op.operands[at++]));
    for (; at < op.operands.size(); ++at) {
      const Op& group = expr.definition(op.operands[at]);
      const ir::Texts& names = group.texts("names");
      for (size_t i = 0; i < names.size(); ++i) {
        result_.optimizers.emplace_back(fmt::format("{}.group \"{}\" {}", op.name, group.text("pattern"), names[i]),
                                        expr.text(group.operands[i]));
      }
    }
    for (const auto& [name, value] : result_.optimizers) note_words(value);
  }

  void listed() {
    const ir::Function& fn = function(info_.list_callbacks);
    Expressions expr(fn, code_);
    expr.slots = slots_;
    for (const Op& op : fn.body.ops) {
      if (op.kind != OpKind::ListCall) continue;
      std::string text = expr.text(op.operands[0]);
      std::string name = text.substr(0, text.find('('));
      Canonical::Entries& into = op.name == "loggers" ? result_.loggers : result_.callbacks;
      const ir::ObjectInfo* own = tables_.find_object(name);
      if (own != nullptr && !own->is_library) {
        // Its parameters by place, its code by number.
        std::string arguments;
        for (const Op& call : fn.body.ops) {
          if (call.kind == OpKind::MakeCall && call.name == name) arguments = expr.list(call.operands, 0);
        }
        text = code_.label_of_object(name) + "(" + arguments + ")";
        for (const ir::Hook& hook : own->hooks) text += " " + hook.name + " " + code_.label_of(hook.fn);
      }
      note_words(text);
      into.emplace_back(name, text);
    }
  }

  void topology() {
    for (const ir::TopologyInfo& topology : tables_.topologies) {
      if (topology.name != info_.topology) continue;
      const ir::Function& fn = function(topology.resolve);
      Expressions expr(fn, code_);
      for (const Op& op : fn.body.ops) {
        if (op.kind == OpKind::Setting)
          result_.topology.emplace_back(op.name.substr(op.name.find('.') + 1), expr.text(op));
      }
    }
    if (result_.topology.empty()) result_.topology.emplace_back("devices", "auto");
    std::sort(result_.topology.begin(), result_.topology.end());
  }

  /// Hparams are flags of the program, but one that nothing reads computes nothing.
  void note_words(const std::string& text) {
    std::string word;
    for (const char c : text + " ") {
      if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
        word += c;
        continue;
      }
      if (declared_.contains(word)) used_.insert(word);
      word.clear();
    }
  }
  void collect_hparams(const ir::Function& fn) {
    const auto walk = [&](const auto& self, const ir::Region& region) -> void {
      for (const Op& op : region.ops) {
        if (op.kind == OpKind::ReadHparam) used_.insert(op.name);
        for (const ir::Region& inner : op.regions) self(self, inner);
      }
    };
    walk(walk, fn.body);
  }
  void hparams() {
    for (bool grows = true; grows;) {
      const size_t before = used_.size();
      for (const std::string& name : std::set<std::string>(used_)) note_words(declared_[name]);
      grows = used_.size() > before;
    }
    for (const std::string& name : used_) {
      const auto rule = rules_.find(name);
      result_.hparams.emplace_back(name, declared_[name] + (rule == rules_.end() ? "" : " where " + rule->second));
    }
  }

  const ir::Module& module_;
  const ir::Tables& tables_;
  const ir::ExperimentInfo& info_;
  CanonicalCode code_;
  Canonical result_;
  std::map<std::string, std::string> declared_, rules_, slots_, data_members_;
  std::set<std::string> used_;
};

void append(std::string& out, const char* section, const Canonical::Entries& entries, bool by_number) {
  out += section;
  out += "\n";
  for (size_t i = 0; i < entries.size(); ++i) {
    const std::string key = by_number ? std::to_string(i) : entries[i].first;
    out += fmt::format("  {}: {}{}", key, entries[i].second, entries[i].second.ends_with("\n") ? "" : "\n");
  }
}

}  // namespace

std::string Canonical::text() const {
  std::string out;
  append(out, "hparams", hparams, false);
  append(out, "data", data, false);
  append(out, "model", model, false);
  append(out, "optimizers", optimizers, false);
  append(out, "steps", steps, false);
  append(out, "trainer", trainer, false);
  Entries computing;
  for (const auto& [name, value] : topology) {
    if (name != "scheduler") computing.emplace_back(name, value);
  }
  append(out, "topology", computing, false);
  append(out, "callbacks", callbacks, true);
  append(out, "code", code, true);
  return out;
}

std::string Canonical::with_names(const std::string& text) const {
  std::string out, word;
  const auto flush = [&] {
    const bool is_fn = word.starts_with("fn"), is_object = word.starts_with("object");
    const std::string digits = word.substr(is_fn ? 2 : is_object ? 6 : word.size());
    const bool is_label =
        !digits.empty() && digits.size() < 9 && digits.find_first_not_of("0123456789") == std::string::npos;
    const size_t number = is_label ? std::stoul(digits) : 0;
    if (is_label && is_fn && number < code.size()) word = code[number].first;
    if (is_label && is_object && number < objects.size()) word = objects[number];
    out += word;
    word.clear();
  };
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
      word += c;
      continue;
    }
    flush();
    out += c;
  }
  flush();
  return out;
}

std::string Canonical::hash() const { return toolchain::digest(text()); }

std::vector<Canonical> canonical_forms(const ir::Module& module) {
  std::vector<Canonical> forms;
  for (const ir::ExperimentInfo& info : module.tables->experiments) forms.push_back(Build(module, info).run());
  return forms;
}

}  // namespace ltr::driver
