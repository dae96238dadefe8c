#include "codegen/emit/emit.h"

#include "codegen/emit/context.h"

namespace ltr::emit {
namespace {

/// Every place that the program names, once; `ltr::at` and the tables point into it.
cpp::Global places(const Context& cx) {
  cpp::Global table;
  table.type = cpp::plain("ltr::Location");
  table.name = "ltr_at";
  table.is_array = true;
  table.is_constexpr = true;
  for (const ir::Loc& loc : cx.places) {
    table.value.args.push_back(
        cpp::braces({cpp::string(cx.module.files[loc.file]), cpp::integer(loc.line), cpp::integer(loc.column)}));
  }
  if (table.value.args.empty()) table.value.args.push_back(cpp::braces({}));
  return table;
}

cpp::Function main_function(const Context& cx) {
  cpp::Function main;
  main.result = cpp::plain("int");
  main.name = "main";
  main.params = {{cpp::plain("int"), "argc"}, {cpp::plain("char**"), "argv"}};
  cpp::Expr made = cpp::call("ltr::build::program", {cpp::string(cx.module.name), cpp::integer(cx.tables.edition),
                                                     cpp::string(cx.tables.source_hash),
                                                     cpp::string(cx.tables.compiler), cpp::string(cx.tables.folder)});
  main.body.push_back(cpp::variable(cpp::reference(cpp::plain("ltr::Program")), "table", std::move(made)));
  main.body.push_back(cpp::expression(cpp::call("program::table", {cpp::name("table")})));
  main.body.push_back(
      cpp::give_back(cpp::call("ltr::main", {cpp::name("argc"), cpp::name("argv"), cpp::name("table")})));
  return main;
}

}  // namespace

std::string emit(const ir::Module& module, const std::string& path) {
  LTR_INVARIANT(module.tables != nullptr, "a module without tables is no program", ir::Loc{});
  Context cx(module);
  cx.file.comment =
      "Made by ltrc from " + (module.files.empty() ? module.name : module.files[0]) + ". Read the source instead.";
  cx.file.includes = {"ltr/all.h", "ltr/first.h"};
  cx.file.name_space = "program";
  emit_externs(cx);
  emit_objects(cx);
  emit_wrappers(cx);
  emit_tables(cx);
  cx.file.in_front_of_main = "LTR_CATCH_SIGNALS";
  cx.file.main = main_function(cx);
  cx.file.constants.push_back(places(cx));
  return cpp::print(cx.file, path);
}

}  // namespace ltr::emit
