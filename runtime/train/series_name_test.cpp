#include "runtime/train/series_name.h"

#include <doctest/doctest.h>

namespace ltr {

TEST_CASE("names of series as they are recorded") {
  CHECK(recorded_name("val.acc") == "val/acc");
  CHECK(recorded_name("val.clean.acc") == "val/clean/acc");
  CHECK(recorded_name("train.loss", kStepSuffix) == "train/loss_step");
  CHECK(recorded_name(series_of_class("val.clean.acc", 12)) == "val/clean/acc/12");
  CHECK(recorded_name(series_of_class("train.acc", 0), kEpochSuffix) == "train/acc_epoch/0");
}

TEST_CASE("the class of a recorded name") {
  CHECK(class_number("val/acc/12") == 12);
  CHECK(!class_number("val/acc"));
  CHECK(!class_number("val/f1"));
  CHECK(!class_number("lr/opt/*.bias"));
  CHECK(!class_number("val/acc/"));
}

}  // namespace ltr
