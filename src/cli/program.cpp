#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <new>
#include <sstream>
#include <string_view>

#include "assay/assay.h"
#include "cli/cli.h"
#include "cli/console.h"
#include "cli/parser.h"
#include "cli/usage.h"

namespace assay::cli {
namespace {

constexpr const char* kDescription =
    "Assay turns a published vision checkpoint into a native classifier.";
constexpr const char* kFooter =
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 bad input, 4 unsupported.\n"
    "Example:\n"
    "  assay build examples/mobilevit_xxs.fashion_mnist -o xxs.assay\n"
    "  assay run xxs.assay photo.jpg";

/// Whether --json stands among the words, known before they parse so that a usage error honours it.
bool asks_for_json(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--json") return true;
  }
  return false;
}

void add_verbs(Parser& parser) {
  parser.app.footer(kFooter);
  parser.app.set_version_flag("--version", std::string(version()), "Print the version and exit");
  parser.app.require_subcommand(1);
  add_build(parser);
  add_calibrate(parser);
  add_tune(parser);
  add_run(parser);
  add_eval(parser);
  add_preprocess(parser);
  add_inspect(parser);
  add_verify(parser);
  add_families(parser);
  add_bench(parser);
  add_sensitivity(parser);
  add_study(parser);
  add_validate(parser);
  add_version(parser);
}

/// Parses; an empty action means that help or the version was printed and all is done.
Action parse(int argc, const char* const* argv, Console& console) {
  Parser parser{CLI::App(kDescription, "assay"), {}};
  add_verbs(parser);
  try {
    parser.app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help or --version
    std::ostringstream out;
    parser.app.exit(asked, out, out);
    console.text(out.str());
    return {};
  } catch (const CLI::ParseError& error) {
    check_words(parser.app, argc, argv);
    throw UsageError(usage_message(parser.app, error));
  }
  return parser.action;
}

ExitCode run_guarded(int argc, const char* const* argv, Console& console) {
  try {
    const Action action = parse(argc, argv, console);
    return action ? action(console) : kDone;
  } catch (const OutputClosed&) {
    return kDone;
  } catch (const OutputFailed& error) {
    console.complain(error.what());
    return kFailed;
  } catch (const UsageError& error) {
    console.error("usage", error.what());
    return kWrongUsage;
  } catch (const Error& error) {
    console.error(kind_name(error.kind()), error.what());
    return exit_code(error.kind());
  } catch (const std::bad_alloc&) {
    console.error(kind_name(ErrorKind::out_of_memory), "out of memory");
    return kFailed;
  } catch (const std::exception& error) {
    console.error(kind_name(ErrorKind::internal), error.what());
    return kFailed;
  }
}

}  // namespace

ExitCode run_program(int argc, const char* const* argv) {
  // A closed pipe is an error of writing like any other: Console tells it apart.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // and so is a file grown past the user's limit
  Console console(stdout, stderr, asks_for_json(argc, argv));
  return run_guarded(argc, argv, console);
}

}  // namespace assay::cli
