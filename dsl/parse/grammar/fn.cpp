#include <algorithm>
#include <array>
#include <utility>

#include "dsl/parse/grammar/rules.h"

// fn, its parameters, and the one-line declarations: hparam, type, const, let, extern, import.
namespace ltr::parse::grammar {

namespace {

using K = TokenKind;

struct ParamId : Spanned {};
const Rule<ParamId, ast::Param> param = "parameter";
struct ParamListId : Spanned {};
const Rule<ParamListId, Params> param_list = "parameters";
struct ExternFnId : Documented {};
const Rule<ExternFnId, ast::ExternFn> extern_fn = "extern fn";

const auto set_params = [](auto& c) {
  x3::_val(c).params = std::move(x3::_attr(c).list);
  x3::_val(c).params_span = x3::_attr(c).span;
};
/// The tail of a function, behind the name that was already read.
const auto set_tail = [](auto& c) {
  ast::Name fn_name = std::move(x3::_val(c).name);
  x3::_val(c) = std::move(x3::_attr(c));
  x3::_val(c).name = std::move(fn_name);
};
const auto set_body = [](auto& c) {
  x3::_val(c).body = std::move(x3::_attr(c));
  x3::_val(c).has_body = true;
};
const auto signature_name = [](auto& c) { x3::_val(c).signature.name = std::move(x3::_attr(c)); };
const auto signature_binders = [](auto& c) { x3::_val(c).signature.binders = std::move(x3::_attr(c)); };
const auto signature_params = [](auto& c) {
  x3::_val(c).signature.params = std::move(x3::_attr(c).list);
  x3::_val(c).signature.params_span = x3::_attr(c).span;
};
const auto signature_result = [](auto& c) { x3::_val(c).signature.result = std::move(x3::_attr(c)); };
const auto signature_where = [](auto& c) { x3::_val(c).signature.where = std::move(x3::_attr(c)); };
const auto file_of = [](auto& c) {
  x3::_val(c).file = std::move(x3::_attr(c).text);
  x3::_val(c).file_span = x3::_attr(c).span;
};

/// `import torch`: what a Python program would name is here without an import.
const auto check_path = [](auto& c) {
  constexpr std::array<std::string_view, 14> kPackages = {
      "torch", "numpy", "pandas", "tensorflow", "jax",    "keras",       "lightning",
      "os",    "sys",   "math",   "random",     "typing", "torchvision", "pytorch_lightning"};
  const ast::Import& import = x3::_val(c);
  const ast::Name& package = x3::_attr(c);
  if (import.path.empty() && std::find(kPackages.begin(), kPackages.end(), package.text) != kPackages.end()) {
    state_of(c).report_at(x3::_where(c).begin(),
                          diag::python_form(package.span, "import " + package.text, "not needed")
                              .help("tensor functions, layers, losses and optimizers are in scope without an import{}",
                                    package.text == "torchvision"
                                        ? "; models are in `std.models`, and what is done to images in `std.vision`"
                                        : ""));
  }
  x3::_val(c).path.push_back(std::move(x3::_attr(c)));
};
const auto import_file = [](auto& c) { x3::_val(c).file = std::move(x3::_attr(c).text); };

const auto binders_def = x3::omit[skip_quietly(K::OpenBracket) > separated(name[push_back]) > skip(K::CloseBracket)];

const auto param_def =
    x3::omit[name[set<&ast::Param::name>] > skip(K::Colon) >
             ((ahead(K::Block, KindSet{K::OpenBracket, K::OpenParen}) >> signature[set<&ast::Param::type>]) |
              type[set<&ast::Param::type>]) > -(skip_quietly(K::Assign) > expr[set<&ast::Param::initial>]) >
             (ahead(KindSet{K::Comma, K::CloseParen}) | skip(K::Comma) | skip(K::CloseParen))];
const auto param_list_def =
    x3::omit[skip(K::OpenParen) > -separated(recovering(Level::Parameter, param)[push<&Params::list>]) >
             skip(K::CloseParen)];
const auto params_def = x3::omit[param_list[take]];

const auto fn_tail_def = x3::omit[x3::eps > -binders[set<&ast::Fn::binders>] > params[set_params] >
                                  -((skip_quietly(K::Arrow) | missing_arrow) > type[set<&ast::Fn::result>]) >
                                  -(skip_quietly(K::Where) > expr[set<&ast::Fn::where>]) >
                                  (body[set_body] | (skip(K::Assign) > value[set<&ast::Fn::value>]))];
const auto fn_def = x3::omit[keyword(K::Fn) > name[set<&ast::Fn::name>] > fn_tail[set_tail]];

const auto hparam_def = x3::omit[skip_quietly(K::Hparam) > name[set<&ast::Hparam::name>] > skip(K::Colon) >
                                 type[set<&ast::Hparam::type>] > skip(K::Assign) > value[set<&ast::Hparam::value>] >
                                 -(skip_quietly(K::Where) > value[set<&ast::Hparam::where>])];
const auto type_name_def =
    x3::omit[keyword(K::Type) > name[set<&ast::TypeName::name>] > skip(K::Assign) > type[set<&ast::TypeName::type>]];
const auto constant_def =
    x3::omit[skip_quietly(K::Const) > name[set<&ast::Const::name>] > -(skip(K::Colon) > type[set<&ast::Const::type>]) >
             skip(K::Assign) > value[set<&ast::Const::value>]];
const auto let_def =
    x3::omit[keyword(K::Let) > name[set<&ast::Let::name>] > -(skip(K::Colon) > type[set<&ast::Let::type>]) >
             skip(K::Assign) > value[set<&ast::Let::value>]];

const auto extern_fn_def =
    x3::omit[skip(K::Fn) > name[signature_name] > -binders[signature_binders] > params[signature_params] >
             -(skip(K::Arrow) > type[signature_result]) > -(skip_quietly(K::Where) > expr[signature_where]) >
             -(skip_quietly(K::Backward) > name[set<&ast::ExternFn::backward>])];
const auto extern_fns_def =
    x3::omit[keyword(K::Extern) > string("the file of `extern`")[file_of] >
             braced_entries(recovering(Level::Entry, x3::eps > extern_fn > end_of_entry)[push<&ast::Extern::fns>])];

const auto import_def =
    x3::omit[keyword(K::Import) >
             ((ahead(KindSet{K::Str, K::StrBegin}) >> string("the file of `import`")[import_file] > skip(K::As) >
               name[set<&ast::Import::alias>]) |
              (name[check_path] >
               *((ahead(K::Dot, kWords) >> skip_quietly(K::Dot)) > any_word[push<&ast::Import::path>]) >
               ((skip(K::Dot) > skip(K::OpenBrace)[raise<&ast::Import::has_names>] > -skip_quietly(K::Newline) >
                 separated(name[push<&ast::Import::names>]) > -skip_quietly(K::Newline) > skip(K::CloseBrace)) |
                -(skip(K::As) > name[set<&ast::Import::alias>]))))];

BOOST_SPIRIT_DEFINE(param, param_list, extern_fn)

}  // namespace

BOOST_SPIRIT_DEFINE(binders, params, fn_tail, fn, hparam, type_name, constant, let, extern_fns, import)
LTR_INSTANTIATE(binders)
LTR_INSTANTIATE(params)
LTR_INSTANTIATE(fn_tail)
LTR_INSTANTIATE(fn)
LTR_INSTANTIATE(hparam)
LTR_INSTANTIATE(type_name)
LTR_INSTANTIATE(constant)
LTR_INSTANTIATE(let)
LTR_INSTANTIATE(extern_fns)
LTR_INSTANTIATE(import)

}  // namespace ltr::parse::grammar
