#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "assay/assay.h"
#include "backend/backend.h"
#include "backend/cpu/isa.h"
#include "base/machine.h"
#include "cli/cli.h"
#include "cli/console.h"
#include "cli/machine.h"
#include "cli/table.h"
#include "cli/verb.h"

namespace assay::cli {
namespace {

ExitCode run_version(Console& console) {
  std::vector<std::string_view> isas;
  for (const backend::cpu::Isa isa : backend::cpu::built_isas()) isas.push_back(name(isa));
  const std::string_view chosen = name(backend::cpu::active_isa());
  const auto backends = backend::built_backends();
  if (console.json()) {
    console.json_answer({{"version", version()},
                         {"compiler", compiler()},
                         {"backends", backends},
                         {"cpu_isas", {{"built", isas}, {"chosen", chosen}}}});
    return kDone;
  }
  Table table;
  table.row({"assay", std::string(version())});
  table.row({"compiler", compiler()});
  table.row({"backends", fmt::format("{}", fmt::join(backends, ", "))});
  table.row({"cpu ISAs", fmt::format("{}; using {}", fmt::join(isas, ", "), chosen)});
  table.print(console);
  return kDone;
}

}  // namespace

void add_version(Parser& parser) {
  Verb verb(parser, "version", "Print the version and what this build can do");
  verb.json_flag();
  verb.footer(
      "ASSAY_CPU_ISA=avx2 in the environment forces an instruction set.\n"
      "Example:\n"
      "  assay version");
  verb.does(run_version);
}

}  // namespace assay::cli
