// SPDX-License-Identifier: MIT OR Apache-2.0
// Random kernels on the device and on the interpreter: every one must compile, whole-number ones
// must give the same bytes or fail alike. (Float arithmetic may differ where docs/numerics.md says
// so; its operations are compared one by one in numerics_test.cpp.)
#include <cstring>

#include "client/device_core.hpp"
#include "conformance/on_device.hpp"
#include "ir/random_program.hpp"
#include "passes/prepare.hpp"
#include "server/command_writer.hpp"

namespace tessera::conformance {
namespace {

class RandomKernels : public OnDevice {};
TESSERA_ON_DEVICES(RandomKernels);

std::uint32_t mixed(std::uint32_t n) {
  n = (n ^ (n >> 16)) * 0x45d9f3bu;
  n = (n ^ (n >> 16)) * 0x45d9f3bu;
  return n ^ (n >> 16);
}

bool computes_floats(const ir::Kernel& k) {
  for (const ir::Op& op : k.ops) {
    if (op.type.elem == Elem::f32 && op.code != detail::Opcode::constant) return true;
    for (std::uint32_t i = 0; i < op.operand_count; ++i) {
      if (k.ops[k.operands[op.operand_begin + i]].type.elem == Elem::f32) return true;
    }
  }
  return false;
}

struct Ran {
  std::vector<std::vector<u32>> memory;  // of bindings that could be read back
  std::vector<bool> failed;
  ErrorKind kind = ErrorKind::Io;  // root of the first failure
};

// Launches a prepared kernel as a client would, three cubes, on buffers that depend on the seed.
Ran run(const Device& device, const std::shared_ptr<const ir::Kernel>& kernel, std::uint32_t seed) {
  detail::DeviceCore& core = *device.core();
  constexpr std::uint32_t cubes = 3;
  const auto units = static_cast<std::uint32_t>(cubes * kernel->unit_count());
  std::vector<Buffer<u32>> buffers;
  std::vector<std::uint64_t> parameters;
  for (std::size_t s = 0; s < kernel->scalars.size(); ++s) {
    parameters.push_back(mixed(seed + static_cast<std::uint32_t>(s)) % 5);
  }
  for (std::size_t b = 0; b < kernel->bindings.size(); ++b) {
    const std::uint32_t mark = mixed(seed * 7 + static_cast<std::uint32_t>(b));
    const std::uint32_t length = mark % 4 == 0 ? 1 + mark % units : units;
    std::vector<u32> words(std::size_t{length} * kernel->bindings[b].type.lanes);
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::uint32_t bits = mixed(seed * 1000 + static_cast<std::uint32_t>(b * 100 + i));
      words[i] = bits % 2 == 0 ? bits % 9 : bits;
    }
    buffers.push_back(device.upload(words));
    parameters.push_back(length);
  }
  const server::KernelRef ref = core.loader().add(kernel);
  server::CommandWriter<server::LaunchCommand> command(0, SourceLoc::current(), buffers.size(),
                                                       parameters.size());
  command->kernel = ref;
  command->cubes = {cubes, 1, 1};
  command->binding_count = static_cast<std::uint32_t>(buffers.size());
  command->parameter_count = static_cast<std::uint32_t>(parameters.size());
  std::copy(parameters.begin(), parameters.end(), command.parameters());
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    command.bindings()[b] = detail::binding_of(buffers[b].ref(), kernel->bindings[b].declared);
  }
  core.shared().fault_launches += core.loader().entry(ref).can_fault ? 1 : 0;
  core.executor().push(command.header());
  Ran out;
  for (const Buffer<u32>& b : buffers) {
    Result<std::vector<u32>> words = b.to_vector();
    if (!words && out.kind == ErrorKind::Io) out.kind = words.error().root().kind();
    EXPECT_TRUE(words || words.error().root().kind() == ErrorKind::KernelFault)
        << words.error().full();
    out.failed.push_back(!words);
    out.memory.push_back(words ? *std::move(words) : std::vector<u32>());
  }
  return out;
}

TEST_P(RandomKernels, CompileAndAgreeWithTheInterpreter) {
  const Device interpreter = open("cpu").value();
  int compared = 0, faults = 0;
  for (std::uint32_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ir::Kernel made = ir::random_kernel(seed);
    ASSERT_TRUE(passes::prepare(made));
    const auto kernel = std::make_shared<const ir::Kernel>(std::move(made));
    if (kernel->unit_count() > device().properties().max_units) continue;
    const Ran theirs = run(device(), kernel, seed);
    if (computes_floats(*kernel)) continue;
    const Ran want = run(interpreter, kernel, seed);
    ASSERT_EQ(theirs.failed, want.failed);
    ASSERT_EQ(theirs.memory, want.memory);
    ++compared;
    for (const bool failed : want.failed) faults += failed ? 1 : 0;
  }
  // The comparison must not have become empty.
  EXPECT_GT(compared, 20);
  EXPECT_GT(faults, 0);
}

}  // namespace
}  // namespace tessera::conformance
