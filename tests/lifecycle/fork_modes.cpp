// SPDX-License-Identifier: MIT OR Apache-2.0
// Children made by fork, with and without devices of the parent.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <functional>

#include "lifecycle/program.hpp"

namespace tessera::lifecycle {
namespace {

// In both processes destroyed after the exit handler.
Holder parents;

// Runs `child`, which leaves by exit() with all that this brings, and expects it to leave in time
// with its code and with what it wrote to a stream and did not flush.
void in_child(const std::function<void()>& child) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return expect(false, "there is a pipe");
  const pid_t pid = fork();
  if (pid == 0) {
    child();
    std::fputs("unflushed", fdopen(ends[1], "w"));
    std::exit(7);
  }
  close(ends[1]);
  for (int waited = 0; waited < 5000; ++waited) {
    int status = 0;
    if (waitpid(pid, &status, WNOHANG) == pid) {
      char text[16] = {};
      expect(read(ends[0], text, sizeof text) == 9, "the child's streams are flushed");
      close(ends[0]);
      expect(WIFEXITED(status) && WEXITSTATUS(status) == 7, "the child's exit code is its own");
      if (WIFSIGNALED(status)) std::fprintf(stderr, "signal %d\n", WTERMSIG(status));
      return;
    }
    sleep_ms(1);
  }
  kill(pid, SIGKILL);
  (void)waitpid(pid, nullptr, 0);
  expect(false, "the child ends within 5 s");
}

void open_fresh(const char* spec) {
  static Holder fresh;
  fill(fresh, spec);
}

void use_as_a_stranger(const std::string& spec) {
  expect_closed(parents, "forked");
  const Holder copies{parents.device, parents.stream, parents.buffer.slice(10, 20), {}};
  parents = {};  // drops the child's share of every handle
  open_fresh("cpu");
  open_fresh("sim:seed=3");
  if (spec.starts_with("webgpu")) {
    const Result<Device> again = open(spec);
    expect(!again && again.error().kind() == ErrorKind::BackendUnavailable &&
               again.error().message().find("forked") != std::string::npos,
           "WebGPU says that it does not survive a fork");
    bool told = false;
    for (const DeviceInfo& d : devices()) {
      told = told || (d.driver == "webgpu" && d.unusable.find("forked") != std::string::npos);
    }
    expect(told, "devices() says so too");
  }
}

}  // namespace

int fork_mode(const std::string& mode, const std::string& spec) {
  if (mode == "fork") {
    fill(parents, spec);
    in_child([&] { use_as_a_stranger(spec); });
    work(*parents.device);  // the parent has noticed nothing
    expect(std::move(*parents.pending).get().has_value(), "the parent's read is there");
    return 0;
  }
  if (mode == "fork-twice") {
    fill(parents, spec);
    in_child([&] {
      parents = {};
      fill(parents, "cpu");
      in_child([] { use_as_a_stranger("cpu"); });
      work(*parents.device);
    });
    return 0;
  }
  if (mode == "fork-busy") {
    // Whatever lock a thread of the parent holds at the moment, the child does not wait for it.
    fill(parents, spec);
    keep_busy(*parents.device);
    for (int i = 0; i < 4; ++i) {
      sleep_ms(chance(5));
      in_child([&] { use_as_a_stranger(spec); });
    }
    return 0;
  }
  if (mode == "fork-with-simulator") {
    // Simulators are taken apart with their last handle: not by a child, which lacks the threads.
    fill(parents, "sim:seed=5");
    in_child([] { parents = {}; });
    in_child([] {});
    work(*parents.device);
    return 0;
  }
  if (mode == "fork-first") {
    in_child([&] {
      fill(parents, spec);
      work(*parents.device);
    });
    fill(parents, spec);
    return 0;
  }
  return -1;
}

}  // namespace tessera::lifecycle
