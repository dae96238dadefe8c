#pragma once

// Requests of MLflow's scoring protocol, which SageMaker's containers speak, too, as rows of a stream's source.

#include "doors/http_server.h"
#include "runtime/data/rows_source.h"

namespace ltr::serve {

/// Why a request gets no predictions, as HTTP says it.
struct Refusal {
  int status = 400;
  Str message;
};

/// The rows of a request. Of JSON: `instances` and `inputs` (rows, or for `inputs` a list for each field), `dataframe_records` or
/// `dataframe_split`; rows are objects by the names of fields, or values of the first field that takes them. `text/csv` has a
/// header; `application/jsonlines` an object in each line. An image is a list of lists or the bytes of its file, `{"b64": "…"}`.
/// Throws Refusal: 415 for another type, 400 for what is wrong with a row, which it names by its number.
ReadRows read_scoring_request(const doors::HttpRequest& request, const Schema& schema, bool refuses_names);

}  // namespace ltr::serve
