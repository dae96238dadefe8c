#include <utility>

#include "dsl/parse/grammar/rules.h"

// topology = "topology" NAME [ "amends" NAME ] "{" { setting | shard | recompute | section } "}".
namespace ltr::parse::grammar {

namespace {

using K = TokenKind;

struct ShardId : Spanned {};
const Rule<ShardId, ast::Shard> shard = "shard";
struct RecomputeId : Spanned {};
const Rule<RecomputeId, ast::Recompute> recompute = "recompute";
struct SectionId : Spanned {};
const Rule<SectionId, ast::Section> section = "section";

const auto setting_def = x3::omit[name[set<&ast::Setting::name>] > skip(K::Assign) > value[set<&ast::Setting::value>]];

// A `, NAME` goes on with the axes unless it begins the next entry.
constexpr KindSet kAfterEntryName = KindSet{K::Assign, K::OpenBrace} | kNames;
const auto next_axis = ((ahead(K::Comma, kNames, K::AtWord) >> !ahead(K::Comma, K::Recompute)) |
                        (ahead(K::Comma, kNames) >> !ahead(K::Comma, kNames, kAfterEntryName))) >>
                       skip_quietly(K::Comma);
const auto shard_def =
    x3::omit[keyword(K::Shard) > name[set<&ast::Shard::what>] > skip(K::Over) > name[push<&ast::Shard::axes>] >
             *(next_axis > name[push<&ast::Shard::axes>]) > -(skip_quietly(K::AtWord) > name[set<&ast::Shard::at>])];
const auto recompute_def = x3::omit[keyword(K::Recompute) > skip(K::AtWord) > name[set<&ast::Recompute::at>]];
const auto section_def =
    x3::omit[(ahead(kNames, K::OpenBrace) >> name[set<&ast::Section::name>]) >
             braced_entries(recovering(
                 Level::Entry, labelled(Expected::Setting, setting) > end_of_entry)[push<&ast::Section::settings>])];
const auto topology_entry =
    labelled(Expected::Setting, shard[push<&ast::Topology::shards>] | recompute[push<&ast::Topology::recomputes>] |
                                    section[push<&ast::Topology::sections>] | misplaced("a topology") |
                                    setting[push<&ast::Topology::settings>]);
const auto topology_def = x3::omit[keyword(K::Topology) > name[set<&ast::Topology::name>] >
                                   -(skip_quietly(K::Amends) > qualified[set<&ast::Topology::amends>]) >
                                   braced_entries(recovering(Level::Entry, x3::eps > topology_entry > end_of_entry))];

BOOST_SPIRIT_DEFINE(shard, recompute, section)

}  // namespace

BOOST_SPIRIT_DEFINE(topology, setting)
LTR_INSTANTIATE(topology)
LTR_INSTANTIATE(setting)

}  // namespace ltr::parse::grammar
