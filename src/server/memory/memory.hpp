// SPDX-License-Identifier: MIT OR Apache-2.0
// The memory of a device: which pool serves a request, and on whose account.
//
// Pages belong to the device and are shared by its streams; live bytes, caps and persistent windows
// are kept per stream, under the stream's number, whether or not it ever did anything. A report or
// a window never makes a stream.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "server/memory/layout.hpp"

namespace tessera::server {

/// How requests meet persistent memory: inside windows alone; windows ignored; always.
enum class PersistentPolicy : std::uint8_t { windows, disabled, enforced };

class Memory {
 public:
  /// `layout` has been resolved before without error; where it was not, the default is used. Every
  /// block gets `extra` bytes more than it was asked for, which count as padding.
  Memory(driver::Driver& driver, const MemoryLayout& layout, PersistentPolicy policy,
         std::uint64_t extra = 0);
  ~Memory();

  /// A block for the stream: from the persistent pool inside a window, else from the first pool
  /// that takes it; where that one's capacity is reached, from the next. OutOfMemory: may succeed
  /// later (the device, every capacity, or the stream's cap is full; the values are named).
  /// TooLarge: never will (over the device's page limit, or no pool takes such a size).
  Result<Block*> take(std::uint64_t bytes, StreamId stream, Mapping mapping = Mapping::eager);
  void give_back(Block* block);
  /// After take() was refused: whether pages on their way back may make the difference. A cap or a
  /// capacity does not mind them.
  bool room_may_come() const noexcept { return device_full_ && store_.retiring() > 0; }
  /// Memory for a page that was made lazily; nothing where it has it.
  Status map(Block& block);

  /// Later requests follow this layout. The pools before it drain; what lives in them stays until
  /// it is given back or moved. InvalidArgument as resolve(): then nothing has changed.
  Status install(const MemoryLayout& layout);
  /// Calls f for every taken block of an outdated pool, pages together.
  /// f may give back the block that it is called with, and take others.
  void for_each_outdated(const std::function<void(Block&)>& f);
  bool has_outdated() const noexcept { return !outdated_.empty(); }

  /// Windows of persistent memory nest, per stream. Closing one that is not open does nothing.
  void open_persistent(StreamId stream);
  void close_persistent(StreamId stream);
  /// 0: no cap. What is taken already stays.
  void set_cap(StreamId stream, std::uint64_t bytes);

  /// Room for the server itself, on nobody's account and from pages apart, so that what it needs in
  /// passing moves no buffer of a user.
  Result<Block*> take_scratch(std::uint64_t bytes) { return scratch_->take(bytes, Mapping::eager); }
  void give_back_scratch(Block* block) { scratch_->give_back(block); }
  /// A block of the same size and account elsewhere, for what lies in `block`; no cap counts.
  Result<Block*> take_for_move(const Block& block);

  /// Retires every wholly free page of every pool. Returns their bytes.
  std::uint64_t release_free();
  /// Frees retired pages whose work has completed. Returns their bytes.
  std::uint64_t collect(bool lost = false) { return store_.collect(lost); }
  void hold(driver::PageId page) { store_.hold(page); }
  void let_go(driver::PageId page) { store_.let_go(page); }
  void watch(const Clocks& clocks) { store_.watch(clocks); }
  void abandon() noexcept { store_.abandon(); }

  Block* at(driver::PageId page, std::uint64_t offset) { return store_.at(page, offset); }
  std::uint64_t taken() const noexcept { return taken_; }  // bytes with padding
  std::uint64_t reserved() const noexcept { return store_.reserved(); }
  std::uint64_t retiring() const noexcept { return store_.retiring(); }
  MemoryReport report() const;

 private:
  struct Account {
    std::uint64_t live = 0, bytes = 0, padding = 0, peak = 0, cap = 0;
    std::uint32_t persistent = 0;
  };
  Account& account(StreamId stream);
  bool wants_persistent(const Account& account) const noexcept;
  Result<Block*> place_whole(std::uint64_t bytes, const Account& account, Mapping mapping);
  Result<Block*> place(std::uint64_t bytes, const Account& account, Mapping mapping);
  Error no_room(std::uint64_t bytes, const Error& cause) const;
  Error over_capacity(std::uint64_t bytes) const;
  Error no_pool(std::uint64_t bytes) const;
  Error over_cap(std::uint64_t bytes, StreamId stream, const Account& account) const;
  void drop_drained();

  DeviceLimits limits_;
  PersistentPolicy policy_;
  const std::uint64_t extra_;
  PageStore store_;
  std::vector<std::unique_ptr<Pool>> pools_;
  std::unique_ptr<Pool> persistent_;
  std::unique_ptr<Pool> scratch_;
  std::vector<std::unique_ptr<Pool>> outdated_;
  std::unordered_map<StreamId, Account> accounts_;
  StreamId last_stream_ = 0;
  Account* last_account_ = nullptr;  // of last_stream_; most requests follow one of their stream
  std::uint64_t taken_ = 0;
  bool device_full_ = false;  // at the last request
};

}  // namespace tessera::server
