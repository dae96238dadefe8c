#include "codegen/ir/dim.h"

#include <cctype>
#include <charconv>

namespace ltr::ir {
namespace {

/// How tightly a form binds; what binds less than its place asks for stands in parentheses.
enum class Level : uint8_t { Sum, Signed, Product, Power, Part };

/// The forms of two dims that are written with brackets of their own.
struct Bracketed {
  Dim::Kind kind;
  std::string_view open;
  std::string_view between;
  Level left;
  Level right;
};
constexpr Bracketed kBracketed[] = {{Dim::Kind::Exact, "(", " / ", Level::Signed, Level::Power},
                                    {Dim::Kind::Remainder, "(", " % ", Level::Signed, Level::Power},
                                    {Dim::Kind::Floor, "floor(", " / ", Level::Signed, Level::Power},
                                    {Dim::Kind::Ceil, "ceil(", " / ", Level::Signed, Level::Power},
                                    {Dim::Kind::Min, "min(", ", ", Level::Sum, Level::Sum},
                                    {Dim::Kind::Max, "max(", ", ", Level::Sum, Level::Sum}};

Level level_of(const Dim& dim) {
  switch (dim.kind) {
    case Dim::Kind::Sum:
    case Dim::Kind::Difference: return Level::Sum;
    case Dim::Kind::Negative: return Level::Signed;
    case Dim::Kind::Product: return Level::Product;
    case Dim::Kind::Power: return Level::Power;
    case Dim::Kind::Number: return dim.number < 0 ? Level::Signed : Level::Part;
    case Dim::Kind::Unknown:
    case Dim::Kind::Leading:
    case Dim::Kind::Name:
    case Dim::Kind::Exact:
    case Dim::Kind::Floor:
    case Dim::Kind::Ceil:
    case Dim::Kind::Remainder:
    case Dim::Kind::Min:
    case Dim::Kind::Max:
    case Dim::Kind::Element: return Level::Part;
  }
  return Level::Part;
}

class DimPrinter {
 public:
  explicit DimPrinter(const DimStore& dims) : dims_(dims) {}

  std::string text(DimId id, Level wanted) const {
    const Dim& dim = dims_[id];
    return level_of(dim) < wanted ? "(" + form(dim) + ")" : form(dim);
  }

 private:
  std::string form(const Dim& dim) const {
    switch (dim.kind) {
      case Dim::Kind::Unknown: return "?";
      case Dim::Kind::Leading: return "...";
      case Dim::Kind::Number: return std::to_string(dim.number);
      case Dim::Kind::Name: return dim.name;
      case Dim::Kind::Negative: return "-" + text(dim.left, Level::Product);
      case Dim::Kind::Sum: return text(dim.left, Level::Sum) + " + " + text(dim.right, Level::Product);
      case Dim::Kind::Difference: return text(dim.left, Level::Sum) + " - " + text(dim.right, Level::Product);
      case Dim::Kind::Product: return text(dim.left, Level::Product) + " * " + text(dim.right, Level::Power);
      case Dim::Kind::Power: return text(dim.left, Level::Part) + "**" + std::to_string(dim.number);
      case Dim::Kind::Element: return text(dim.left, Level::Part) + "[" + text(dim.right, Level::Sum) + "]";
      case Dim::Kind::Exact:
      case Dim::Kind::Floor:
      case Dim::Kind::Ceil:
      case Dim::Kind::Remainder:
      case Dim::Kind::Min:
      case Dim::Kind::Max: break;
    }
    std::string out;
    for (const Bracketed& one : kBracketed) {
      if (one.kind != dim.kind) continue;
      out = std::string(one.open) + text(dim.left, one.left) + std::string(one.between) + text(dim.right, one.right) +
            ")";
    }
    return out;
  }

  const DimStore& dims_;
};

/// Reads by descent, a function for each level.
class DimReader {
 public:
  DimReader(std::string_view text, size_t& position, DimStore& dims) : text_(text), position_(position), dims_(dims) {}

  using Result = std::optional<DimId>;

  Result sum() {
    Result left = signed_product();
    while (left) {
      const bool is_sum = take("+");
      if (!is_sum && !take("-")) break;
      const Result right = product();
      if (!right) return {};
      left = dims_.binary(is_sum ? Dim::Kind::Sum : Dim::Kind::Difference, *left, *right);
    }
    return left;
  }

 private:
  Result signed_product() {
    if (!take("-")) return product();
    const Result value = product();
    return value ? Result(dims_.negative(*value)) : Result();
  }

  Result product() {
    Result left = power();
    while (left && take("*")) {
      const Result right = power();
      if (!right) return {};
      left = dims_.binary(Dim::Kind::Product, *left, *right);
    }
    return left;
  }

  Result power() {
    const Result base = part();
    if (!base || !take("**")) return base;
    const std::optional<int64_t> exponent = number();
    return exponent ? Result(dims_.power(*base, *exponent)) : Result();
  }

  Result part() {
    if (++parts_ > kMaxParts) return {};
    if (take("?")) return DimId{};
    if (take("...")) return dims_.leading();
    for (const Bracketed& one : kBracketed) {
      if (one.open != "(" && take(one.open)) return operands(one);
    }
    if (take("(")) return parenthesised();
    if (position_ < text_.size() && is_digit(text_[position_])) {
      const std::optional<int64_t> value = number();
      return value ? Result(dims_.number(*value)) : Result();
    }
    const size_t begin = position_;
    while (position_ < text_.size() && is_of_name(text_[position_])) ++position_;
    if (position_ == begin) return {};
    return element(dims_.name(std::string(text_.substr(begin, position_ - begin))));
  }

  /// `list`, or one of its elements, or of theirs.
  Result element(DimId list) {
    while (take("[")) {
      const Result index = sum();
      if (!index || !take("]")) return {};
      list = dims_.binary(Dim::Kind::Element, list, *index);
    }
    return list;
  }

  Result operands(const Bracketed& form) {
    const Result left = form.left == Level::Sum ? sum() : signed_product();
    if (!left || !take(form.between.substr(form.between.find_first_not_of(' '), 1))) return {};
    const Result right = form.right == Level::Sum ? sum() : power();
    if (!right || !take(")")) return {};
    return dims_.binary(form.kind, *left, *right);
  }

  Result parenthesised() {
    const Result left = sum();
    if (!left || take(")")) return left;
    const bool is_quotient = take("/");
    if (!is_quotient && !take("%")) return {};
    const Result right = power();
    if (!right || !take(")")) return {};
    return dims_.binary(is_quotient ? Dim::Kind::Exact : Dim::Kind::Remainder, *left, *right);
  }

  /// A sign is no part of a longer one.
  bool take(std::string_view sign) {
    while (position_ < text_.size() && text_[position_] == ' ') ++position_;
    if (!text_.substr(position_).starts_with(sign)) return false;
    if (sign == "*" && text_.substr(position_).starts_with("**")) return false;
    position_ += sign.size();
    return true;
  }

  std::optional<int64_t> number() {
    int64_t value = 0;
    const auto end = std::from_chars(text_.data() + position_, text_.data() + text_.size(), value);
    if (end.ec != std::errc() || value < 0) return {};
    position_ = size_t(end.ptr - text_.data());
    return value;
  }

  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; }

  static constexpr int kMaxParts = 1000;  ///< of one dim, so that no text is deeper than the stack

  std::string_view text_;
  size_t& position_;
  DimStore& dims_;
  int parts_ = 0;
};

}  // namespace

size_t DimStore::Hash::operator()(const Dim& dim) const {
  size_t hash = std::hash<std::string_view>()(dim.name);
  for (const size_t part : {size_t(dim.kind), size_t(dim.number), size_t(dim.left.index), size_t(dim.right.index)})
    hash = (hash ^ part) * 0x100000001b3;
  return hash;
}

DimId DimStore::add(Dim dim) {
  const auto [known, is_new] = known_.emplace(dim, DimId{uint32_t(dims_.size())});
  if (is_new) dims_.push_back(std::move(dim));
  return known->second;
}

DimId DimStore::negative(DimId of) {
  const std::optional<int64_t> known = constant(of);
  return known && *known != INT64_MIN ? number(-*known) : add({.kind = Dim::Kind::Negative, .left = of});
}

std::optional<int64_t> DimStore::constant(DimId id) const {
  const Dim& dim = dims_[id.index];
  return dim.kind == Dim::Kind::Number ? std::optional(dim.number) : std::nullopt;
}

std::string to_text(DimId id, const DimStore& dims) { return DimPrinter(dims).text(id, Level::Sum); }

std::optional<DimId> read_dim(std::string_view text, size_t& position, DimStore& dims) {
  return DimReader(text, position, dims).sum();
}

}  // namespace ltr::ir
