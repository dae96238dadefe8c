#pragma once

#include <optional>
#include <utility>

#include "dsl/parse/token_parser.h"

/// Semantic actions: where the attribute of a parser goes in the node of the rule around it.
namespace ltr::parse {

template <auto kMember>
struct SetMember {
  template <class C>
  void operator()(C& c) const {
    x3::_val(c).*kMember = std::move(x3::_attr(c));
  }
};
template <auto kMember>
struct PushMember {
  template <class C>
  void operator()(C& c) const {
    (x3::_val(c).*kMember).push_back(std::move(x3::_attr(c)));
  }
};
template <auto kMember>
struct RaiseMember {
  template <class C>
  void operator()(C& c) const {
    x3::_val(c).*kMember = true;
  }
};
template <auto kText, auto kSpan>
struct SetString {
  template <class C>
  void operator()(C& c) const {
    x3::_val(c).*kText = std::move(x3::_attr(c).text);
    x3::_val(c).*kSpan = x3::_attr(c).span;
  }
};
/// `name[set<&ast::Let::name>]`
template <auto kMember>
inline constexpr SetMember<kMember> set{};
/// `param[push<&ast::Fn::params>]`
template <auto kMember>
inline constexpr PushMember<kMember> push{};
/// `skip(TokenKind::Bar)[raise<&ast::Log::bar>]`
template <auto kMember>
inline constexpr RaiseMember<kMember> raise{};
/// `string("a pattern")[set_string<&ast::Init::pattern, &ast::Init::pattern_span>]`
template <auto kText, auto kSpan>
inline constexpr SetString<kText, kSpan> set_string{};

struct Take {
  template <class C>
  void operator()(C& c) const {
    x3::_val(c) = std::move(x3::_attr(c));
  }
};
/// The node of the rule is the attribute.
inline constexpr Take take{};

struct TakeNode {
  template <class C>
  void operator()(C& c) const {
    x3::_val(c).node = std::move(x3::_attr(c));
  }
};
/// The attribute is one of the alternatives of the node.
inline constexpr TakeNode take_node{};

struct TakeParams {
  template <class C>
  void operator()(C& c) const {
    x3::_val(c).params = std::move(x3::_attr(c).list);
  }
};
/// The node's params are the attribute's.
inline constexpr TakeParams params_of{};

struct PushBack {
  template <class C>
  void operator()(C& c) const {
    x3::_val(c).push_back(std::move(x3::_attr(c)));
  }
};
inline constexpr PushBack push_back{};

}  // namespace ltr::parse
