// SPDX-License-Identifier: MIT OR Apache-2.0
#include "client/default_stream.hpp"

#include <vector>

namespace tessera::inline v0 {
namespace {

struct Chosen {
  std::uint64_t device;  // DeviceCore::number(), which is never used twice
  server::StreamId stream;
};

// Constructed in place, so that a thread that never opens a scope pays for a look at two vectors.
struct OfThread {
  std::vector<Chosen> scopes;
  std::vector<Chosen> own;
};
thread_local OfThread of_thread;

}  // namespace

namespace detail {

server::StreamId default_stream(DeviceCore& core) {
  OfThread& mine = of_thread;
  for (auto scope = mine.scopes.rbegin(); scope != mine.scopes.rend(); ++scope) {
    if (scope->device == core.number()) return scope->stream;
  }
  if (!core.per_thread_streams()) return 0;
  for (const Chosen& own : mine.own) {
    if (own.device == core.number()) return own.stream;
  }
  mine.own.push_back({core.number(), core.new_stream()});
  return mine.own.back().stream;
}

}  // namespace detail

StreamScope::StreamScope(Stream stream) : stream_(std::move(stream)) {
  of_thread.scopes.push_back({stream_.core()->number(), stream_.id()});
}

StreamScope::~StreamScope() {
  of_thread.scopes.pop_back();
}

}  // namespace tessera::inline v0
