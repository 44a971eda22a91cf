#pragma once
/// What the GPU is and how it is doing.
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/json.h"

namespace assay::bench {

/// Name, compute capability, multiprocessors, cache, memory, and the versions of driver and
/// runtime. Throws unsupported where the runtime does not find the device.
Json describe_device(int device);

/// What nvidia-smi says of clocks, power and temperature, by its own names; null where there is no
/// nvidia-smi. Reads and changes nothing.
Json device_state(int device);

}  // namespace assay::bench
