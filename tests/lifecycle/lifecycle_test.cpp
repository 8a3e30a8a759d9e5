// SPDX-License-Identifier: MIT OR Apache-2.0
// Ends of processes, each many times: what goes wrong there are races.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "tessera/tessera.hpp"

extern char** environ;

namespace tessera::lifecycle {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds limit{5};

struct Ended {
  int code = -1;
  int signal = 0;
  bool in_time = true;
  std::string said;  // on stderr
  Clock::duration took{};
};

std::filesystem::path beside_us(const char* name) {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
}

// stderr goes to memory and not to a pipe: a child that lives on would hold a pipe open.
Ended run(std::vector<std::string> words, const std::vector<std::string>& variables) {
  Ended ended;
  const int said = memfd_create("stderr", MFD_CLOEXEC);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, said, 2);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  std::vector<char*> arguments, environment;
  for (std::string& w : words) arguments.push_back(w.data());
  arguments.push_back(nullptr);
  std::vector<std::string> more = variables;
  for (char** v = environ; *v != nullptr; ++v) environment.push_back(*v);
  for (std::string& v : more) environment.push_back(v.data());
  environment.push_back(nullptr);
  pid_t pid = 0;
  const auto start = Clock::now();
  const int failed =
      posix_spawn(&pid, arguments[0], &actions, nullptr, arguments.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  if (failed == 0) {
    int status = 0;
    while (waitpid(pid, &status, WNOHANG) == 0) {
      if (ended.in_time && Clock::now() - start > limit) {
        ended.in_time = false;
        kill(pid, SIGKILL);
      }
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    if (WIFEXITED(status)) ended.code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) ended.signal = WTERMSIG(status);
  }
  ended.took = Clock::now() - start;
  char text[4096];
  lseek(said, 0, SEEK_SET);
  for (ssize_t n = 0; (n = read(said, text, sizeof text)) > 0;) {
    ended.said.append(text, static_cast<std::size_t>(n));
  }
  close(said);
  return ended;
}

struct Mode {
  const char* name;
  int cpu_runs = 50;
  int webgpu_runs = 10;  // opening an adapter takes a tenth of a second
};
void PrintTo(const Mode& mode, std::ostream* out) {
  *out << mode.name;
}

std::string mode_name(const testing::TestParamInfo<Mode>& of) {
  std::string name = of.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

const std::vector<std::string>& specs() {
  static const std::vector<std::string> found = [] {
    std::vector<std::string> list{"cpu"};
    for (const DeviceInfo& d : devices()) {
      if (d.driver == "webgpu" && d.unusable.empty()) list.push_back(d.spec);
    }
    return list;
  }();
  return found;
}

bool in_ci() {
  const char* ci = std::getenv("CI");
  return ci != nullptr && std::string(ci) == "true";
}

TEST(LifeCycle, ThereIsAnAdapter) {
  if (specs().size() > 1) return;
  if (in_ci()) FAIL() << "there is no WebGPU adapter: these modes ran on the interpreter alone";
  GTEST_SKIP() << "there is no WebGPU adapter: these modes run on the interpreter alone";
}

class LifeCycle : public testing::TestWithParam<Mode> {
 protected:
  // Calls check(spec, result) for each run on each device.
  template <class Check>
  static void each_run(const std::function<std::vector<std::string>(const std::string&)>& words,
                       const std::vector<std::string>& variables, Check&& check) {
    for (const std::string& spec : specs()) {
      int runs = spec == "cpu" ? GetParam().cpu_runs : GetParam().webgpu_runs;
      // More than a test run has time for, by hand.
      if (const char* wanted = std::getenv("TESSERA_LIFECYCLE_RUNS")) runs = std::atoi(wanted);
      for (int i = 0; i < runs; ++i) {
        SCOPED_TRACE(spec + ", run " + std::to_string(i));
        std::vector<std::string> own = variables;
        for (std::string& v : own) v += v.ends_with('=') ? spec : "";
        const Ended ended = run(words(spec), own);
        EXPECT_TRUE(ended.in_time) << "it did not end within 5 s";
        check(ended);
        if (HasFailure()) return;
      }
    }
  }
  static void expect_silence(const Ended& ended) {
    EXPECT_EQ(ended.code, 0) << "signal " << ended.signal;
    EXPECT_EQ(ended.said, "");
  }
  static std::vector<std::string> program(const std::string& spec) {
    return {beside_us("tessera-lifecycle"), GetParam().name, spec};
  }
};

// "while-opening" is for the interpreter alone: Vulkan drivers register exit handlers while a
// device is opened, which then run before ours and pull the ground from under the opening thread.
class Quiet : public LifeCycle {};
TEST_P(Quiet, EndsInTimeWithZeroAndSilence) {
  each_run(program, {}, expect_silence);
}
INSTANTIATE_TEST_SUITE_P(Exit, Quiet,
                         testing::Values(Mode{"return"}, Mode{"exit"}, Mode{"exit-in-thread"},
                                         Mode{"exit-in-thread-busy"},
                                         Mode{"calls-afterwards", 25, 5}, Mode{"drop-around-exit"},
                                         Mode{"drop-around-exit-thread-local"},
                                         Mode{"in-flight", 50, 5}, Mode{"while-compiling", 25, 5},
                                         Mode{"while-opening", 50, 0}),
                         mode_name);
INSTANTIATE_TEST_SUITE_P(Fork, Quiet,
                         testing::Values(Mode{"fork", 20, 5}, Mode{"fork-twice", 20, 3},
                                         Mode{"fork-busy", 10, 2},
                                         Mode{"fork-with-simulator", 20, 0},
                                         Mode{"fork-first", 20, 5}),
                         mode_name);

class OpenedBeforeMain : public LifeCycle {};
TEST_P(OpenedBeforeMain, EndsInTimeWithZeroAndSilence) {
  each_run(program, {"TESSERA_LIFECYCLE_OPEN_EARLY="}, expect_silence);
}
INSTANTIATE_TEST_SUITE_P(Exit, OpenedBeforeMain, testing::Values(Mode{"return-early", 50, 5}));

class Uncaught : public LifeCycle {};
TEST_P(Uncaught, SaysTheUsersWordsAlone) {
  each_run(program, {}, [](const Ended& ended) {
    EXPECT_EQ(ended.signal, SIGABRT);
    EXPECT_EQ(ended.said,
              "terminate called after throwing an instance of 'std::runtime_error'\n"
              "  what():  the user's own words\n");
  });
}
INSTANTIATE_TEST_SUITE_P(Exit, Uncaught, testing::Values(Mode{"throw", 20, 5}));

class Endless : public LifeCycle {};
TEST_P(Endless, IsLeftAloneAfterTwoSeconds) {
  each_run(program, {}, [](const Ended& ended) {
    expect_silence(ended);
    EXPECT_GE(ended.took, std::chrono::milliseconds(1900)) << "it did not hang";
    EXPECT_LE(ended.took, std::chrono::milliseconds(4000));
  });
}
INSTANTIATE_TEST_SUITE_P(Exit, Endless, testing::Values(Mode{"hung", 1, 0}, Mode{"too-long", 1, 1}),
                         mode_name);

class Plugin : public LifeCycle {};
TEST_P(Plugin, MayBeUnloadedWithItsDevicesOpen) {
  each_run(
      [](const std::string& spec) -> std::vector<std::string> {
        return {beside_us("tessera-lifecycle-host"), beside_us("tessera-lifecycle-plugin.so"),
                spec};
      },
      {}, expect_silence);
}
INSTANTIATE_TEST_SUITE_P(Unload, Plugin, testing::Values(Mode{"plugin", 50, 5}));

}  // namespace
}  // namespace tessera::lifecycle
