#include "codegen/lower/lower.h"
#include "codegen/lower/shared.h"

namespace ltr::lower {

const ir::ExternFn& Shared::extern_fn(const std::string& name) const {
  for (const ir::ExternFile& file : tables.externs) {
    for (const ir::ExternFn& fn : file.fns) {
      if (fn.name == name) return fn;
    }
  }
  throw ir::InternalError("no extern function named " + name, {});
}

void lower_externs(Shared& shared) {
  for (const check::ExternFile& file : shared.program.externs) {
    ir::ExternFile lowered{file.file, {}};
    for (const check::ExternFn& fn : file.fns) {
      ir::ExternFn one{fn.name, fn.text, fn.backward, {}, shared.type(fn.result)};
      for (const check::Local& param : fn.params) one.params.push_back({param.name, shared.type(param.type)});
      lowered.fns.push_back(std::move(one));
    }
    shared.tables.externs.push_back(std::move(lowered));
  }
}

ir::Module lower_externs(const check::Program& program, const source::SourceManager& sources) {
  ir::Module module;
  ir::Tables tables;
  const Options options;
  Shared shared{program, sources, options, module, tables, {}, {}, {}, {}, {}, {}};
  lower_externs(shared);
  module.tables = std::make_shared<const ir::Tables>(std::move(tables));
  return module;
}

}  // namespace ltr::lower
