#include "dsl/check/code.h"

#include "dsl/check/typed.h"

namespace ltr::check {

Node::Node() = default;
Node::Node(const Node&) = default;
Node::Node(Node&&) noexcept = default;
Node& Node::operator=(const Node&) = default;
Node& Node::operator=(Node&&) noexcept = default;
Node::~Node() = default;

}  // namespace ltr::check
