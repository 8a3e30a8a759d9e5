// SPDX-License-Identifier: MIT OR Apache-2.0
// Forms a command in place: on the stack where it fits, else in a block of its own.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>

#include "server/command.hpp"

namespace tessera::server {

template <class C>
class CommandWriter {
 public:
  /// Room for the fixed part and the arrays, which are filled by the caller.
  explicit CommandWriter(StreamId stream, SourceLoc site, std::size_t bindings = 0,
                         std::size_t parameters = 0)
      : bytes_(sizeof(C) + bindings * sizeof(Binding) + parameters * sizeof(std::uint64_t)) {
    if (bytes_ > sizeof inline_) {
      block_ = std::make_unique<Block[]>((bytes_ + sizeof(Block) - 1) / sizeof(Block));
    }
    C* command = new (data()) C();
    command->header = {static_cast<std::uint32_t>(bytes_), C::kind, {}, stream, site};
    if (bindings > 0) new (command + 1) Binding[bindings]();
  }

  C& operator*() { return *std::launder(reinterpret_cast<C*>(data())); }
  C* operator->() { return &**this; }
  Binding* bindings() { return reinterpret_cast<Binding*>(data() + sizeof(C)); }
  std::uint64_t* parameters() {
    return reinterpret_cast<std::uint64_t*>(bindings() + (**this).binding_count);
  }
  const CommandHeader& header() { return (**this).header; }

 private:
  struct alignas(16) Block {
    std::byte bytes[64];
  };
  std::byte* data() { return block_ ? block_[0].bytes : inline_[0].bytes; }

  std::size_t bytes_;
  std::unique_ptr<Block[]> block_;
  Block inline_[16];
};

}  // namespace tessera::server
