#include "ltrc/read_places.h"

#include <fmt/core.h>

#include <map>
#include <set>

namespace ltr::driver {

namespace {

/// Follows what builds the data and the model of one experiment.
class PlacesRead {
 public:
  PlacesRead(const ir::Module& module, const ir::ExperimentInfo& experiment) : module_(module) {
    call(experiment.resolve, {});
    call(experiment.make_data, {});
    call(experiment.make_model, {});
  }
  std::vector<ReadPlace> take() { return std::move(places_); }

 private:
  using Known = std::optional<ir::Constant>;
  struct Frame {
    const ir::Function& function;
    std::map<ir::ValueId, Known> values;

    Known at(ir::ValueId id) const {
      if (function.values[id].constant) return function.values[id].constant;
      const auto found = values.find(id);
      return found == values.end() ? Known() : found->second;
    }
  };

  static std::optional<std::string> text_of(const Known& value) {
    if (!value) return std::nullopt;
    if (const auto* text = std::get_if<std::string>(&*value)) return *text;
    if (const auto* number = std::get_if<int64_t>(&*value)) return std::to_string(*number);
    return std::nullopt;
  }

  void call(const std::string& name, const std::vector<Known>& arguments) {
    const ir::Function* function = module_.find(name);
    if (function == nullptr) return;
    // What blocks of a kind build differs only by their arguments.
    std::string key = name;
    for (const Known& one : arguments) key += fmt::format("|{}", text_of(one).value_or("\n"));
    if (!called_.insert(key).second) return;
    Frame frame{*function, {}};
    for (size_t i = 0; i < arguments.size() && i < function->body.params.size(); ++i)
      frame.values[function->body.params[i]] = arguments[i];
    follow(function->body, frame);
  }

  void follow(const ir::Region& region, Frame& frame) {
    for (const ir::Op& op : region.ops) {
      const Known result = evaluate(op, frame);
      if (op.results.size() == 1) frame.values[op.results[0]] = result;
      for (const ir::Region& inner : op.regions) follow(inner, frame);
    }
  }

  Known evaluate(const ir::Op& op, const Frame& frame) {
    using ir::OpKind;
    switch (op.kind) {
      case OpKind::MakeValue:
        return op.text("kind") == "plain" && op.operands.size() == 1 ? frame.at(op.operands[0]) : Known();
      case OpKind::Setting:
      case OpKind::Convert: return frame.at(op.operands[0]);
      case OpKind::DeclareHparam: {
        const Known given = frame.at(op.operands[1]);
        const bool is_set = !given || !std::holds_alternative<ir::NoneConstant>(*given);
        return hparams_[op.name] = is_set ? given : frame.at(op.operands[0]);
      }
      case OpKind::ReadHparam: return hparams_[op.name];
      case OpKind::SetSlot: return slots_[op.name] = frame.at(op.operands[0]);
      case OpKind::ReadSlot: return slots_[op.name];
      case OpKind::Interpolate: return joined(op, frame);
      case OpKind::Construct: construct(op, frame); return {};
      case OpKind::LoadWeights: note("from", op, 1, true, frame); return {};
      case OpKind::TypedSource: note(op.name, op, 0, false, frame); return {};
      case OpKind::CallOp: {
        const library::Function& info = library::info(op.function);
        if (info.records == library::Records::Filed || op.function == library::Id::Tokenizer)
          note(std::string(info.name), op, 0, false, frame);
        return {};
      }
      default: return {};
    }
  }

  static Known joined(const ir::Op& op, const Frame& frame) {
    std::string all;
    for (size_t i = 0; i < op.operands.size(); ++i) {
      const auto part = text_of(frame.at(op.operands[i]));
      if (!part || !op.texts("formats")[i].empty()) return {};
      all += *part;
    }
    return all;
  }

  void construct(const ir::Op& op, const Frame& frame) {
    const ir::ObjectInfo* object = module_.tables->find_object(op.name);
    if (object == nullptr) return;
    std::vector<Known> arguments = {Known()};  // itself
    for (const ir::ValueId operand : op.operands) arguments.push_back(frame.at(operand));
    call(object->constructor, arguments);
  }

  void note(const std::string& source, const ir::Op& op, size_t at, bool is_weights, const Frame& frame) {
    ReadPlace place{text_of(frame.at(op.operands[at])), source, std::nullopt, is_weights, op.loc};
    if (op.operands.size() > 1) {
      const Known second = frame.at(op.operands[1]);
      if (second && std::holds_alternative<bool>(*second)) place.is_train = std::get<bool>(*second);
    }
    places_.push_back(std::move(place));
  }

  const ir::Module& module_;
  std::map<std::string, Known> hparams_, slots_;
  std::set<std::string> called_;
  std::vector<ReadPlace> places_;
};

}  // namespace

std::vector<ReadPlace> read_places(const ir::Module& module, const ir::ExperimentInfo& experiment) {
  return PlacesRead(module, experiment).take();
}

}  // namespace ltr::driver
