// SPDX-License-Identifier: MIT OR Apache-2.0
// The same work by bare calls of the WebGPU library: the control rows.
#pragma once

#include <memory>
#include <string>

#include "driver/webgpu/instance.hpp"

namespace tessera::bench {

class BareWebgpu {
 public:
  /// Null, with a reason, where there is no such adapter.
  static std::unique_ptr<BareWebgpu> open(const driver::AdapterInfo& adapter,
                                          std::uint64_t elements, std::string& why);
  ~BareWebgpu();

  /// Milliseconds from WGSL text to a pipeline that can be used. `salt` makes the text new.
  double compile_ms(int salt);
  /// `count` dependent saxpy dispatches over `elements`, submitted every `batch`; seconds until
  /// done.
  double dispatches(int count, int batch, std::uint64_t elements);
  /// Copy of 4 bytes, submit, map, read; seconds.
  double read4();

 private:
  explicit BareWebgpu(const wg::Api& api) : api_(api) {}
  wg::Buffer buffer(wg::Flags usage, std::uint64_t bytes);
  wg::ComputePipeline pipeline(const std::string& code);
  void wait(wg::Future future);

  const wg::Api& api_;
  wg::Instance instance_ = nullptr;
  wg::Device device_ = nullptr;
  wg::Queue queue_ = nullptr;
  wg::Buffer x_ = nullptr, y_ = nullptr, map_ = nullptr;
  wg::BindGroupLayout layout_ = nullptr;
  wg::PipelineLayout pipeline_layout_ = nullptr;
  wg::ComputePipeline saxpy_ = nullptr;
  wg::BindGroup group_ = nullptr;
};

}  // namespace tessera::bench
