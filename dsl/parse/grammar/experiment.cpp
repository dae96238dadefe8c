#include <utility>

#include "dsl/ast/section.h"
#include "dsl/diagnostics/suggest.h"
#include "dsl/parse/grammar/rules.h"

// experiment = "experiment" NAME [ "amends" NAME ] "{" { setting | section | set } "}".
namespace ltr::parse::grammar {

namespace {

using K = TokenKind;

struct DrawId : Spanned {};
const Rule<DrawId, ast::Setting> draw = "setting";
struct SetsId {};
const Rule<SetsId, std::vector<ast::Setting>> sets = "set";
struct SettingsSectionId : Spanned {};
const Rule<SettingsSectionId, ast::Section> settings_section = "section";
struct ValuesSectionId : Spanned {};
const Rule<ValuesSectionId, ast::Section> values_section = "section";

constexpr KindSet kSettingsSections = {
#define LTR_SETTINGS_SECTION(Token, name, amends) K::Token,
#include "dsl/ast/section.def"
};
constexpr KindSet kValuesSections = {
#define LTR_VALUES_SECTION(Token, name) K::Token,
#include "dsl/ast/section.def"
};

const auto push_sets = [](auto& c) {
  for (ast::Setting& one : x3::_attr(c)) x3::_val(c).sets.push_back(std::move(one));
};

/// `trainr { … }`
struct UnknownSection : x3::parser<UnknownSection> {
  using attribute_type = x3::unused_type;
  static const bool has_attribute = false;
  template <class C, class RContext, class Attribute>
  bool parse(Iter& first, const Iter&, const C& context, RContext&&, Attribute&&) const {
    if (!kNames.has(first->kind) || std::next(first)->kind != K::OpenBrace) return false;
    std::vector<std::string> names;
    for (const ast::SectionInfo& info : ast::kSections) names.emplace_back(info.name);
    State& state = state_of(context);
    diagnostics::Diagnostic diagnostic = diag::unknown_section(first->span, state.text(*first));
    const auto near = diagnostics::suggest(state.text(*first), names);
    if (near) {
      add_near(diagnostic, state.text(*first), first->span, *near);
    } else {
      diagnostic.help("its sections are {}", diagnostics::listed(names));
    }
    state.report_at(first, std::move(diagnostic));
    fail_reported(first);
  }
};

/// The `=` of `trainer = { … }`, which is reported; it is a section all the same.
struct SectionSign : x3::parser<SectionSign> {
  using attribute_type = x3::unused_type;
  static const bool has_attribute = false;
  template <class C, class RContext, class Attribute>
  bool parse(Iter& first, const Iter&, const C& context, RContext&&, Attribute&&) const {
    if (first->kind != K::Assign || std::next(first)->kind != K::OpenBrace) return false;
    State& state = state_of(context);
    const std::string section(state.text(*std::prev(first)));
    state.report_at(first, diag::unknown_setting(std::prev(first)->span, "an experiment", section)
                               .help("it is a section: `{} { … }`", section)
                               .fix({first->span.source, std::prev(first)->span.end, first->span.end}, ""));
    ++first;
    return true;
  }
};

const auto draw_def = x3::omit[name[set<&ast::Setting::name>] > ((skip(K::In)[raise<&ast::Setting::is_draw>]) |
                                                                 skip(K::Assign)) > value[set<&ast::Setting::value>]];
const auto settings_section_def =
    x3::omit[((ahead(kSettingsSections, K::OpenBrace) | ahead(kSettingsSections, K::Assign, K::OpenBrace)) >>
              NameParser(kSettingsSections)[set<&ast::Section::name>]) > -SectionSign() >
             braced_entries(recovering(
                 Level::Entry, labelled(Expected::Setting, draw) > end_of_entry)[push<&ast::Section::settings>])];
const auto values_section_def =
    x3::omit[((ahead(kValuesSections, KindSet{K::OpenBrace, K::PlusAssign}) |
               ahead(kValuesSections, K::Assign, K::OpenBrace)) >>
              NameParser(kValuesSections)[set<&ast::Section::name>]) > -SectionSign() >
             -skip_quietly(K::PlusAssign)[raise<&ast::Section::adds>] >
             braced_entries(recovering(Level::Entry, x3::eps > expr > end_of_entry)[push<&ast::Section::values>])];
const auto sets_def = x3::omit[keyword(K::Set) > setting[push_back] >
                               *(ahead(K::Comma, kNames, K::Assign) >> skip_quietly(K::Comma) >> setting[push_back])];
const auto experiment_entry =
    labelled(Expected::Section, sets[push_sets] | settings_section[push<&ast::Experiment::sections>] |
                                    values_section[push<&ast::Experiment::sections>] | misplaced("an experiment") |
                                    UnknownSection() | setting[push<&ast::Experiment::settings>]);
const auto experiment_def =
    x3::omit[keyword(K::Experiment) > name[set<&ast::Experiment::name>] >
             -(skip_quietly(K::Amends) > qualified[set<&ast::Experiment::amends>]) >
             braced_entries(recovering(Level::Entry, x3::eps > experiment_entry > end_of_entry))];

BOOST_SPIRIT_DEFINE(draw, sets, settings_section, values_section)

}  // namespace

BOOST_SPIRIT_DEFINE(experiment)
LTR_INSTANTIATE(experiment)

}  // namespace ltr::parse::grammar
