#pragma once
/// MobileViT (arXiv 2110.02178), version 1.
#include "families/families.h"

namespace assay::families {

Family mobilevit_family();

}  // namespace assay::families
