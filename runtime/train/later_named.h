#pragma once

// Named numbers of a window that stay where they were computed until a recorded step asks for them.

#include "runtime/loggers/logger.h"
#include "runtime/tensor/host_read.h"

namespace ltr {

class LaterNamed {
 public:
  template <class Number>
  void add(Str name, const Number& number) {
    names_.push_back(std::move(name));
    numbers_.keep(number);
  }
  /// Appends all; waits once, if anything lies on a device.
  void read_into(loggers::NamedValues& row) {
    const std::span<const double> numbers = numbers_.read();
    for (size_t i = 0; i < names_.size(); i++) row.emplace_back(names_[i], numbers[i]);
  }
  void clear() {
    names_.clear();
    numbers_.clear();
  }

 private:
  std::vector<Str> names_;
  DeviceValues numbers_;
};

}  // namespace ltr
