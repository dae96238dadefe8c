#include "dsl/check/declarations/block_tree.h"

#include "dsl/check/expressions/evaluate.h"
#include "dsl/check/walk.h"
#include "runtime/tables/weight_name.h"

namespace ltr::check {

namespace {

/// An object while its members are walked: what its params are, and what built it.
struct Frame {
  const Object& object;
  std::vector<std::pair<AtomId, Polynomial>> dims;
  const ExprIds* args = nullptr;  ///< null: its params are not known
  const Frame* outer = nullptr;   ///< where the arguments are read
  std::string prefix;
  std::map<LocalId, int64_t> loops;
};

class Walker {
 public:
  explicit Walker(Context& cx) : cx_(cx) {}

  BlockTree tree;

  /// Adds what a member's value builds at the place `prefix`, which ends in a dot or is empty.
  void add(const ExprView& value, const Frame& frame, const std::string& prefix) {
    const auto elements = [&](const ExprIds& ids) {
      for (size_t i = 0; i < ids.size(); ++i) add(cx_.at(ids[i]), frame, prefix + std::to_string(i) + ".");
    };
    if (const auto* built = value.get<node::Construct>()) return add_object(value, *built, frame, prefix);
    if (const auto* list = value.get<node::List>()) return elements(list->elements);
    if (const auto* tuple = value.get<node::Tuple>()) return elements(tuple->elements);
    if (const auto* list = value.get<node::Comprehension>()) return add_comprehension(value, *list, frame, prefix);
    if (const auto* convert = value.get<node::Convert>()) return add(cx_.at(convert->value), frame, prefix);
    if (const auto* function = value.get<node::Function>()) return add(cx_.at(function->value), frame, prefix);
    if (value.is<node::FnValue>()) return;
    if (const auto* record = value.get<node::Record>()) {
      for (size_t i = 0; i < record->values.size(); ++i) {
        add(cx_.at(record->values[i]), frame, prefix + value.type.fields[i].name + ".");
      }
      return;
    }
    if (const auto* choice = value.get<node::If>()) {
      if (const auto taken = taken_of(*choice, frame)) return add(cx_.at(*taken), frame, prefix);
    }
    // A block that was handed in belongs to whoever built it.
    if (argument(value, frame)) return;
    if (builds(value.type)) tree.is_complete = false;
  }

 private:
  static bool builds(const Type& type) {
    if (type.kind == Kind::Block) return true;
    for (const TypeField& field : type.fields) {
      if (builds(field.type)) return true;
    }
    return false;
  }

  /// The branch that is taken; nothing where that is not known.
  std::optional<ExprId> taken_of(const node::If& choice, const Frame& frame) {
    const auto holds = evaluate_in(cx_.at(choice.condition), frame);
    if (!holds) return std::nullopt;
    return holds->whole != 0 ? choice.then_value : choice.else_value;
  }

  void add_object(const ExprView& value, const node::Construct& built, const Frame& frame, const std::string& prefix) {
    if (value.type.kind != Kind::Block) return;
    const Object& object = cx_.program.blocks[value.type.decl];
    Frame inner{object, instantiate(value.type, frame.dims, cx_).arguments, &built.args, &frame, prefix, {}};
    for (size_t i = 0; i < object.params.size() && i < built.args.size(); ++i) {
      // A block that is built as an argument is a member under the param's name.
      if (object.params[i].type.kind == Kind::Function || builds_blocks(cx_.at(built.args[i]), cx_.program)) {
        add(cx_.at(built.args[i]), frame, prefix + object.params[i].name + ".");
      }
    }
    for (const Member& member : object.members) {
      const std::string place = prefix + member.name;
      if (member.kind == MemberKind::Block) add(member.value, inner, place + ".");
      if (member.kind == MemberKind::Weight || member.kind == MemberKind::Buffer) {
        add_tensor(member, inner, place);
      }
    }
  }

  void add_comprehension(const ExprView& value, const node::Comprehension& list, const Frame& frame,
                         const std::string& prefix) {
    const Type type = instantiate(value.type, frame.dims, cx_);
    const auto length = type.value ? type.value->constant() : std::nullopt;
    const auto from = evaluate_in(cx_.at(list.from), frame);
    if (!length || !from || *length > kMaxLength) {
      tree.is_complete = false;
      return;
    }
    Frame inner = frame;
    const Type& variable = frame.object.locals[list.variable].type;
    const auto atom = variable.value ? variable.value->single_atom() : std::nullopt;
    for (int64_t i = 0; i < *length; ++i) {
      inner.loops[list.variable] = from->whole + i;
      if (atom) inner.dims.emplace_back(*atom, Polynomial(from->whole + i));
      add(cx_.at(list.element), inner, prefix + std::to_string(i) + ".");
      if (atom) inner.dims.pop_back();
    }
  }

  void add_tensor(const Member& member, const Frame& frame, const std::string& name) {
    const Type& declared = member.type.kind == Kind::Option ? member.type.fields[0].type : member.type;
    const Presence presence = presence_of(member.value, frame);
    if (presence.kind == Presence::Kind::Absent) return;
    if (presence.kind == Presence::Kind::Unknown) {
      tree.is_complete = false;
      return;
    }
    tree.tensors.push_back({name, instantiate(declared, frame.dims, cx_), presence.path});
  }

  struct Presence {
    enum class Kind { Own, Shared, Absent, Unknown } kind = Kind::Own;
    std::string path;  ///< Shared: the weight's
  };

  /// What the initial value of a weight says about it.
  Presence presence_of(const ExprView& value, const Frame& frame) {
    const Presence unknown{Presence::Kind::Unknown, ""};
    if (value.is<node::NoneConst>()) return {Presence::Kind::Absent, ""};
    if (const auto* convert = value.get<node::Convert>()) return presence_of(cx_.at(convert->value), frame);
    if (const auto* choice = value.get<node::If>()) {
      const auto taken = taken_of(*choice, frame);
      return taken ? presence_of(cx_.at(*taken), frame) : unknown;
    }
    if (const auto* op = value.get<node::Op>()) {
      if (op->op != library::Id::OrElse) return {};
      const Presence first = presence_of(cx_.at(op->args[0]), frame);
      return first.kind == Presence::Kind::Absent ? presence_of(cx_.at(op->args[1]), frame) : first;
    }
    const auto* member = value.get<node::Member>();
    if (member == nullptr) return {};
    if (member->is_param && cx_.at(member->object).is<node::Self>()) {
      const auto given = argument(value, frame);
      return given ? presence_of(cx_.at(*given), *frame.outer) : unknown;
    }
    const auto path = path_of(value, frame);
    return path ? Presence{Presence::Kind::Shared, *path} : unknown;
  }

  /// `tok.weight` of the expression that reads it.
  std::optional<std::string> path_of(const ExprView& expr, const Frame& frame) const {
    const auto* member = expr.get<node::Member>();
    if (member == nullptr) return std::nullopt;
    const ExprView& object = cx_.at(member->object);
    if (object.is<node::Self>()) return frame.prefix + member->name;
    const auto base = path_of(object, frame);
    return base ? std::optional(*base + "." + member->name) : std::nullopt;
  }

  /// The argument that a param of the frame's object stands for; nothing if `expr` is none.
  std::optional<ExprId> argument(const ExprView& expr, const Frame& frame) const {
    const auto* member = expr.get<node::Member>();
    if (member == nullptr || !member->is_param || frame.args == nullptr) return std::nullopt;
    for (size_t i = 0; i < frame.object.params.size() && i < frame.args->size(); ++i) {
      if (frame.object.params[i].name == member->name) return (*frame.args)[i];
    }
    return std::nullopt;
  }

  std::optional<HostValue> evaluate_in(const ExprView& expr, const Frame& frame) {
    return evaluate(expr, cx_.program, [&](const ExprView& open) -> std::optional<HostValue> {
      if (open.is<node::Hparam>()) return std::nullopt;
      if (const auto* local = open.get<node::Local>()) {
        const auto loop = frame.loops.find(local->local);
        if (loop != frame.loops.end()) return whole(loop->second);
      }
      if (const auto given = argument(open, frame)) return evaluate_in(cx_.at(*given), *frame.outer);
      const auto* own = open.get<node::Member>();
      if (own != nullptr && !own->is_param && cx_.at(own->object).is<node::Self>()) {
        for (const Member& member : frame.object.members) {
          if (member.kind == MemberKind::Let && member.name == own->name) {
            return evaluate_in(member.value, frame);
          }
        }
      }
      if (open.type.kind == Kind::Int && open.type.value) {
        const auto size = instantiate(open.type, frame.dims, cx_).value->constant();
        if (size) return whole(*size);
      }
      return std::nullopt;
    });
  }

  static HostValue whole(int64_t value) { return {HostValue::Kind::Int, value, double(value), ""}; }

  static constexpr int64_t kMaxLength = 100'000;
  Context& cx_;
};

}  // namespace

BlockTree tree_of(const Member& member, const Object& owner, const std::vector<std::pair<AtomId, Polynomial>>& dims,
                  Context& cx) {
  Walker walker(cx);
  const Frame frame{owner, dims, nullptr, nullptr, "", {}};
  walker.add(member.value, frame, "");
  for (TreeTensor& tensor : walker.tree.tensors) {
    tensor.name = weight_name(tensor.name);
    if (!tensor.shared_with.empty()) tensor.shared_with = weight_name(tensor.shared_with);
  }
  return std::move(walker.tree);
}

}  // namespace ltr::check
