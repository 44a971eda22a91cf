#pragma once
/// Raising assay::Error with a formatted message.
#include <fmt/format.h>

#include <utility>

#include "assay/error.h"

namespace assay {

/// Throws Error(kind) with the formatted message. Never returns.
template <typename... Args>
[[noreturn]] void fail(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(kind, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace assay
