#pragma once
/// Strict JSON for input that nobody vouches for.
#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace assay {

/// Object keys keep their order, so what is written is byte-identical when written again.
using Json = nlohmann::ordered_json;

/// Parses `text` strictly: UTF-8 only, no duplicate keys, no comments, at most `max_depth` nested
/// arrays and objects, no trailing bytes. `what` names the source in the message.
/// Throws bad_input with the byte offset.
Json parse_json(std::string_view text, std::string_view what, int max_depth = 64);

}  // namespace assay
