#pragma once

// Rules of E05 and W05 that look at what streams are made of. Types of streams are checked in
// `check_stream.cpp`.

#include "dsl/check/scope/context.h"

namespace ltr::check {

/// W0502, W0503: training data is shuffled, other data is not.
void check_shuffling(Context& cx, const DataObject& data);
/// W0504: what is trained on is not evaluated on.
void check_same_records(Context& cx, const DataObject& data);
/// W0504: nor where an experiment gives both streams the same files.
void check_given_records(Context& cx, const DataObject& data, const Experiment& experiment);
/// W0504: of the parts of a split none is measured on twice while another is left.
void check_measured_twice(Context& cx, const DataObject& data);
/// W0505: what maps of `train` know of streams is nothing that is measured on.
void check_known_records(Context& cx, const DataObject& data);
/// E0510: a split takes no more records than there are; W0512: nor some of them alone. Where an experiment is given, as it gives the numbers.
void check_splits(Context& cx, const DataObject& data, const Experiment* experiment = nullptr);
/// E0517: a stage that wants all records takes no stream that goes on for ever.
void check_endless_inputs(Context& cx, const DataObject& data);
/// E0514: what a filter chooses hangs on no random numbers.
void check_filters(Context& cx, const DataObject& data);
/// Where `field` stands in the schema of the source `read`: within `as {…}`, or in the type that is named there. `read` itself
/// where neither is.
Span schema_place(const std::string& field, Span read, const Context& cx);
/// E0512: what is wanted of a file that is there stands in its header, or first record. `arguments` are those of an experiment, or empty.
void check_columns(Context& cx, const DataObject& data, const ExprIds& arguments, const Experiment& experiment);
/// W0507 to W0510: stages stand in an order that leaves the records what they are.
void check_stages(Context& cx, const DataObject& data);
/// W0508, W0514: maps of what is measured draw nothing, and what belongs together is varied together.
void check_varied(Context& cx, const DataObject& data);
/// W0515: `collate` fills up with the word that a vocabulary has for it.
void check_padding(Context& cx, const DataObject& data);
/// W0516: what is moved by the mean of a column is divided by its own deviation.
void check_scales(Context& cx, const DataObject& data);
/// W0501: some step of an experiment reads each field of the batch. For all data, at the end.
void check_fields(Context& cx);

/// A `let` of the data where an expression names one, else the expression itself.
ExprView behind_lets(const ExprView& expr, const DataObject& data, const Program& program);
/// The `repeat()` that lets a stream go on for ever, if nothing behind it ends it.
std::optional<ExprView> find_endless(const ExprView& stream, const DataObject& data, const Program& program);
/// The stream that a stage takes; nothing for a source.
std::optional<ExprId> input_of(const ExprView& stage, const Program& program);
/// Of a stage behind a `|>`, what to cut so that it goes: from behind its input to its end.
std::optional<Span> pipe_of(const Context& cx, const ExprView& stage);
/// A stage behind a `|>`, without what stands in front of it.
Span stage_span(const Context& cx, const ExprView& stage);
/// The function of the library that a stream is a call of; None for others.
library::Id stage_of(const ExprView& stream);

}  // namespace ltr::check
