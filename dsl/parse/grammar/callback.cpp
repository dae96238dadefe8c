#include <utility>

#include "dsl/parse/grammar/rules.h"

// callback = "callback" NAME [ params ] [ "for" NAME ] "{" { on | state | fn } "}".
namespace ltr::parse::grammar {

namespace {

using K = TokenKind;

struct HookId {};
const Rule<HookId, ast::Hook> hook = "hook";
struct CallbackItemId : Documented {};
const Rule<CallbackItemId, ast::Item> callback_item = "member";

const auto hook_def = x3::omit[keyword(K::On) > name[set<&ast::Hook::name>] > body[set<&ast::Hook::body>]];
const auto state_member_def = x3::omit[keyword(K::State) > name[set<&ast::State::name>] > skip(K::Colon) >
                                       type[set<&ast::State::type>] > skip(K::Assign) > value[set<&ast::State::value>]];
const auto callback_item_def = x3::omit[labelled(
    Expected::CallbackMember, hook[take_node] | state_member[take_node] | fn[take_node] | misplaced("a callback"))];
const auto callback_def =
    x3::omit[keyword(K::Callback) > name[set<&ast::Callback::name>] > -params[params_of] >
             -(skip(K::For) > qualified[set<&ast::Callback::model>]) >
             braced_entries(
                 recovering(Level::Statement, x3::eps > callback_item > end_of_entry)[push<&ast::Callback::items>])];

BOOST_SPIRIT_DEFINE(hook, callback_item)

}  // namespace

BOOST_SPIRIT_DEFINE(callback, state_member)
LTR_INSTANTIATE(callback)
LTR_INSTANTIATE(state_member)

}  // namespace ltr::parse::grammar
