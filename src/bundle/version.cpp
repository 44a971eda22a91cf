#include "assay/assay.h"

namespace assay {

// The build system passes the project's own version on.
std::string_view version() { return ASSAY_VERSION; }

}  // namespace assay
