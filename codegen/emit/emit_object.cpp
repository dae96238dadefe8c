#include <algorithm>

#include "codegen/emit/context.h"

namespace ltr::emit {

using ir::ObjectMember;
using ir::TypeKind;

namespace {

const char* base_of(TypeKind kind) {
  switch (kind) {
    case TypeKind::Model: return "ltr::Model";
    case TypeKind::Data: return "ltr::Data";
    case TypeKind::Metric: return "ltr::Metric";
    case TypeKind::Callback: return "ltr::Callback";
    default: return "ltr::Block";
  }
}

/// Makes the struct of one object, and adds the bodies of its functions to the file.
class ObjectEmitter {
 public:
  ObjectEmitter(const ir::ObjectInfo& object, Context& cx) : object_(object), cx_(cx) {}

  void run() {
    out_.name = Context::identifier(object_.name);
    out_.base = base_of(object_.kind);
    add_fields();
    for (const ir::Function& fn : cx_.module.functions) {
      if (fn.owner == object_.name) add(fn);
    }
    if (object_.kind == TypeKind::Metric) add_metric();
    if (object_.kind == TypeKind::Callback) add_callback();
    cx_.file.structs.push_back(std::move(out_));
  }

 private:
  bool has_scope() const { return object_.kind == TypeKind::Block || object_.kind == TypeKind::Model; }

  void define(cpp::Function function) {
    function.owner = out_.name;
    out_.methods.push_back(function);
    cx_.file.functions.push_back(std::move(function));
  }

  void add_fields() {
    if (has_scope()) out_.fields.push_back({cpp::plain("ltr::Scope"), "ltr_scope"});
    if (object_.kind == TypeKind::Callback) {
      const cpp::Type model =
          object_.model.empty() ? cpp::plain("ltr::Model") : cpp::plain(cx_.struct_name(object_.model));
      out_.fields.push_back({cpp::pointer(model), "model"});
    }
    for (const ir::ObjectParam& param : object_.params) {
      out_.fields.push_back({cx_.type(param.type), cx_.field_name(object_, param.field), true});
    }
    for (const ObjectMember& member : object_.members) {
      if (member.kind == ObjectMember::Kind::Metric) {
        const cpp::Type state = cpp::plain(cx_.struct_name(member.type.name));
        out_.fields.push_back({cpp::generic("ltr::MetricOf", {state}), cx_.field_name(object_, member.name)});
      } else {
        out_.fields.push_back({cx_.type(member.type), cx_.field_name(object_, member.name), true});
      }
    }
  }

  void add(const ir::Function& fn) {
    cpp::Function out = emit_function(fn, cx_);
    if (fn.role == ir::Role::Constructor) return add_constructor(fn, std::move(out));
    define(std::move(out));
  }

  // Params are kept first; the members follow in the body. A metric's members are set by `reset`, a callback's model
  // comes in front.
  void add_constructor(const ir::Function& fn, cpp::Function body) {
    cpp::Function out;
    out.name = out_.name;
    out.is_explicit = true;
    out.params = body.params;
    size_t first = 0;
    if (has_scope()) {
      out.initializers.emplace_back("ltr_scope", cpp::name(out.params[0].name));
      first = object_.kind == TypeKind::Model ? 2 : 1;
    }
    if (object_.kind == TypeKind::Callback) {
      const cpp::Type model = out_.fields[0].type;
      out.params.insert(out.params.begin(), {cpp::reference(cpp::plain("ltr::Model")), "model"});
      out.initializers.emplace_back("model", cpp::cast(model, cpp::unary("&", cpp::name("model"))));
      first = 1;
    }
    for (size_t i = 0; i < object_.params.size(); ++i) {
      out.initializers.emplace_back(cx_.field_name(object_, object_.params[i].field),
                                    cpp::name(out.params[first + i].name));
    }
    if (object_.kind != TypeKind::Metric) {
      out.body = std::move(body.body);
      return define(std::move(out));
    }
    out.body.push_back(cpp::expression(cpp::call(cpp::self("reset"), {})));
    define(std::move(out));
    cpp::Function reset;
    reset.result = cpp::plain("void");
    reset.name = "reset";
    reset.is_override = true;
    // The constructor's code reads params by their names.
    for (size_t i = 0; i < object_.params.size(); ++i) {
      const ir::ObjectParam& param = object_.params[i];
      if (fn.body.params.size() <= i + 1) continue;
      reset.body.push_back(cpp::variable(cpp::const_reference(cx_.type(param.type)), body.params[i].name,
                                         cpp::self(cx_.field_name(object_, param.field))));
    }
    for (cpp::Stmt& stmt : body.body) reset.body.push_back(std::move(stmt));
    define(std::move(reset));
  }

  void add_metric() {
    cpp::Function states;
    states.result = cpp::generic("std::vector", {cpp::plain("ltr::Metric::State")});
    states.name = "states";
    states.is_override = true;
    std::vector<cpp::Expr> rows;
    for (const ObjectMember& member : object_.members) {
      if (member.kind != ObjectMember::Kind::State) continue;
      std::string reduce = member.reduce.empty() ? "sum" : member.reduce;
      reduce[0] = char(reduce[0] - 'a' + 'A');
      rows.push_back(
          cpp::braces({cpp::string(member.name), cpp::unary("&", cpp::self(cx_.field_name(object_, member.name))),
                       cpp::name("ltr::Reduce::" + reduce)}));
    }
    states.body.push_back(cpp::give_back(cpp::braces(std::move(rows))));
    define(std::move(states));
    cpp::Function compute;
    compute.result = cpp::plain("ltr::Tensor");
    compute.name = "compute";
    compute.is_override = true;
    const ir::Function* length = find(ir::Role::MetricLength);
    if (const ir::Function* each = find(ir::Role::MetricEach); each != nullptr && length != nullptr) {
      cpp::Expr has_each = cpp::binary(">=", cpp::call(cpp::self(cx_.fn_name(*length)), {}), cpp::integer(0));
      compute.body.push_back(
          cpp::branch(std::move(has_each), {cpp::give_back(cpp::call(cpp::self(cx_.fn_name(*each)), {}))}));
    }
    if (const ir::Function* fn = find(ir::Role::MetricCompute)) {
      cpp::Expr value = cpp::call(cpp::self(cx_.fn_name(*fn)), {});
      if (fn->result.is_host_number()) value = cpp::call("ltr::tensor_of", {std::move(value)});
      compute.body.push_back(cpp::give_back(std::move(value)));
    }
    define(std::move(compute));
    if (const ir::Function* merge = find(ir::Role::MetricMerge)) add_merge(*merge);
  }

  const ir::Function* find(ir::Role role) const {
    for (const ir::Function& fn : cx_.module.functions) {
      if (fn.owner == object_.name && fn.role == role) return &fn;
    }
    return nullptr;
  }

  // The runtime has states in their order of declaration, a record by their names.
  void add_merge(const ir::Function& fn) {
    std::vector<std::string> states;
    for (const ObjectMember& member : object_.members) {
      if (member.kind == ObjectMember::Kind::State) states.push_back(member.name);
    }
    cpp::Function merge;
    merge.result = cpp::generic("std::vector", {cpp::plain("ltr::Tensor")});
    merge.name = "merge";
    merge.is_override = true;
    std::vector<cpp::Expr> parts;
    for (const char* part : {"first", "second"}) {
      merge.params.push_back({cpp::const_reference(merge.result), part});
      std::vector<cpp::Expr> fields;
      for (const ir::Field& field : fn.result.fields) {
        const auto place = std::find(states.begin(), states.end(), field.name) - states.begin();
        fields.push_back(cpp::index(cpp::name(part), cpp::integer(place)));
      }
      parts.push_back(cpp::braces(cx_.type(fn.result), std::move(fields)));
    }
    cpp::Expr merged = cpp::call(cpp::self(cx_.fn_name(fn)), std::move(parts));
    merge.body.push_back(cpp::variable(cpp::constant(cx_.type(fn.result)), "merged", std::move(merged)));
    std::vector<cpp::Expr> all;
    for (const std::string& state : states) all.push_back(cpp::dot(cpp::name("merged"), Context::identifier(state)));
    merge.body.push_back(cpp::give_back(cpp::braces(std::move(all))));
    define(std::move(merge));
  }

  void add_callback() {
    cpp::Function run;
    run.result = cpp::plain("void");
    run.name = "run";
    run.is_override = true;
    run.params = {{cpp::plain("int"), "hook"}, {cpp::reference(cpp::plain("ltr::Context")), "cx"}};
    for (size_t i = 0; i < object_.hooks.size(); ++i) {
      const ir::Function* fn = cx_.module.find(object_.hooks[i].fn);
      LTR_INVARIANT(fn != nullptr, "no function " + object_.hooks[i].fn, object_.loc);
      cpp::Body call = {cpp::expression(cpp::call(cpp::self(cx_.fn_name(*fn)), {cpp::name("cx")}))};
      run.body.push_back(cpp::branch(cpp::binary("==", cpp::name("hook"), cpp::integer(int64_t(i))), std::move(call)));
    }
    define(std::move(run));
    cpp::Function states;
    states.result = cpp::generic("std::vector", {cpp::plain("ltr::Callback::State")});
    states.name = "states";
    states.is_override = true;
    std::vector<cpp::Expr> rows;
    for (const ObjectMember& member : object_.members) {
      if (member.kind != ObjectMember::Kind::State) continue;
      const char* type = member.type.is(TypeKind::Int)     ? "int"
                         : member.type.is(TypeKind::Float) ? "float"
                         : member.type.is(TypeKind::Bool)  ? "bool"
                                                           : "str";
      rows.push_back(
          cpp::braces({cpp::string(member.name), cpp::unary("&", cpp::self(cx_.field_name(object_, member.name))),
                       cpp::string(type)}));
    }
    states.body.push_back(cpp::give_back(cpp::braces(std::move(rows))));
    define(std::move(states));
  }

  const ir::ObjectInfo& object_;
  Context& cx_;
  cpp::Struct out_;
};

}  // namespace

// Metrics first: models hold their states by value. What no kept function builds is left out.
void emit_objects(Context& cx) {
  constexpr TypeKind kOrder[] = {TypeKind::Metric, TypeKind::Block, TypeKind::Model, TypeKind::Data,
                                 TypeKind::Callback};
  for (const TypeKind kind : kOrder) {
    for (const ir::ObjectInfo& object : cx.tables.objects) {
      if (object.kind != kind || cx.module.find(object.constructor) == nullptr) continue;
      cx.file.forward.push_back(Context::identifier(object.name));
      ObjectEmitter(object, cx).run();
    }
  }
}

}  // namespace ltr::emit
