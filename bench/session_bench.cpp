/// Times a checkpoint's or bundle's network on the cpu backend, or shows where its time goes.
///
///     session_bench FOLDER|BUNDLE [threads [level]]
///
/// Reads commands from the standard input, one a line, so that a script can interleave it with a
/// peer in one run:
///     run N          N calls of batch 1; prints their milliseconds, separated by spaces
///     input FILE     float32 numbers [H, W, 3] for the calls to come; prints "ok"
///     logits         one call; prints its logits
///     profile N      N calls; prints each step's least microseconds, slowest first: a step is
///     shorter
///                    than a time slice, so on a busy machine its least time is its own
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>

#include "assay/error.h"
#include "backend/backend.h"
#include "base/file.h"
#include "bundle/bundle.h"
#include "checkpoint/checkpoint.h"
#include "families/families.h"
#include "graph/passes.h"

namespace {

using namespace assay;

struct Subject {
  std::shared_ptr<const graph::Graph> graph;
  std::unique_ptr<backend::Plan> plan;
  std::unique_ptr<backend::Session> session;
  std::vector<float> input;
  std::vector<float> logits;
};

std::shared_ptr<const graph::Graph> graph_of(const std::string& path, int level) {
  if (bundle::looks_like_bundle(path)) return bundle::read(path).graph;
  const checkpoint::Checkpoint opened = checkpoint::open(path);
  graph::Graph graph =
      families::build({opened.config, opened.weights, opened.config.transform.input_height,
                       opened.config.transform.input_width});
  graph::optimize(graph, level);
  return std::make_shared<const graph::Graph>(std::move(graph));
}

Subject make_subject(const std::string& path, int threads, int level) {
  Subject subject;
  subject.graph = graph_of(path, level);
  backend::LowerOptions options;
  options.threads = threads;
  options.optimization_level = level;
  subject.plan = backend::lower(subject.graph, backend::parse_target("cpu"), options);
  subject.session = subject.plan->make_session();
  const auto& network = *subject.graph;
  subject.input.resize(
      static_cast<std::size_t>(graph::elements(network.value(network.input).dims)));
  for (std::size_t i = 0; i < subject.input.size(); ++i) {
    subject.input[i] = static_cast<float>((i * 2654435761U) % 1000U) / 1000.0F;
  }
  subject.logits.resize(
      static_cast<std::size_t>(graph::elements(network.value(network.output("logits")).dims)));
  return subject;
}

void call(Subject& subject) { subject.session->run({{}, subject.input}, 1, {subject.logits, {}}); }

void run(Subject& subject, int count) {
  using Clock = std::chrono::steady_clock;
  for (int i = 0; i < count; ++i) {
    const Clock::time_point before = Clock::now();
    call(subject);
    std::printf("%s%.4f", i == 0 ? "" : " ",
                std::chrono::duration<double, std::milli>(Clock::now() - before).count());
  }
  std::printf("\n");
}

void profile(Subject& subject, int count) {
  const auto steps = subject.plan->steps();
  std::vector<double> least(steps.size(), 1e9);
  call(subject);
  for (int i = 0; i < count; ++i) {
    std::vector<double> seconds(steps.size());
    subject.session->profile({{}, subject.input}, 1, seconds);
    for (std::size_t s = 0; s < steps.size(); ++s) least[s] = std::min(least[s], seconds[s]);
  }
  std::vector<std::size_t> order(steps.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](auto a, auto b) { return least[a] > least[b]; });
  std::map<std::string, double> kinds;
  double total = 0;
  for (const std::size_t i : order) {
    const double each = least[i];
    total += each;
    const backend::StepInfo& step = steps[i];
    kinds[step.operation + " " + step.tactic] += each;
    std::printf("%9.1f us %7.1f GFLOP/s  %-10s %-14s %-18s %s\n", each * 1e6,
                static_cast<double>(step.flops) / each * 1e-9, step.operation.c_str(),
                step.tactic.c_str(), graph::to_string(step.output).c_str(), step.name.c_str());
  }
  for (const auto& [kind, each] : kinds)
    std::printf("%9.1f us in all  %s\n", each * 1e6, kind.c_str());
  std::printf("%9.1f us in all\n", total * 1e6);
}

void serve(Subject& subject) {
  std::printf("%s, arena %.2f MB, %zu steps\n", subject.plan->description().c_str(),
              static_cast<double>(subject.plan->arena_bytes()) * 1e-6,
              subject.plan->steps().size());
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string verb;
    words >> verb;
    if (verb == "run" || verb == "profile") {
      int count = 1;
      words >> count;
      verb == "run" ? run(subject, count) : profile(subject, count);
    } else if (verb == "logits") {
      call(subject);
      for (const float logit : subject.logits) std::printf("%.8g ", static_cast<double>(logit));
      std::printf("\n");
    } else if (verb == "input") {
      std::string path;
      words >> path;
      const auto bytes = read_file(path, std::uint64_t{1} << 30);
      if (bytes.size() != subject.input.size() * sizeof(float)) {
        throw Error(ErrorKind::bad_input, path + " has another size than the network's input");
      }
      std::memcpy(subject.input.data(), bytes.data(), bytes.size());
      std::printf("ok\n");
    } else {
      throw Error(ErrorKind::bad_input, "unknown command: " + line);
    }
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: session_bench FOLDER|BUNDLE [threads [level]] < commands\n");
    return 2;
  }
  try {
    Subject subject =
        make_subject(argv[1], argc > 2 ? std::stoi(argv[2]) : 0, argc > 3 ? std::stoi(argv[3]) : 1);
    serve(subject);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "session_bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
