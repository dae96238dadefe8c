#include "dsl/ast/walk.h"

namespace ltr::ast {

namespace {

struct Numbering {
  NodeId& next;

  void operator()(auto& node) {
    node.id = next++;
    for_each_child(node, *this);
  }
};

}  // namespace

void number_nodes(Module& module, NodeId& next) {
  if (next == 0) next = 1;  // 0 stands for a node without a number.
  Numbering numbering{next};
  for_each_child(module, numbering);
}

}  // namespace ltr::ast
