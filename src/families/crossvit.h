#pragma once
/// CrossViT (arXiv 2103.14899): timm's variants at 240 pixels without the dagger's stem.
#include "families/families.h"

namespace assay::families {

Family crossvit_family();

}  // namespace assay::families
