#pragma once
/// Which errors say that an image is bad, as opposed to this program or this machine.
#include "assay/error.h"

namespace assay::pipeline {

inline bool is_the_images_fault(ErrorKind kind) {
  return kind == ErrorKind::bad_input || kind == ErrorKind::unsupported ||
         kind == ErrorKind::not_found || kind == ErrorKind::corrupt;
}

}  // namespace assay::pipeline
