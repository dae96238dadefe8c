// W0422: two `Linear` of which one is applied to what the other gives, and nothing that bends is done with that.

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "dsl/ast/walk.h"
#include "dsl/check/declarations/declarations.h"
#include "dsl/check/declarations/doubtful.h"
#include "dsl/check/declarations/given_numbers.h"

namespace ltr::check {

namespace {

using Pair = std::pair<std::string_view, std::string_view>;  // of the tree

/// Where two stand in a row, and what bends nothing between them.
struct RowPlace {
  Span span;
  std::vector<std::string> between;
};

/// How the code of an object uses the names of its members.
struct MemberUses {
  const std::set<std::string_view>& straight;            ///< those that bend nothing
  std::unordered_map<std::string_view, size_t> uses;     ///< all but `net.weights`
  std::unordered_map<std::string_view, size_t> applied;  ///< of those the ones that apply it to something
  std::map<Pair, size_t> in_a_row;                       ///< the second applied to what the first gives
  std::map<Pair, RowPlace> places;                       ///< of the first of these

  void operator()(const ast::Expr& expr) {
    if (const auto* ref = expr.get<ast::NameRef>()) ++uses[ref->name.text];
    const auto* field = expr.get<ast::Field>();
    if (field != nullptr && field->name.text == "weights" && field->base->get<ast::NameRef>() != nullptr) return;
    const bool is_seen_within = expr.get<ast::Paren>() != nullptr;
    if (const auto [name, value] = applied_by(expr); name != nullptr && !is_seen_within) {
      ++applied[name->text];
      // What stands behind them looks through them, so that each is passed once.
      if (!straight.contains(name->text)) look_before(*name, *value);
    }
    ast::for_each_child(expr, *this);
  }
  void operator()(const auto& node) { ast::for_each_child(node, *this); }

  bool is_only_applied(std::string_view name) const {
    return uses.contains(name) && applied.contains(name) && uses.at(name) == applied.at(name);
  }
  bool are_only_in_a_row(const Pair& pair) const {
    return in_a_row.at(pair) == uses.at(pair.first) && in_a_row.at(pair) == uses.at(pair.second);
  }

 private:
  void look_before(const ast::Name& name, const ast::Expr& value) {
    std::vector<std::string> between;
    auto [inner, given] = applied_by(value);
    while (inner != nullptr && straight.contains(inner->text)) {
      between.insert(between.begin(), inner->text);
      std::tie(inner, given) = applied_by(*given);
    }
    if (inner == nullptr) return;
    ++in_a_row[{inner->text, name.text}];
    places.try_emplace({inner->text, name.text}, RowPlace{source::join(inner->span, name.span), std::move(between)});
  }
  /// The `net` and the `x` of `net(x)` and `x |> net`.
  static std::pair<const ast::Name*, const ast::Expr*> applied_by(const ast::Expr& expr) {
    if (const auto* paren = expr.get<ast::Paren>()) return applied_by(*paren->inner);
    const auto* pipe = expr.get<ast::Pipe>();
    const auto* call = expr.get<ast::Call>();
    const bool is_call = call != nullptr && call->arguments.size() == 1;
    if (pipe == nullptr && !is_call) return {};
    const auto* ref = (pipe != nullptr ? *pipe->target : *call->callee).get<ast::NameRef>();
    if (ref == nullptr) return {};
    return {&ref->name, pipe != nullptr ? &*pipe->value : &*call->arguments[0].value};
  }
};

/// A width as a product: `4 * D` of a number and names, each by its text.
struct Product {
  int64_t factor = 1;
  std::vector<std::string> names;  ///< in order
};

/// The sizes of a layer that does nothing but multiply and add.
struct Layer {
  Span span;
  std::string name = {};    ///< as the program calls it, `mid[0]` of what stands in a list
  bool is_of_list = false;  ///< a network, which may be meant to give what another one takes
  const ast::Expr* inputs = nullptr;
  const ast::Expr* outputs = nullptr;
};

class Joined {
 public:
  Joined(Context& cx, uint32_t module, const ast::Decl& decl) : cx_(cx), module_(module), decl_(decl) {}

  void look_at(const std::vector<ast::Item>& items) {
    Layers fronts, backs;  // Of a list its first and its last element.
    std::vector<const ast::Member*> lists;
    straight_.clear();
    for (const ast::Item& item : items) {
      const auto* member = item.get<ast::Member>();
      if (member == nullptr || member->source) continue;
      if (auto layer = layer_of(member->value)) {
        layer->name = member->name.text;
        fronts.emplace(member->name.text, *layer);
        backs.emplace(member->name.text, *layer);
      } else if (bends_nothing(member->value)) {
        straight_.insert(member->name.text);
      }
      if (member->value.get<ast::List>() != nullptr) lists.push_back(member);
    }
    for (const ast::Member* member : lists) add_ends(*member, fronts, backs);
    if (fronts.size() < 2 && lists.empty()) return;
    MemberUses uses{.straight = straight_};
    for (const ast::Item& item : items) uses(item);
    for (const ast::Member* member : lists) {
      if (uses.is_only_applied(member->name.text)) look_at(*member->value.get<ast::List>());
    }
    const auto are_one = [&](const Pair& pair) {
      const auto first = backs.find(pair.first), second = fronts.find(pair.second);
      return first != backs.end() && second != fronts.end() && uses.are_only_in_a_row(pair) &&
             !(first->second.is_of_list && second->second.is_of_list) && !narrows(first->second, second->second);
    };
    for (const auto& [pair, place] : uses.places) {
      if (!are_one(pair)) continue;
      // The first two say it for a longer row.
      const bool is_told = std::ranges::any_of(
          uses.places, [&](const auto& other) { return other.first.second == pair.first && are_one(other.first); });
      if (!is_told)
        report(place, backs.at(pair.first).name, fronts.at(pair.second).name, " |> ", std::string(pair.first),
               std::string(pair.second));
    }
  }

 private:
  using Layers = std::unordered_map<std::string_view, Layer>;

  /// The layers that a list begins and ends with, but for what bends nothing.
  void add_ends(const ast::Member& member, Layers& fronts, Layers& backs) const {
    const auto& elements = member.value.get<ast::List>()->elements;
    const auto is_straight = [&](const ast::Expr& element) {
      const auto* ref = element.get<ast::NameRef>();
      return bends_nothing(element) || (ref != nullptr && straight_.contains(ref->name.text));
    };
    const auto add = [&](size_t i, Layers& ends) {
      auto layer = layer_of(elements[i]);
      if (!layer) return;
      layer->name = member.name.text + "[" + std::to_string(i) + "]";
      layer->is_of_list = true;
      ends.emplace(member.name.text, *layer);
    };
    size_t begin = 0, end = elements.size();
    while (begin < end && is_straight(elements[begin])) ++begin;
    while (end > begin && is_straight(elements[end - 1])) --end;
    if (begin == end) return;
    add(begin, fronts);
    add(end - 1, backs);
  }

  Context& cx_;
  uint32_t module_;
  const ast::Decl& decl_;
  std::vector<GivenNumbers> given_;  ///< asked for where two stand in a row; one without numbers if nothing gives some
  std::set<std::string_view> straight_;  ///< members that bend nothing

  void look_at(const ast::List& list) {
    std::optional<Layer> first;
    std::vector<std::string> between;
    for (const ast::Expr& element : list.elements) {
      const auto* ref = element.get<ast::NameRef>();
      if (bends_nothing(element) || (ref != nullptr && straight_.contains(ref->name.text))) {
        between.push_back(cx_.source_text(element.span));
        continue;
      }
      const auto second = layer_of(element);
      if (first && second && !narrows(*first, *second)) {
        // One says it for all of a list.
        return report({source::join(first->span, second->span), std::move(between)}, cx_.source_text(first->span),
                      cx_.source_text(second->span), ", ");
      }
      first = second;
      between.clear();
    }
  }

  /// `left`, `right`: what stands in the program, where that is not the layers themselves.
  void report(const RowPlace& place, const std::string& first, const std::string& second, const std::string& sign,
              const std::string& left = "", const std::string& right = "") {
    std::string shown = (left.empty() ? first : left) + sign + "relu" + sign;
    for (const std::string& between : place.between) shown += between + sign;
    diagnostics::Diagnostic diagnostic = diag::one_linear_layer(place.span, first, second);
    if (!place.between.empty())
      diagnostic.note("what stands between them bends nothing: in evaluation it is not there, or multiplies and adds");
    cx_.report(std::move(diagnostic.help("put an activation between them, `{}`, or take one away",
                                         shown + (right.empty() ? second : right))));
  }

  /// In evaluation such a layer is not there, or does to each number what the next layer could do.
  bool bends_nothing(const ast::Expr& expr) const {
    return std::ranges::any_of(std::array{"Dropout", "Identity", "BatchNorm1d"},
                               [&](const char* name) { return call_of(expr, name) != nullptr; });
  }

  /// A call of what the library has under that name.
  const ast::Call* call_of(const ast::Expr& expr, std::string_view name) const {
    const auto* call = expr.get<ast::Call>();
    const auto* called = call != nullptr ? call->callee->get<ast::NameRef>() : nullptr;
    const Symbol* symbol = called != nullptr ? cx_.graph.find(module_, called->name.text) : nullptr;
    const bool is_it = symbol != nullptr && symbol->name == name && cx_.graph.modules[symbol->module].is_library;
    return is_it ? call : nullptr;
  }

  /// `Linear(a, b)` of the library, without weights of others.
  std::optional<Layer> layer_of(const ast::Expr& expr) const {
    const ast::Call* call = call_of(expr, "Linear");
    if (call == nullptr) return {};
    Layer layer{.span = expr.span};
    for (size_t i = 0; i < call->arguments.size(); ++i) {
      const ast::Argument& argument = call->arguments[i];
      const std::string name = argument.name ? argument.name->text : i == 0 ? "inputs" : i == 1 ? "outputs" : "bias";
      if (name == "weight") return {};
      if (name == "inputs") layer.inputs = &*argument.value;
      if (name == "outputs") layer.outputs = &*argument.value;
    }
    return layer.inputs != nullptr && layer.outputs != nullptr ? std::optional(layer) : std::nullopt;
  }

  /// Whether less may come through between them than goes in and comes out, which one layer cannot do by so few weights.
  bool narrows(const Layer& first, const Layer& second) {
    if (given_.empty()) given_ = given_numbers(decl_, cx_);
    if (given_.empty()) given_.emplace_back();
    return std::ranges::any_of(given_, [&](const GivenNumbers& given) {
      return !is_as_wide(*first.outputs, *first.inputs, given) && !is_as_wide(*first.outputs, *second.outputs, given);
    });
  }
  bool is_as_wide(const ast::Expr& width, const ast::Expr& other, const GivenNumbers& given) const {
    const Product wide = product_of(width, given), least = product_of(other, given);
    return wide.factor >= least.factor && std::ranges::includes(wide.names, least.names);
  }
  Product product_of(const ast::Expr& expr, const GivenNumbers& given) const {
    Product product;
    multiply(expr, given, product);
    std::ranges::sort(product.names);
    return product;
  }
  void multiply(const ast::Expr& expr, const GivenNumbers& given, Product& into) const {
    if (const auto* paren = expr.get<ast::Paren>()) return multiply(*paren->inner, given, into);
    if (const auto* both = expr.get<ast::Binary>(); both != nullptr && both->op == ast::BinaryOp::Multiply) {
      multiply(*both->left, given, into);
      return multiply(*both->right, given, into);
    }
    const auto known = whole_number(expr, module_, cx_, &written_params(decl_), &given);
    int64_t factor = 0;
    if (known && *known > 0 && !__builtin_mul_overflow(into.factor, *known, &factor))
      into.factor = factor;
    else
      into.names.push_back(cx_.source_text(expr.span));
  }
};

}  // namespace

void check_joined_layers(Context& cx) {
  if (cx.sink->has_errors()) return;
  for (uint32_t module = 0; module < cx.graph.modules.size(); ++module) {
    if (cx.graph.modules[module].is_library) continue;
    for (const ast::Decl& decl : cx.graph.modules[module].ast.decls) {
      if (const std::vector<ast::Item>* items = items_in(decl)) Joined(cx, module, decl).look_at(*items);
    }
  }
}

}  // namespace ltr::check
