#include <utility>

#include "dsl/parse/grammar/rules.h"

// block = "block" NAME params "{" { member | fn } "}".
namespace ltr::parse::grammar {

namespace {

using K = TokenKind;

struct LoadRuleId : Spanned {};
const Rule<LoadRuleId, ast::LoadRule> load_rule = "load rule";
struct BlockItemId : Documented {};
const Rule<BlockItemId, ast::Item> block_item = "member";

const auto is_buffer = [](auto& c) { x3::_val(c).is_buffer = x3::_attr(c).kind == K::Buffer; };
const auto rule_kind = [](auto& c) {
  const TokenKind kind = x3::_attr(c).kind;
  x3::_val(c).kind = kind == K::Skip ? ast::LoadRule::Kind::Skip : ast::LoadRule::Kind::Freeze;
};
const auto is_rename = [](auto& c) { x3::_val(c).kind = ast::LoadRule::Kind::Rename; };
const auto rule_pattern = [](auto& c) { x3::_val(c).pattern = std::move(x3::_attr(c).text); };
const auto rule_replacement = [](auto& c) { x3::_val(c).replacement = std::move(x3::_attr(c).text); };

const auto load_rule_def =
    x3::omit[labelled(Expected::LoadRule, (skip(K::Rename)[is_rename] > string("a pattern")[rule_pattern] >
                                           skip(K::FatArrow) > string("a name")[rule_replacement]) |
                                              (token(KindSet{K::Skip, K::Freeze}, Expected::LoadRule)[rule_kind] >
                                               string("a pattern")[rule_pattern]))];

const auto member_def = x3::omit[name[set<&ast::Member::name>] > skip(K::Assign) > value[set<&ast::Member::value>] >
                                 -(skip_quietly(K::From) > expr[set<&ast::Member::source>] >
                                   -braced_entries(recovering(
                                       Level::Entry, x3::eps > load_rule > end_of_entry)[push<&ast::Member::rules>]))];
const auto parameter_def =
    x3::omit[(ahead(KindSet{K::Weight, K::Buffer}) >> !ahead(KindSet{K::Weight, K::Buffer}, kAfterName) >>
              quiet(KindSet{K::Weight, K::Buffer})[is_buffer]) > name[set<&ast::Parameter::name>] > skip(K::Colon) >
             type[set<&ast::Parameter::type>] > skip(K::Assign) > value[set<&ast::Parameter::value>]];
const auto block_item_def =
    x3::omit[labelled(Expected::BlockMember, fn[take_node] | let[take_node] | parameter[take_node] |
                                                 misplaced("a block") | member[take_node])];
const auto block_def = x3::omit[keyword(K::Block) > name[set<&ast::Block::name>] > params[params_of] >
                                braced_entries(recovering(
                                    Level::Statement, x3::eps > block_item > end_of_entry)[push<&ast::Block::items>])];

BOOST_SPIRIT_DEFINE(load_rule, block_item)

}  // namespace

BOOST_SPIRIT_DEFINE(block, member, parameter)
LTR_INSTANTIATE(block)
LTR_INSTANTIATE(member)
LTR_INSTANTIATE(parameter)

}  // namespace ltr::parse::grammar
