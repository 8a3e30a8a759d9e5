// SPDX-License-Identifier: MIT OR Apache-2.0
// What the modes of the life cycle program share.
//
// Each mode is one way in which a program ends. It runs as a process of its own, which must leave
// with the code expected and with nothing on stderr: so a mode that finds something wrong says it
// there.
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "tessera/lang/dollar.hpp"
#include "tessera/tessera.hpp"

namespace tessera::lifecycle {

/// One handle of each kind, in static storage, thread-local or a thread's own.
struct Holder {
  std::optional<Device> device;
  std::optional<Stream> stream;
  Buffer<u32> buffer;
  std::optional<Pending<std::vector<u32>>> pending;
};

void add_one(InOut<u32> x);
/// Adds one `rounds` times to each element.
void add_many(InOut<u32> x, Scalar<u32> rounds);

/// Says on stderr what is not as it should be, so that the run fails.
void expect(bool good, const char* what);

/// Opens the device and fills the holder with work that is right so far.
void fill(Holder& holder, const std::string& spec);
/// Work, and its result read back.
void work(const Device& device);
/// Every kind of call on a closed device gives DeviceLost with `part` in its sentence, and none
/// waits.
void expect_closed(Holder& holder, const char* part);

void sleep_ms(unsigned n);
[[noreturn]] void wait_for_the_end();
/// Below `below`; differs from run to run: these are races, and 50 equal runs would be one.
unsigned chance(unsigned below);
/// Starts threads that never stop using the device, by every kind of call.
void keep_busy(const Device& device);

/// Runs the mode of this name; -1 where it is none of the file's.
int exit_mode(const std::string& mode, const std::string& spec);
int fork_mode(const std::string& mode, const std::string& spec);

}  // namespace tessera::lifecycle
