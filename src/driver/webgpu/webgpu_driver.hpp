// SPDX-License-Identifier: MIT OR Apache-2.0
// The driver contract over WebGPU.
//
// WebGPU has one queue: every operation goes into one command encoder in call order, dispatches
// into one compute pass for as long as nothing else comes between; wait() is nothing. Operations
// since the last submit are a segment. submit() finishes the segment and asks, for each of its
// reads and for its fault words, for the mapping of a buffer; the wait thread sees the mappings
// done and then publishes the segment's last ticket as completed.
//
// Threads. The device is asked for the library's own synchronisation; where it is not offered one
// mutex stands around every call. The encoder belongs to the executor alone.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "driver/webgpu/api.hpp"
#include "driver/webgpu/instance.hpp"
#include "driver/webgpu/webgpu.hpp"

namespace tessera::driver {

class WebgpuDriver final : public Driver {
 public:
  static Result<std::unique_ptr<Driver>> open(const wg::Api& api, const AdapterInfo& info);
  ~WebgpuDriver() override;

  const Properties& properties() const noexcept override { return properties_; }
  Result<PageId> allocate(PageKind kind, std::uint64_t bytes) override;
  void free(PageId page) override;
  std::uint64_t native(PageId page) const override;
  Result<Image> compile(std::shared_ptr<const ir::Kernel> kernel,
                        const Variant& variant) const override;
  Result<KernelId> load(const Image& image) override;
  void unload(KernelId kernel) override;
  Result<Ticket> launch(QueueId queue, const LaunchDesc& launch) override;
  Result<Ticket> copy(QueueId queue, Region from, Region to) override;
  Result<Ticket> fill(QueueId queue, Region to, std::uint64_t pattern, int width) override;
  Result<Ticket> upload(QueueId queue, std::span<const std::byte> from, Region to) override;
  Result<Download> download(QueueId queue, Region from) override;
  Status take_read(ReadId read, std::span<std::byte> to) override;
  void drop_read(ReadId read) override;
  Status wait(QueueId queue, QueueId other, Ticket ticket) override;
  Status submit(QueueId queue) override;
  Ticket completed(QueueId queue) const noexcept override;
  Result<bool> wait_host(QueueId queue, Ticket ticket, Deadline deadline) override;
  FaultWord fault(std::uint32_t slot) const override;
  void clear_fault(std::uint32_t slot) override;
  std::vector<LateError> take_late_errors() override;
  std::optional<Error> lost() const override;

  /// Destroys the device as its loss would; for tests.
  void lose();

 private:
  explicit WebgpuDriver(const wg::Api& api) : api_(api) {}

  struct Page {
    wg::Buffer buffer = nullptr;
    std::uint64_t bytes = 0;
  };
  struct Kernel {
    wg::ComputePipeline pipeline = nullptr;
    wg::BindGroupLayout layout = nullptr;
    std::shared_ptr<const ir::Kernel> ir;
    Variant variant;
    bool can_fault = false;
  };
  /// A mappable buffer. In exactly one of: a free list, a segment, a finished read.
  struct Mappable {
    wg::Buffer buffer = nullptr;
    std::uint64_t bytes = 0;
  };
  struct Read {
    Mappable staging;
    std::uint64_t skip = 0, bytes = 0;  // the region inside the copied words
    bool done = false, dropped = false, failed = false;
  };
  struct Segment {
    Ticket first = 0, last = 0;
    std::vector<ReadId> reads;
    std::vector<std::uint32_t> fault_slots;
    Mappable fault_copy;
    std::vector<wg::FutureWaitInfo> waits;
    std::uint64_t uniform_end = 0;  // ring bytes in use up to here
  };

  // webgpu_driver.cpp: device and pages
  Status create_device(wg::Instance instance, wg::Adapter adapter, const AdapterInfo& info);
  Result<wg::Buffer> create_buffer(wg::Flags usage, std::uint64_t bytes);
  Page* page(PageId id) { return id < pages_.size() ? &pages_[id] : nullptr; }
  Status alive() const;
  std::optional<std::string> pop_scope();
  std::unique_lock<std::mutex> guard() const;

  // webgpu_kernels.cpp
  Result<Kernel> build(const std::string& code, std::shared_ptr<const ir::Kernel> ir,
                       const Variant& variant, std::vector<wg::BindGroupLayoutEntry> entries,
                       const std::string& name);

  // webgpu_work.cpp
  void begin();
  wg::ComputePass pass();
  void end_pass();
  Ticket next_ticket();
  Result<std::uint32_t> put_uniform(std::span<const std::uint32_t> words);
  wg::BindGroup bind_group(wg::BindGroupLayout layout, std::span<const wg::BindGroupEntry> entries);
  void drop_bind_groups();
  Result<Mappable> take_mappable(std::uint64_t bytes);
  void give_mappable(Mappable m);
  wg::BindGroupEntry uniform_entry(std::uint32_t binding, std::uint64_t bytes) const;

  // edges.cpp: bytes that are no whole words
  struct Edge {
    Kernel write, copy, fill;
  };
  Status make_edges();
  Status edge_dispatch(const Kernel& kernel, std::span<const wg::BindGroupEntry> buffers,
                       std::array<std::uint32_t, 8> words, std::uint64_t invocations);
  Status edge_write(const Page& page, std::uint64_t offset, std::span<const std::byte> bytes);
  Status edge_copy(wg::Buffer from, std::uint64_t from_offset, const Page& to,
                   std::uint64_t to_offset, std::uint64_t bytes);
  Status edge_fill(const Page& page, Region to, std::uint64_t pattern, int width);

  // submit.cpp
  void watch();
  void finish_segment(Segment& segment, bool failed);
  void wake_waiters();

  const wg::Api& api_;
  wg::Instance instance_ = nullptr;
  wg::Device device_ = nullptr;
  wg::Queue queue_ = nullptr;
  Properties properties_;
  bool f16_ = false;
  bool synchronized_ = false;
  mutable std::mutex calls_;  // where the library does not synchronise itself
  std::mutex scopes_;         // error scopes are a stack of the device

  std::vector<Page> pages_ = std::vector<Page>(1);  // 0 is no page
  std::vector<PageId> free_pages_;
  std::deque<Kernel> kernels_;  // under kernels_mutex_; elements stay where they are
  std::mutex kernels_mutex_;

  // The open segment; executor only.
  wg::CommandEncoder encoder_ = nullptr;
  wg::ComputePass pass_ = nullptr;
  wg::ComputePipeline pass_pipeline_ = nullptr;
  Segment open_;
  Ticket last_ticket_ = 0;
  Edge edges_;

  // Uniform ring: info words of launches, written to the buffer right before the submit that uses
  // them. Positions only grow; the byte is position modulo the size.
  wg::Buffer uniform_ = nullptr;
  std::uint64_t uniform_bytes_ = 0, uniform_head_ = 0, uniform_written_ = 0;
  std::atomic<std::uint64_t> uniform_done_{0};
  std::vector<std::byte> uniform_shadow_;
  std::uint32_t uniform_align_ = 256;

  struct CachedGroup {
    wg::BindGroup group;
  };
  std::unordered_map<std::string, CachedGroup> groups_;

  wg::Buffer faults_ = nullptr;
  wg::Buffer nothing_ = nullptr;  // stands in for bindings of no bytes
  std::vector<std::uint32_t> slots_to_clear_;

  // Shared with the wait thread.
  mutable std::mutex state_;
  std::condition_variable changed_;
  std::condition_variable segments_changed_;
  std::deque<Segment> submitted_;
  std::unordered_map<ReadId, Read> reads_;
  ReadId next_read_ = 1;
  std::unordered_map<std::uint64_t, std::vector<wg::Buffer>> mappables_;  // free, by size
  std::vector<FaultWord> fault_words_;
  std::vector<LateError> late_;
  std::optional<Error> lost_;
  std::optional<std::string> uncaptured_;
  std::atomic<Ticket> completed_{0};
  std::atomic<Ticket> submitted_ticket_{0};
  bool stopping_ = false;
  std::thread watcher_;
};

}  // namespace tessera::driver
