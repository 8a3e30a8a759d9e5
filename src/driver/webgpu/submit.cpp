// SPDX-License-Identifier: MIT OR Apache-2.0
// Submission, completion, reads and fault words.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "driver/webgpu/webgpu_driver.hpp"

namespace tessera::driver {
namespace {

constexpr std::size_t most_waits = 64;  // that one call may be given
constexpr std::uint64_t wait_slice =
    50'000'000;  // nanoseconds, between looks at the device's health

}  // namespace

Status WebgpuDriver::wait(QueueId, QueueId, Ticket) {
  return {};
}

Status WebgpuDriver::submit(QueueId) {
  if (encoder_ == nullptr) return {};
  if (Status s = alive(); !s) {
    // What is encoded will never run; the log is told through lost().
    const auto calls = guard();
    end_pass();
    api_.CommandEncoderRelease(encoder_);
    encoder_ = nullptr;
    return s;
  }
  const std::lock_guard scopes(scopes_);
  const auto calls = guard();
  end_pass();
  Segment segment = std::move(open_);
  open_ = {};
  if (!segment.fault_slots.empty()) {
    const std::uint64_t bytes = fault_words_.size() * 16;
    Result<Mappable> copy = take_mappable(bytes);
    if (!copy) return copy.error();
    segment.fault_copy = *copy;
    api_.CommandEncoderCopyBufferToBuffer(encoder_, faults_, 0, copy->buffer, 0, bytes);
  }
  api_.DevicePushErrorScope(device_, wg::filter_validation);
  const wg::LabelDescriptor descriptor;
  const wg::CommandBuffer commands = api_.CommandEncoderFinish(encoder_, &descriptor);
  api_.CommandEncoderRelease(encoder_);
  encoder_ = nullptr;
  // The parameters of this segment's launches: written by the queue before its commands run.
  while (uniform_written_ < uniform_head_) {
    const std::uint64_t at = uniform_written_ % uniform_bytes_;
    const std::uint64_t count = std::min(uniform_head_ - uniform_written_, uniform_bytes_ - at);
    api_.QueueWriteBuffer(queue_, uniform_, at, uniform_shadow_.data() + at, count);
    uniform_written_ += count;
  }
  InFlight::begin();
  api_.QueueSubmit(queue_, 1, &commands);
  api_.CommandBufferRelease(commands);
  const std::optional<std::string> refused = pop_scope();

  const auto map = [&](wg::Buffer buffer, std::uint64_t bytes, ReadId read) {
    segment.waits.push_back(
        {api_.BufferMapAsync(buffer, wg::map_read, 0, bytes,
                             {nullptr, wg::mode_wait_any_only,
                              [](std::uint32_t status, wg::StringView, void* self, void* id) {
                                if (status == wg::status_success || id == nullptr) return;
                                auto* me = static_cast<WebgpuDriver*>(self);
                                const std::lock_guard lock(me->state_);
                                const auto it =
                                    me->reads_.find(reinterpret_cast<std::uintptr_t>(id));
                                if (it != me->reads_.end()) it->second.failed = true;
                              },
                              this, reinterpret_cast<void*>(static_cast<std::uintptr_t>(read))}),
         0});
  };
  if (!refused) {
    std::vector<std::pair<ReadId, Mappable>> reads;
    {
      const std::lock_guard lock(state_);
      for (const ReadId id : segment.reads) reads.emplace_back(id, reads_[id].staging);
    }
    for (const auto& [id, staging] : reads) map(staging.buffer, staging.bytes, id);
    if (segment.fault_copy.buffer != nullptr) {
      map(segment.fault_copy.buffer, segment.fault_copy.bytes, 0);
    }
    if (segment.waits.empty()) {
      segment.waits.push_back(
          {api_.QueueOnSubmittedWorkDone(
               queue_, {nullptr, wg::mode_wait_any_only,
                        [](std::uint32_t, wg::StringView, void*, void*) {}, nullptr, nullptr}),
           0});
    }
  }
  {
    const std::lock_guard lock(state_);
    if (refused) {
      // Nothing of the segment ran. Which operation was at fault is not told apart: none of them
      // wrote anything, and each says so.
      const Error error(ErrorKind::LaunchFailed,
                        fmt::format("{} refused a batch of {} operations: {}", properties_.name,
                                    segment.last - segment.first + 1, *refused));
      for (Ticket t = segment.first; t <= segment.last; ++t) late_.push_back({0, t, error});
      for (const ReadId id : segment.reads) reads_[id].failed = true;
    }
    submitted_ticket_.store(segment.last, std::memory_order_release);
    submitted_.push_back(std::move(segment));
  }
  segments_changed_.notify_one();
  return {};
}

// The wait thread: segments complete in order.
void WebgpuDriver::watch() {
  std::unique_lock lock(state_);
  for (;;) {
    segments_changed_.wait(lock, [this] { return stopping_ || !submitted_.empty(); });
    if (submitted_.empty()) return;
    std::vector<wg::FutureWaitInfo> waits = submitted_.front().waits;
    bool failed = false;
    lock.unlock();
    while (!waits.empty() && !failed) {
      {
        const auto calls = guard();
        // The library refuses to wait for more at a time; what is left has its turn when some of
        // these are done.
        const std::uint32_t status =
            api_.InstanceWaitAny(instance_, std::min(waits.size(), most_waits), waits.data(),
                                 synchronized_ ? wait_slice : 0);
        failed = status != wg::wait_success && status != wg::wait_timed_out;
      }
      std::erase_if(waits, [](const wg::FutureWaitInfo& w) { return w.completed != 0; });
      if (!synchronized_ && !waits.empty()) std::this_thread::yield();
      if (!waits.empty() && !alive()) failed = true;
    }
    {
      const auto calls = guard();  // always before state_
      lock.lock();
      Segment segment = std::move(submitted_.front());
      submitted_.pop_front();
      finish_segment(segment, failed);
      InFlight::end();
      lock.unlock();
    }
    changed_.notify_all();
    lock.lock();
  }
}

// With the library's and the state's lock held.
void WebgpuDriver::finish_segment(Segment& segment, bool failed) {
  if (failed && !lost_) {
    lost_ = Error(ErrorKind::DeviceLost,
                  fmt::format("Waiting for {} failed: the device does not answer any more.",
                              properties_.name));
  }
  if (segment.fault_copy.buffer != nullptr) {
    if (!failed) {
      const void* bytes =
          api_.BufferGetConstMappedRange(segment.fault_copy.buffer, 0, fault_words_.size() * 16);
      for (const std::uint32_t slot : segment.fault_slots) {
        std::uint32_t words[4] = {};
        if (bytes != nullptr) {
          std::memcpy(words, static_cast<const std::byte*>(bytes) + slot * 16u, 16);
        }
        fault_words_[slot] = {words[0], words[1],
                              words[2] | (static_cast<std::uint64_t>(words[3]) << 32)};
      }
      api_.BufferUnmap(segment.fault_copy.buffer);
    }
    give_mappable(segment.fault_copy);
  }
  for (const ReadId id : segment.reads) {
    const auto it = reads_.find(id);
    if (it == reads_.end()) continue;
    Read& read = it->second;
    read.done = true;
    read.failed = read.failed || failed;
    if (!read.dropped) continue;
    if (!read.failed) {
      api_.BufferUnmap(read.staging.buffer);
    }
    give_mappable(read.staging);
    reads_.erase(it);
  }
  if (segment.uniform_end != 0) {
    uniform_done_.store(segment.uniform_end, std::memory_order_release);
  }
  completed_.store(segment.last, std::memory_order_release);
}

void WebgpuDriver::wake_waiters() {
  changed_.notify_all();
  segments_changed_.notify_all();
}

Ticket WebgpuDriver::completed(QueueId) const noexcept {
  return completed_.load(std::memory_order_acquire);
}

Result<bool> WebgpuDriver::wait_host(QueueId, Ticket ticket, Deadline deadline) {
  if (completed_.load(std::memory_order_acquire) >= ticket) return true;
  std::unique_lock lock(state_);
  const auto done = [&] {
    return lost_.has_value() || completed_.load(std::memory_order_acquire) >= ticket;
  };
  if (deadline) {
    if (!changed_.wait_until(lock, *deadline, done)) return false;
  } else {
    changed_.wait(lock, done);
  }
  if (completed_.load(std::memory_order_acquire) >= ticket) return true;
  return *lost_;
}

Status WebgpuDriver::take_read(ReadId id, std::span<std::byte> to) {
  Read read;
  {
    const std::lock_guard lock(state_);
    const auto it = reads_.find(id);
    if (it == reads_.end()) {
      return Error(ErrorKind::InvalidArgument, "The read was taken before.");
    }
    read = it->second;
    reads_.erase(it);
  }
  Status status;
  if (read.failed) {
    status = Error(ErrorKind::LaunchFailed, "The bytes could not be read back from the device.");
    if (const std::optional<Error> why = lost()) status = *why;
  } else {
    const auto calls = guard();
    const void* bytes = api_.BufferGetConstMappedRange(read.staging.buffer, 0, read.staging.bytes);
    if (bytes == nullptr) {
      status = Error(ErrorKind::LaunchFailed, "The bytes read back could not be reached.");
    } else {
      std::memcpy(to.data(), static_cast<const std::byte*>(bytes) + read.skip,
                  std::min<std::uint64_t>(to.size(), read.bytes));
      api_.BufferUnmap(read.staging.buffer);
    }
  }
  const std::lock_guard lock(state_);
  give_mappable(read.staging);
  return status;
}

void WebgpuDriver::drop_read(ReadId id) {
  const auto calls = guard();
  const std::lock_guard lock(state_);
  const auto it = reads_.find(id);
  if (it == reads_.end()) return;
  it->second.dropped = true;
  if (!it->second.done) return;  // its segment gives the buffer back
  const Read read = it->second;
  reads_.erase(it);
  if (!read.failed) api_.BufferUnmap(read.staging.buffer);
  give_mappable(read.staging);
}

FaultWord WebgpuDriver::fault(std::uint32_t slot) const {
  const std::lock_guard lock(state_);
  return fault_words_[slot];
}

void WebgpuDriver::clear_fault(std::uint32_t slot) {
  {
    const std::lock_guard lock(state_);
    fault_words_[slot] = {};
  }
  if (encoder_ == nullptr) {
    slots_to_clear_.push_back(slot);
    return;
  }
  const auto calls = guard();
  end_pass();
  api_.CommandEncoderClearBuffer(encoder_, faults_, slot * 16u, 16);
}

std::vector<LateError> WebgpuDriver::take_late_errors() {
  const std::lock_guard lock(state_);
  return std::exchange(late_, {});
}

}  // namespace tessera::driver
