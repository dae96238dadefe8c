#pragma once

// Host values of generated code as `Value`s of settings, and back: numbers, text, lists, tuples, records and options of them.

#include "ltr/api.h"

namespace ltr {

template <class T>
struct ValueOf {
  static Value make(const T& value) { return Value(value); }
  static T read(const Value& value) {
    if constexpr (std::is_same_v<T, int64_t>) {
      return value.as_int();
    } else if constexpr (std::is_same_v<T, double>) {
      return value.as_float();
    } else if constexpr (std::is_same_v<T, bool>) {
      return value.as_bool();
    } else if constexpr (std::is_same_v<T, Str>) {
      return value.as_str();
    } else {
      return value;
    }
  }
};

template <class T>
struct ValueOf<Option<T>> {
  static Value make(const Option<T>& value) { return value ? ValueOf<T>::make(*value) : Value(); }
  static Option<T> read(const Value& value) {
    return value.is_none() ? Option<T>() : Option<T>(ValueOf<T>::read(value));
  }
};

template <class T>
struct ValueOf<std::vector<T>> {
  static Value make(const std::vector<T>& list) {
    std::vector<Value> values;
    for (const T& one : list) values.push_back(ValueOf<T>::make(one));
    return Value::list(std::move(values));
  }
  static std::vector<T> read(const Value& value) {
    std::vector<T> list;
    for (const Argument& item : value.items) list.push_back(ValueOf<T>::read(item.value));
    return list;
  }
};

template <class... T>
struct ValueOf<std::tuple<T...>> {
  static Value make(const std::tuple<T...>& parts) {
    return std::apply([](const T&... part) { return Value::tuple({ValueOf<T>::make(part)...}); }, parts);
  }
  static std::tuple<T...> read(const Value& value) {
    size_t next = 0;
    return std::tuple<T...>{ValueOf<T>::read(value.items[next++].value)...};  // Braces go from left to right.
  }
};

/// A record of the program, whose struct says its parts: a tuple to settings.
template <class T>
  requires requires(const T& whole) { T::ltr_parts(whole); }
struct ValueOf<T> {
  using Parts = decltype(T::ltr_parts(std::declval<const T&>()));
  static Value make(const T& whole) { return ValueOf<Parts>::make(T::ltr_parts(whole)); }
  static T read(const Value& value) {
    return std::apply([](auto&&... part) { return T{std::move(part)...}; }, ValueOf<Parts>::read(value));
  }
};

template <class T>
Value value_of(const T& value) {
  return ValueOf<T>::make(value);
}

template <class T>
T value_as(const Value& value) {
  return ValueOf<T>::read(value);
}

}  // namespace ltr
