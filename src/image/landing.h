#pragma once
/// The one place where libjpeg's and libpng's error exits land. Both libraries leave a failed call
/// by longjmp, which runs no destructor: a step passed to attempt() therefore calls the C library
/// and nothing else, and holds no object that needs destroying.
#include <array>
#include <csetjmp>

namespace assay::image {

struct Landing {
  std::jmp_buf jump;
  std::array<char, 256> message{};  ///< the library's own words, after attempt() returned false

  [[noreturn]] void leave() { std::longjmp(jump, 1); }
};

/// Runs `step`; false where the library left it through landing.leave().
template <typename Step>
bool attempt(Landing& landing, const Step& step) {
  if (setjmp(landing.jump) != 0) return false;
  step();
  return true;
}

}  // namespace assay::image
