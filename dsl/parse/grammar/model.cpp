#include <utility>

#include "dsl/parse/grammar/rules.h"

// model = "model" NAME params "{" { member | fn | optimizer | init | step } "}".
namespace ltr::parse::grammar {

namespace {

using K = TokenKind;

struct GroupId {};
const Rule<GroupId, ast::Group> group = "group";
struct OptimizerId {};
const Rule<OptimizerId, ast::Optimizer> optimizer = "optimizer";
struct InitId {};
const Rule<InitId, ast::Init> init = "init";
struct StepId {};
const Rule<StepId, ast::Step> step = "step";
struct ModelItemId : Documented {};
const Rule<ModelItemId, ast::Item> model_item = "member";

const auto step_name = [](auto& c) { x3::_val(c).fn.name = std::move(x3::_attr(c)); };
const auto step_binders = [](auto& c) { x3::_val(c).fn.binders = std::move(x3::_attr(c)); };
const auto step_params = [](auto& c) {
  x3::_val(c).fn.params = std::move(x3::_attr(c).list);
  x3::_val(c).fn.params_span = x3::_attr(c).span;
};
const auto step_result = [](auto& c) { x3::_val(c).fn.result = std::move(x3::_attr(c)); };
const auto step_body = [](auto& c) {
  x3::_val(c).fn.body = std::move(x3::_attr(c));
  x3::_val(c).fn.has_body = true;
};
const auto step_value = [](auto& c) { x3::_val(c).fn.value = std::move(x3::_attr(c)); };

const auto group_def =
    x3::omit[keyword(K::Group) > string("a pattern")[set_string<&ast::Group::pattern, &ast::Group::pattern_span>] >
             braced_entries(recovering(Level::Entry, setting > end_of_entry)[push<&ast::Group::settings>])];
const auto optimizer_entry =
    labelled(Expected::Setting, group[push<&ast::Optimizer::groups>] | setting[push<&ast::Optimizer::settings>]);
const auto optimizer_def =
    x3::omit[keyword(K::Optimizer) > name[set<&ast::Optimizer::name>] > skip(K::Assign) >
             value[set<&ast::Optimizer::value>] >
             -braced_entries(recovering(Level::Entry, x3::eps > optimizer_entry > end_of_entry))];
const auto init_def =
    x3::omit[keyword(K::Init) > string("a pattern")[set_string<&ast::Init::pattern, &ast::Init::pattern_span>] >
             skip(K::Assign) > value[set<&ast::Init::value>]];
const auto step_def =
    x3::omit[keyword(K::Step) > name[step_name] > ((skip(K::Assign) > name[set<&ast::Step::copy_of>]) |
                                                   (-binders[step_binders] > params[step_params] >
                                                    -((skip_quietly(K::Arrow) | missing_arrow) > type[step_result]) >
                                                    -skip_quietly(K::Manual)[raise<&ast::Step::is_manual>] >
                                                    (body[step_body] | (skip(K::Assign) > value[step_value]))))];
const auto model_item_def = x3::omit[labelled(
    Expected::ModelMember, step[take_node] | fn[take_node] | let[take_node] | parameter[take_node] |
                               optimizer[take_node] | init[take_node] | misplaced("a model") | member[take_node])];
const auto model_def = x3::omit[keyword(K::Model) > name[set<&ast::Model::name>] > params[params_of] >
                                braced_entries(recovering(
                                    Level::Statement, x3::eps > model_item > end_of_entry)[push<&ast::Model::items>])];

BOOST_SPIRIT_DEFINE(group, optimizer, init, step, model_item)

}  // namespace

BOOST_SPIRIT_DEFINE(model)
LTR_INSTANTIATE(model)

}  // namespace ltr::parse::grammar
