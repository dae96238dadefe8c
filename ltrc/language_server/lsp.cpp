#include "ltrc/commands.h"
#include "ltrc/language_server/server.h"

namespace ltr::driver {

int run_lsp(const Common&) { return language_server::Server().run(); }

}  // namespace ltr::driver
