// SPDX-License-Identifier: MIT OR Apache-2.0
#include "server/launch/loader.hpp"

#include <fmt/format.h>

#include <utility>

namespace tessera::server {

Loader::Loader(driver::Driver& driver, unsigned threads, std::function<void()> wake)
    : driver_(driver), thread_count_(threads), wake_(std::move(wake)) {}

Loader::~Loader() {
  stop();
}

KernelRef Loader::add(std::shared_ptr<const ir::Kernel> kernel) {
  KernelEntry entry;
  entry.layout = ir::parameter_layout(*kernel);
  entry.can_fault = ir::can_fault(*kernel);
  for (const ir::BindingParam& b : kernel->bindings) {
    entry.writes_any =
        entry.writes_any || b.analysed == ir::Access::out || b.analysed == ir::Access::inout;
  }
  entry.kernel = std::move(kernel);
  const std::lock_guard lock(mutex_);
  entries_.push_back(std::move(entry));
  return static_cast<KernelRef>(entries_.size() - 1);
}

const KernelEntry& Loader::entry(KernelRef ref) const {
  const std::lock_guard lock(mutex_);
  return entries_[ref];
}

LoadedVariant& Loader::variant(KernelRef ref, const driver::Variant& wanted) {
  const std::lock_guard lock(mutex_);
  KernelEntry& entry = entries_[ref];
  for (const auto& v : entry.variants) {
    if (v->variant == wanted) return *v;
  }
  entry.variants.push_back(std::make_unique<LoadedVariant>());
  LoadedVariant& fresh = *entry.variants.back();
  fresh.variant = wanted;
  if (stopping_) {
    fresh.error = Error(ErrorKind::DeviceLost, "The device is being closed.");
    fresh.state.store(LoadedVariant::State::failed, std::memory_order_release);
    return fresh;
  }
  jobs_.push_back({entry.kernel, &fresh});
  if (threads_.size() < thread_count_ && threads_.size() < jobs_.size() + running_) {
    ++live_threads_;
    threads_.emplace_back([this] { work(); });
  }
  changed_.notify_all();
  return fresh;
}

void Loader::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (stopping_) break;
    const Job job = std::move(jobs_.front());
    jobs_.pop_front();
    ++running_;
    lock.unlock();
    compile(job);
    wake_();
    lock.lock();
    --running_;
    changed_.notify_all();
  }
  --live_threads_;
  changed_.notify_all();
}

bool Loader::compile_next() {
  std::unique_lock lock(mutex_);
  if (jobs_.empty()) return false;
  const Job job = std::move(jobs_.front());
  jobs_.pop_front();
  lock.unlock();
  compile(job);
  return true;
}

void Loader::compile(const Job& job) {
  LoadedVariant& v = *job.variant;
  const auto fail = [&](const Error& error) {
    v.error = error.with_kernel(job.kernel->name)
                  .with_context(fmt::format("compiling kernel {} for {}", job.kernel->name,
                                            driver_.properties().name));
    v.state.store(LoadedVariant::State::failed, std::memory_order_release);
  };
  Result<driver::Image> image = driver_.compile(job.kernel, v.variant);
  if (!image) return fail(image.error());
  Result<driver::KernelId> id = driver_.load(*image);
  if (!id) return fail(id.error());
  v.image = *std::move(image);
  v.id = *id;
  v.state.store(LoadedVariant::State::ready, std::memory_order_release);
}

std::vector<driver::Image> Loader::images() const {
  const std::lock_guard lock(mutex_);
  std::vector<driver::Image> out;
  for (const KernelEntry& entry : entries_) {
    for (const auto& v : entry.variants) {
      if (v->state.load(std::memory_order_acquire) == LoadedVariant::State::ready) {
        out.push_back(v->image);
      }
    }
  }
  return out;
}

void Loader::wait_idle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return jobs_.empty() && running_ == 0; });
}

void Loader::request_stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const Job& job : jobs_) {
      job.variant->error = Error(ErrorKind::DeviceLost, "The device is being closed.");
      job.variant->state.store(LoadedVariant::State::failed, std::memory_order_release);
    }
    jobs_.clear();
  }
  changed_.notify_all();
}

bool Loader::join_until(std::chrono::steady_clock::time_point latest) {
  std::vector<std::thread> threads;
  {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_until(lock, latest, [this] { return live_threads_ == 0; })) return false;
    threads = std::exchange(threads_, {});
  }
  for (std::thread& t : threads) t.join();
  return true;
}

void Loader::stop() {
  request_stop();
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(mutex_);
    threads = std::exchange(threads_, {});
  }
  for (std::thread& t : threads) t.join();
}

}  // namespace tessera::server
