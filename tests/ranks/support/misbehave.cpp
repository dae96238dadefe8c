#include "misbehave.ltr.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <thread>

int64_t opened(int64_t records, int64_t who, const std::string& how) {
  const char* rank = std::getenv("LTR_RANK");
  if (how == "late" && rank != nullptr && std::atoll(rank) == who) std::this_thread::sleep_for(std::chrono::minutes(1));
  return records;
}

ltr::Tensor misbehave(const ltr::Tensor& weight, const std::string& how) {
  if (how == "throw") throw std::runtime_error("this rank gives up");
  if (how == "hang") std::this_thread::sleep_for(std::chrono::hours(1));
  if (how == "exit") ::_exit(9);
  if (how == "write") const_cast<float*>(ltr::data<float>(weight))[0] += 1;
  return ltr::zeros({});
}
