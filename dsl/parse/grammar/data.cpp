#include <optional>
#include <utility>

#include "dsl/diagnostics/suggest.h"
#include "dsl/parse/grammar/rules.h"
#include "runtime/tables/roles.h"

// data = "data" NAME [ params ] "{" batch { fn | let | stream } "}", and metric.
namespace ltr::parse::grammar {

namespace {

using K = TokenKind;

constexpr KindSet kRoles = {
#define LTR_ROLE(Name, ...) K::Name,
#include "runtime/tables/roles.def"
#undef LTR_ROLE
};

/// What makes `batch` the schema, also one that is written wrong.
constexpr KindSet kBehindBatch = {K::OpenBracket, K::OpenBrace, K::OpenParen, K::Name, K::Colon};

/// The `batch { … }` of a data declaration.
struct Schema {
  std::vector<ast::Name> binders;
  ast::RecordType fields;
  Span span;
};
/// One that could not be read is one all the same.
void mark_error(const State&, Schema& schema, Iter first, Iter) { schema.span = first->span; }

struct SchemaId : Spanned {};
const Rule<SchemaId, Schema> schema = "batch";
struct StreamId {};
const Rule<StreamId, ast::Stream> stream = "stream";
struct DataItemId : Documented {};
const Rule<DataItemId, ast::Item> data_item = "member";
struct MetricStateId {};
const Rule<MetricStateId, ast::State> metric_state = "state";
struct MetricItemId : Documented {};
const Rule<MetricItemId, ast::Item> metric_item = "member";

const auto set_schema = [](auto& c) {
  ast::Data& data = x3::_val(c);
  Schema& attr = x3::_attr(c);
  if (!data.batch_span.is_empty()) {
    state_of(c).report_at(x3::_where(c).begin(),
                          diag::second_batch(attr.span, data.name.text).label(data.batch_span, "the first is here"));
    return;
  }
  data.batch_binders = std::move(attr.binders);
  data.batch_fields = std::move(attr.fields.fields);
  data.batch_span = attr.span;
};
const auto check_schema = [](auto& c) {
  const ast::Data& data = x3::_val(c);
  // It may be what could not be read.
  if (!data.batch_span.is_empty() || state_of(c).is_damaged_behind(data.name.span.begin)) return;
  state_of(c).report_at(x3::_where(c).begin(),
                        diag::missing_batch(data.name.span, data.name.text)
                            .help("begin it with `batch[B] { image: float[B, 1, 28, 28], label: i64[B] }`"));
};

/// The stream that a word was probably meant to be. A short word is near to one by chance: `rest` is a part of a split.
std::optional<std::string> near_role(std::string_view word) {
  std::vector<std::string> streams;
  for (const RoleRow& role : kRoleRows) streams.emplace_back(role.name);
  if (const auto ours = diagnostics::renamed(word, streams)) return ours;
  return word.size() > 4 ? diagnostics::suggest(word, streams) : std::nullopt;
}

/// `parts = …` in a data declaration.
struct LooseValue : x3::parser<LooseValue> {
  using attribute_type = x3::unused_type;
  static const bool has_attribute = false;
  template <class C, class RContext, class Attribute>
  bool parse(Iter& first, const Iter&, const C& context, RContext&&, Attribute&&) const {
    if (!kNames.has(first->kind) || kRoles.has(first->kind) || std::next(first)->kind != K::Assign) return false;
    State& state = state_of(context);
    diagnostics::Diagnostic diagnostic = diag::misplaced_member(first->span, state.text(*first), "in data");
    if (const auto role = near_role(state.text(*first))) {
      diagnostic.help("did you mean `{}`?", *role).fix(first->span, *role);
    } else {
      const Span before = {first->span.source, first->span.begin, first->span.begin};
      diagnostic.help("streams are `train`, `val`, `test` and `predict`; any other value is a `let`")
          .fix(before, "let ");
    }
    state.report_at(first, std::move(diagnostic));
    fail_reported(first);
  }
};

const auto schema_def = x3::omit[(ahead(K::Batch, kBehindBatch) >> skip_quietly(K::Batch)) >
                                 -binders[set<&Schema::binders>] > record_type[set<&Schema::fields>]];
const auto stream_def =
    x3::omit[(ahead(kRoles, KindSet{K::Assign, K::Dot}) >> NameParser(kRoles)[set<&ast::Stream::role>]) >
             -(skip_quietly(K::Dot) > name[set<&ast::Stream::name>]) > skip(K::Assign) >
             value[set<&ast::Stream::value>]];
const auto data_item_def = x3::omit[labelled(
    Expected::DataMember, fn[take_node] | let[take_node] | stream[take_node] | misplaced("data") | LooseValue())];
// The schema is an entry of its own: what it holds belongs to the declaration, not to an item.
const auto data_entry = recovering(Level::Statement, x3::eps > data_item > end_of_entry)[push<&ast::Data::items>];
const auto data_def =
    x3::omit[keyword(K::Data) > name[set<&ast::Data::name>] > -params[params_of] >
             braced_entries((ahead(K::Batch, kBehindBatch) >>
                             recovering(Level::Statement, x3::eps > schema > end_of_entry)[set_schema]) |
                            data_entry) > x3::eps[check_schema]];

const auto metric_state_def =
    x3::omit[keyword(K::State) > name[set<&ast::State::name>] > skip(K::Colon) > type[set<&ast::State::type>] >
             skip(K::Assign) > value[set<&ast::State::value>] > skip(K::Reduce) >
             ((NameParser(K::Merge, Expected::Reduction)[set<&ast::State::reduce>] > name[set<&ast::State::merge>]) |
              NameParser(kReductions, Expected::Reduction)[set<&ast::State::reduce>])];
const auto metric_item_def = x3::omit[labelled(
    Expected::MetricMember, metric_state[take_node] | fn[take_node] | let[take_node] | misplaced("a metric"))];
const auto metric_def =
    x3::omit[keyword(K::Metric) > name[set<&ast::Metric::name>] > params[params_of] >
             braced_entries(
                 recovering(Level::Statement, x3::eps > metric_item > end_of_entry)[push<&ast::Metric::items>])];

BOOST_SPIRIT_DEFINE(schema, stream, data_item, metric_state, metric_item)

}  // namespace

BOOST_SPIRIT_DEFINE(data, metric)
LTR_INSTANTIATE(data)
LTR_INSTANTIATE(metric)

}  // namespace ltr::parse::grammar
