#include "dsl/check/declarations/block_tree.h"

#include "dsl/check/expressions/evaluate.h"

namespace ltr::check {

namespace {

/// An object while its members are walked: what its params are, and what built it.
struct Frame {
  const Object& object;
  std::vector<std::pair<AtomId, Polynomial>> dims;
  const std::vector<Expr>* args = nullptr;  ///< null: its params are not known
  const Frame* outer = nullptr;             ///< where the arguments are read
  std::string prefix;
  std::map<LocalId, int64_t> loops;
};

class Walker {
 public:
  explicit Walker(Context& cx) : cx_(cx) {}

  BlockTree tree;

  /// Adds what a member's value builds at the place `prefix`, which ends in a dot or is empty.
  void add(const Expr& value, const Frame& frame, const std::string& prefix) {
    switch (value.kind) {
      case ExprKind::Construct:
        return add_object(value, frame, prefix);
      case ExprKind::Record:
        for (size_t i = 0; i < value.args.size(); ++i) {
          add(value.args[i], frame, prefix + value.type.fields[i].name + ".");
        }
        return;
      case ExprKind::List:
      case ExprKind::Tuple:
        for (size_t i = 0; i < value.args.size(); ++i) {
          add(value.args[i], frame, prefix + std::to_string(i) + ".");
        }
        return;
      case ExprKind::Comprehension:
        return add_comprehension(value, frame, prefix);
      case ExprKind::If: {
        const auto holds = evaluate_in(value.args[0], frame);
        if (holds) return add(value.args[holds->whole != 0 ? 1 : 2], frame, prefix);
        break;
      }
      case ExprKind::Convert:
      case ExprKind::Function:
        return add(value.args[0], frame, prefix);
      case ExprKind::Member: {
        // A block that was handed in belongs to whoever built it.
        const Expr* given = argument(value, frame);
        if (given != nullptr) return;
        break;
      }
      case ExprKind::FnValue:
        return;
      default:
        break;
    }
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

  void add_object(const Expr& value, const Frame& frame, const std::string& prefix) {
    if (value.type.kind != Kind::Block) return;
    const Object& object = cx_.program.blocks[value.type.decl];
    Frame inner{object,      instantiate(value.type, frame.dims, cx_).arguments,
                &value.args, &frame,
                prefix,      {}};
    for (size_t i = 0; i < object.params.size() && i < value.args.size(); ++i) {
      // A block that is built as an argument is a member under the param's name.
      const Type& type = object.params[i].type;
      if (type.kind == Kind::Function || type.kind == Kind::Block) {
        add(value.args[i], frame, prefix + object.params[i].name + ".");
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

  void add_comprehension(const Expr& value, const Frame& frame, const std::string& prefix) {
    const Type type = instantiate(value.type, frame.dims, cx_);
    const auto length = type.value ? type.value->constant() : std::nullopt;
    const auto from = evaluate_in(value.args[0], frame);
    if (!length || !from || *length > kMaxLength) {
      tree.is_complete = false;
      return;
    }
    Frame inner = frame;
    const Type& variable = frame.object.locals[value.local].type;
    const auto atom = variable.value ? variable.value->single_atom() : std::nullopt;
    for (int64_t i = 0; i < *length; ++i) {
      inner.loops[value.local] = from->whole + i;
      if (atom) inner.dims.emplace_back(*atom, Polynomial(from->whole + i));
      add(value.args[2], inner, prefix + std::to_string(i) + ".");
      if (atom) inner.dims.pop_back();
    }
  }

  void add_tensor(const Member& member, const Frame& frame, const std::string& name) {
    const Type& declared =
        member.type.kind == Kind::Option ? member.type.fields[0].type : member.type;
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
  Presence presence_of(const Expr& value, const Frame& frame) {
    switch (value.kind) {
      case ExprKind::NoneConst:
        return {Presence::Kind::Absent, ""};
      case ExprKind::Convert:
        return presence_of(value.args[0], frame);
      case ExprKind::If: {
        const auto holds = evaluate_in(value.args[0], frame);
        if (holds) return presence_of(value.args[holds->whole != 0 ? 1 : 2], frame);
        return {Presence::Kind::Unknown, ""};
      }
      case ExprKind::Op: {
        if (value.op != library::Id::OrElse) return {};
        const Presence first = presence_of(value.args[0], frame);
        return first.kind == Presence::Kind::Absent ? presence_of(value.args[1], frame) : first;
      }
      case ExprKind::Member: {
        if (value.whole == 1 && value.args[0].kind == ExprKind::Self) {
          const Expr* given = argument(value, frame);
          return given != nullptr ? presence_of(*given, *frame.outer)
                                  : Presence{Presence::Kind::Unknown, ""};
        }
        const auto path = path_of(value, frame);
        return path ? Presence{Presence::Kind::Shared, *path}
                    : Presence{Presence::Kind::Unknown, ""};
      }
      default:
        return {};
    }
  }

  /// `tok.weight` of the expression that reads it.
  std::optional<std::string> path_of(const Expr& expr, const Frame& frame) const {
    if (expr.kind != ExprKind::Member) return std::nullopt;
    if (expr.args[0].kind == ExprKind::Self) return frame.prefix + expr.name;
    const auto base = path_of(expr.args[0], frame);
    return base ? std::optional(*base + "." + expr.name) : std::nullopt;
  }

  /// The argument that a param of the frame's object stands for, or null.
  const Expr* argument(const Expr& expr, const Frame& frame) const {
    if (expr.kind != ExprKind::Member || expr.whole != 1 || frame.args == nullptr) return nullptr;
    for (size_t i = 0; i < frame.object.params.size() && i < frame.args->size(); ++i) {
      if (frame.object.params[i].name == expr.name) return &(*frame.args)[i];
    }
    return nullptr;
  }

  std::optional<HostValue> evaluate_in(const Expr& expr, const Frame& frame) {
    return evaluate(expr, cx_.program, [&](const Expr& open) -> std::optional<HostValue> {
      if (open.kind == ExprKind::Hparam) return std::nullopt;
      if (open.kind == ExprKind::Local) {
        const auto loop = frame.loops.find(open.local);
        if (loop != frame.loops.end()) return whole(loop->second);
      }
      if (const Expr* given = argument(open, frame)) return evaluate_in(*given, *frame.outer);
      if (open.kind == ExprKind::Member && open.args[0].kind == ExprKind::Self && open.whole == 0) {
        for (const Member& member : frame.object.members) {
          if (member.kind == MemberKind::Let && member.name == open.name) {
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

BlockTree tree_of(const Member& member,
                  const Object& owner,
                  const std::vector<std::pair<AtomId, Polynomial>>& dims,
                  Context& cx) {
  Walker walker(cx);
  const Frame frame{owner, dims, nullptr, nullptr, "", {}};
  walker.add(member.value, frame, "");
  for (TreeTensor& tensor : walker.tree.tensors) {
    tensor.name = cx.files->weight_name(tensor.name);
    if (!tensor.shared_with.empty()) tensor.shared_with = cx.files->weight_name(tensor.shared_with);
  }
  return std::move(walker.tree);
}

}  // namespace ltr::check
