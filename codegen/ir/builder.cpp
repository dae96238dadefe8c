#include "codegen/ir/builder.h"

#include <algorithm>

namespace ltr::ir {

ValueId Builder::new_value(Type type, std::string name) {
  function_.values.push_back({std::move(type), std::nullopt, std::move(name)});
  return ValueId(function_.values.size() - 1);
}

ValueId Builder::param(Type type, std::string name) {
  const ValueId id = new_value(std::move(type), std::move(name));
  function_.body.params.push_back(id);
  return id;
}

ValueId Builder::region_param(Type type, std::string name) {
  const ValueId id = new_value(std::move(type), std::move(name));
  open_.back()->params.push_back(id);
  return id;
}

ValueId Builder::constant(Type type, Constant value) {
  function_.values.push_back({std::move(type), std::move(value), ""});
  return ValueId(function_.values.size() - 1);
}

ValueId Builder::op(OpKind kind, Type type, std::vector<ValueId> operands, std::string name, std::vector<Attr> attrs) {
  Op op;
  op.kind = kind;
  op.name = std::move(name);
  op.operands = std::move(operands);
  op.attrs = std::move(attrs);
  op.loc = loc;
  const bool gives = !type.is(TypeKind::Void);
  const ValueId result = gives ? new_value(std::move(type)) : 0;
  if (gives) op.results.push_back(result);
  append(std::move(op));
  return result;
}

ValueId Builder::call(library::Id function, Type type, std::vector<ValueId> operands, OpKind kind) {
  const ValueId result = op(kind, std::move(type), std::move(operands));
  open_.back()->ops.back().function = function;
  return result;
}

ValueId Builder::host(host::Op host, Type type, std::vector<ValueId> operands) {
  const ValueId result = op(OpKind::HostOp, std::move(type), std::move(operands));
  open_.back()->ops.back().host = host;
  return result;
}

void Builder::written(std::vector<source::Span> spans) {
  Op& op = open_.back()->ops.back();
  spans.insert(spans.begin(), op.operands.size() - std::min(op.operands.size(), spans.size()), source::Span{});
  op.written = std::move(spans);
}

}  // namespace ltr::ir
