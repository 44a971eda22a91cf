/// Times whole processes, taking turns: from before the process is made until it has ended.
///
///     startup_bench ROUNDS COMMAND [WORD...] [-- COMMAND [WORD...]]...
///
/// Prints one line of JSON a process: which command, in which round, its wall time in seconds, its
/// peak memory in KiB (ru_maxrss) and its processor time. The commands' output is dropped. A
/// command that fails ends the measurement. A program of its own, because a child inherits the
/// peak of the process that makes it: this one's is smaller than any that it times.
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using Command = std::vector<char*>;  // ends with a null pointer, as exec wants it

struct Usage {
  double wall = 0;
  double processor = 0;
  long peak_kib = 0;
  bool succeeded = false;
};

std::vector<Command> commands_of(int argc, char** argv) {
  std::vector<Command> commands(1);
  for (int i = 2; i < argc; ++i) {
    if (std::string(argv[i]) == "--") {
      commands.emplace_back();
    } else {
      commands.back().push_back(argv[i]);
    }
  }
  for (Command& command : commands) command.push_back(nullptr);
  return commands;
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

Usage run(const Command& command) {
  using Clock = std::chrono::steady_clock;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  Usage usage;
  pid_t child = 0;
  const Clock::time_point before = Clock::now();
  const int failed = posix_spawnp(&child, command[0], &actions, nullptr, command.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return usage;
  int status = 0;
  rusage resources{};
  if (wait4(child, &status, 0, &resources) != child) return usage;
  usage.wall = std::chrono::duration<double>(Clock::now() - before).count();
  usage.processor = seconds(resources.ru_utime) + seconds(resources.ru_stime);
  usage.peak_kib = resources.ru_maxrss;
  usage.succeeded = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return usage;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<Command> commands = commands_of(argc, argv);
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 0;
  for (const Command& command : commands) {
    if (command[0] != nullptr && rounds > 0) continue;
    std::fprintf(stderr, "usage: startup_bench ROUNDS COMMAND [WORD...] [-- COMMAND...]...\n");
    return 2;
  }
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t turn = 0; turn < commands.size(); ++turn) {
      const std::size_t which = (static_cast<std::size_t>(round) + turn) % commands.size();
      const Usage usage = run(commands[which]);
      if (!usage.succeeded) {
        std::fprintf(stderr, "startup_bench: %s failed\n", commands[which][0]);
        return 1;
      }
      std::printf(R"({"command":%zu,"round":%d,"wall":%.6f,"processor":%.6f,"peak_kib":%ld})"
                  "\n",
                  which, round, usage.wall, usage.processor, usage.peak_kib);
      std::fflush(stdout);
    }
  }
  return 0;
}
