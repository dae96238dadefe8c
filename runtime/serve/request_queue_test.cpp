#include "runtime/serve/request_queue.h"

#include <thread>

#include <doctest/doctest.h>

namespace ltr::serve {

namespace {

using std::chrono::milliseconds;

Waiting of_rows(size_t count, std::vector<bool> has = {true}) {
  Waiting one;
  one.rows.records.resize(count);
  one.rows.has = std::move(has);
  return one;
}

bool put(RequestQueue& queue, size_t rows, std::vector<bool> has = {true}) {
  Waiting one = of_rows(rows, std::move(has));
  return queue.put(one);
}

std::vector<size_t> sizes(const std::vector<Waiting>& group) {
  std::vector<size_t> out;
  for (const Waiting& one : group) out.push_back(one.rows.records.size());
  return out;
}

}  // namespace

TEST_CASE("requests are computed together as far as their rows fit and have the same fields") {
  RequestQueue queue({.most = 10, .batch_rows = 8, .wait = std::chrono::duration<double>(0)});
  CHECK(queue.take(milliseconds(1)).empty());
  for (const size_t rows : {3, 4, 2, 20, 1}) CHECK(put(queue, rows));
  CHECK(put(queue, 1, {false}));
  CHECK(put(queue, 1, {false}));
  CHECK(sizes(queue.take(milliseconds(1))) == std::vector<size_t>{3, 4});
  CHECK(sizes(queue.take(milliseconds(1))) == std::vector<size_t>{2});
  CHECK(sizes(queue.take(milliseconds(1))) == std::vector<size_t>{20});
  CHECK(sizes(queue.take(milliseconds(1))) == std::vector<size_t>{1});
  CHECK(sizes(queue.take(milliseconds(1))) == std::vector<size_t>{1, 1});
  CHECK(queue.size() == 0);
}

TEST_CASE("one that waits is not held back by who never comes, and a full group not by the time") {
  RequestQueue queue({.most = 10, .batch_rows = 2, .wait = std::chrono::duration<double>(60)});
  CHECK(put(queue, 1));
  std::thread second([&] { CHECK(put(queue, 1)); });
  CHECK(sizes(queue.take(milliseconds(60'000))) == std::vector<size_t>{1, 1});
  second.join();
  RequestQueue brief({.most = 10, .batch_rows = 2, .wait = std::chrono::duration<double>(0.001)});
  CHECK(put(brief, 1));
  CHECK(sizes(brief.take(milliseconds(60'000))) == std::vector<size_t>{1});
}

TEST_CASE("a full queue takes no more, and a closed one gives what is left at once") {
  RequestQueue queue({.most = 2, .batch_rows = 1, .wait = std::chrono::duration<double>(60)});
  CHECK(put(queue, 1));
  CHECK(put(queue, 1));
  CHECK_FALSE(put(queue, 1));
  queue.close();
  CHECK(queue.take(milliseconds(1)).size() == 1);
  CHECK_FALSE(put(queue, 1));
  CHECK(queue.take(milliseconds(1)).size() == 1);
  CHECK(queue.take(milliseconds(1)).empty());
}

}  // namespace ltr::serve
