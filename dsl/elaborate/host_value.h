#pragma once

#include "dsl/elaborate/instance.h"
#include "dsl/host/math.h"

namespace ltr::elaborate {

/// Host values as the numbers that arithmetic takes and gives; nothing of one that is no number, or is not known.
std::optional<host::Number> number_of(const Value& value);
Value of_number(const host::Number& number);
/// Whether two host values are equal, if both are known.
std::optional<bool> equal(const Value& a, const Value& b);
/// How many numbers there are from `from` up to `to`, if both are known and so many can be counted.
Size count_between(const Value& from, const Value& to);
/// Of a list the elements from `first` up to `end`, which may be none; nothing if that is not known.
std::optional<Value> part_of(Value list, const Value& first, const Value& end);
/// The dims that a tensor is given which is made of no other, `zeros(n, 3)`, where its type does not know them.
void take_dims(Value& tensor, const std::vector<Value>& args);

}  // namespace ltr::elaborate
