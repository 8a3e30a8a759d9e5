// SPDX-License-Identifier: MIT OR Apache-2.0
// A device that does nothing at once: what is left is what the server costs.
#pragma once

#include <array>

#include "driver/driver.hpp"

namespace tessera::bench {

class NullDriver final : public driver::Driver {
 public:
  explicit NullDriver(std::uint32_t queues) {
    properties_.driver = "null";
    properties_.name = "a device that does nothing";
    properties_.elements = {Elem::u32, Elem::f32};
    properties_.queues = queues;
    properties_.page_limit = properties_.binding_limit = std::uint64_t{1} << 36;
    properties_.offset_alignment = 256;
    properties_.fault_slots = 1024;
    properties_.max_units = 1024;
  }

  const driver::Properties& properties() const noexcept override { return properties_; }
  Result<driver::PageId> allocate(driver::PageKind, std::uint64_t) override { return next_page_++; }
  void free(driver::PageId) override {}
  std::uint64_t native(driver::PageId) const override { return 0; }
  Result<driver::Image> compile(std::shared_ptr<const ir::Kernel> kernel,
                                const driver::Variant& variant) const override {
    driver::Image image;
    image.kernel = std::move(kernel);
    image.variant = variant;
    return image;
  }
  Result<driver::KernelId> load(const driver::Image&) override { return driver::KernelId{1}; }
  void unload(driver::KernelId) override {}
  Result<driver::Ticket> launch(driver::QueueId q, const driver::LaunchDesc&) override {
    return ++tickets_[q];
  }
  Result<driver::Ticket> copy(driver::QueueId q, driver::Region, driver::Region) override {
    return ++tickets_[q];
  }
  Result<driver::Ticket> fill(driver::QueueId q, driver::Region, std::uint64_t, int) override {
    return ++tickets_[q];
  }
  Result<driver::Ticket> upload(driver::QueueId q, std::span<const std::byte>,
                                driver::Region) override {
    return ++tickets_[q];
  }
  Result<Download> download(driver::QueueId q, driver::Region) override {
    return Download{++tickets_[q], 0};
  }
  Status take_read(driver::ReadId, std::span<std::byte>) override { return {}; }
  void drop_read(driver::ReadId) override {}
  Status wait(driver::QueueId, driver::QueueId, driver::Ticket) override { return {}; }
  Status submit(driver::QueueId) override { return {}; }
  driver::Ticket completed(driver::QueueId q) const noexcept override { return tickets_[q]; }
  Result<bool> wait_host(driver::QueueId, driver::Ticket, driver::Deadline) override {
    return true;
  }
  driver::FaultWord fault(std::uint32_t) const override { return {}; }
  void clear_fault(std::uint32_t) override {}
  std::vector<driver::LateError> take_late_errors() override { return {}; }
  std::optional<Error> lost() const override { return std::nullopt; }

 private:
  driver::Properties properties_;
  driver::PageId next_page_ = 1;
  std::array<driver::Ticket, 128> tickets_{};
};

}  // namespace tessera::bench
