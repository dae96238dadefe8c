#include "dsl/check/declarations/items.h"

namespace ltr::check {

const std::vector<ast::Item>* items_in(const ast::Decl& decl) {
  if (const auto* block = decl.get<ast::Block>()) return &block->items;
  if (const auto* model = decl.get<ast::Model>()) return &model->items;
  if (const auto* metric = decl.get<ast::Metric>()) return &metric->items;
  if (const auto* data = decl.get<ast::Data>()) return &data->items;
  if (const auto* callback = decl.get<ast::Callback>()) return &callback->items;
  return nullptr;
}

}  // namespace ltr::check
