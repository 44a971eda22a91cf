#include "bundle/tuning_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/thread_pool.h"
#include "bundle/fields.h"

namespace assay::bundle {
namespace {

constexpr std::size_t kMaxTunings = 1024;

}  // namespace

Json encode_tunings(std::span<const Tuning> tunings) {
  Json list = Json::array();
  for (const Tuning& tuning : tunings) {
    list.push_back({{"cpu", tuning.cpu},
                    {"isa", tuning.isa},
                    {"threads", tuning.threads},
                    {"tactics", Json(tuning.tactics)}});
  }
  return list;
}

std::vector<Tuning> decode_tunings(const Json& list) {
  std::vector<Tuning> tunings;
  if (list.size() > kMaxTunings)
    fail(ErrorKind::corrupt, "header.tuning has {} entries, expected {} at most", list.size(),
         kMaxTunings);
  for (std::size_t i = 0; i < list.size(); ++i) {
    Fields fields(list[i], fmt::format("header.tuning[{}]", i));
    Tuning tuning;
    tuning.cpu = fields.text("cpu");
    tuning.isa = fields.text("isa");
    tuning.threads = static_cast<int>(fields.integer("threads", 1, kMaxThreads));
    const Json& tactics = fields.any("tactics");
    if (!tactics.is_object())
      fail(ErrorKind::corrupt, "{} is {}, expected an object", fields.name_of("tactics"),
           tactics.type_name());
    for (const auto& [step, tactic] : tactics.items()) {
      if (!tactic.is_string())
        fail(ErrorKind::corrupt, "{}.{:.80} is {}, expected text", fields.name_of("tactics"), step,
             tactic.type_name());
      tuning.tactics[step] = tactic.get<std::string>();
    }
    fields.finish();
    const bool again = std::ranges::any_of(tunings, [&](const Tuning& other) {
      return other.cpu == tuning.cpu && other.isa == tuning.isa && other.threads == tuning.threads;
    });
    if (again)
      fail(ErrorKind::corrupt, "header.tuning[{}] is a second one of the same machine and threads",
           i);
    tunings.push_back(std::move(tuning));
  }
  return tunings;
}

}  // namespace assay::bundle
