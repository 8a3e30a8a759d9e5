// SPDX-License-Identifier: MIT OR Apache-2.0
// What users of such software met with many threads and with handles that die early.
#include <atomic>
#include <barrier>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "base/log.hpp"
#include "client/device_core.hpp"
#include "conformance/on_device.hpp"
#include "ir/test_kernel.hpp"
#include "passes/prepare.hpp"
#include "server/command_writer.hpp"
#include "tessera/detail/kernel_source.hpp"

namespace tessera::conformance {
namespace {

std::atomic<int> lines_logged{0};

class Life : public OnDevice {
 protected:
  Life() {
    lines_logged = 0;
    base::set_log_sink([](base::LogLevel, std::string_view) { ++lines_logged; });
  }
  ~Life() override {
    base::set_log_sink(nullptr);
    EXPECT_EQ(lines_logged, 0) << "something was logged";
  }

  server::MemoryUsage usage() const {
    device().core()->executor().catch_up();
    return device().core()->executor().with_server([](server::Server& s) {
      s.idle();
      (void)s.trim();
      return s.memory_usage();
    });
  }
  /// How much work is long on this driver, without being seconds.
  u32 by_driver(u32 gpu, u32 cpu, u32 sim) const {
    const std::string& driver = device().properties().driver;
    return driver == "webgpu" ? gpu : driver == "cpu" ? cpu : sim;
  }
};
TESSERA_ON_DEVICES(Life);

// Ends the program where a test stands still.
class Watchdog {
 public:
  explicit Watchdog(int seconds)
      : thread_([this, seconds] {
          std::unique_lock lock(mutex_);
          if (!changed_.wait_for(lock, std::chrono::seconds(seconds), [this] { return over_; })) {
            std::fprintf(stderr, "the test stands still\n");
            std::abort();
          }
        }) {}
  ~Watchdog() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

void add_scalar(InOut<u32> x, Scalar<u32> n) {
  $if(absolute_pos < x.len()) {
    x[absolute_pos] += n;
  }
}

TEST_P(Life, Entry42LastHandleDroppedOnAFreshThread) {
  constexpr std::uint64_t words = (64u << 20) / 4;
  const server::MemoryUsage before = usage();
  for (int round = 0; round < 100; ++round) {
    auto buffer = std::make_unique<Buffer<u32>>();
    std::thread([&] {
      *buffer = device().alloc<u32>(words);
      buffer->slice(0, 64).fill(7);
    }).join();
    std::thread([dropped = std::move(buffer)]() mutable { dropped.reset(); }).join();
  }
  const server::MemoryUsage after = usage();
  EXPECT_EQ(after.live, before.live);
  EXPECT_EQ(after.taken, before.taken);
  // Within one page of the start; a page of buffers of 64 MiB has room for a little more.
  EXPECT_LE(after.reserved, before.reserved + (66u << 20));
}

TEST_P(Life, Entry42EveryKindOfHandleDiesElsewhere) {
  const server::MemoryUsage before = usage();
  for (u32 round = 0; round < 100; ++round) {
    struct Handles {
      Device device;
      Stream stream;
      Buffer<u32> buffer, view;
      Tensor<u32> tensor;
      std::optional<Pending<std::vector<u32>>> pending, taken_elsewhere;
    };
    std::unique_ptr<Handles> handles;
    Buffer<u32> last;
    std::thread([&] {  // has ended before anything is used
      const Device clone = device();
      handles = std::make_unique<Handles>(Handles{clone,
                                                  clone.new_stream(),
                                                  clone.full<u32>(100, round),
                                                  Buffer<u32>(),
                                                  clone.tensor<u32>(Shape{4, 5}),
                                                  {},
                                                  {}});
      handles->view = handles->buffer.slice(0, 64);
      launch<add_scalar>(handles->stream, Grid::over(100), handles->buffer, 1u);
      handles->pending = handles->buffer.download(handles->stream);
      handles->taken_elsewhere = handles->buffer.download();
      last = handles->buffer.clone();
    })
        .join();
    std::thread([dropped = std::move(handles), round]() mutable {
      auto values = std::move(*dropped->taken_elsewhere).get();
      EXPECT_TRUE(values && (*values)[0] == round + 1);
      dropped.reset();
    }).join();
    ASSERT_EQ(read(last)[99], round + 1);
  }
  const server::MemoryUsage after = usage();
  EXPECT_EQ(after.live, before.live);
  EXPECT_EQ(after.taken, before.taken);
}

TEST_P(Life, Entry42TheBufferDiesAfterEveryClient) {
  // Simulators are taken apart with their last handle, other devices are kept for the process.
  for (int round = 0; round < 20; ++round) {
    Buffer<u32> last;
    {
      const Device opened = open(GetParam()).value();
      last = opened.full<u32>(100, 3u);
      launch<add_scalar>(opened, Grid::over(100), last, 4u);
    }
    std::thread([dropped = std::move(last)]() mutable {
      EXPECT_EQ(dropped.to_vector().value()[50], 7u);
      dropped = {};
    }).join();
  }
}

void shared_kernel(InOut<u32> x) {
  $if(absolute_pos < x.len()) {
    x[absolute_pos] = x[absolute_pos] * 3u + 1u;
  }
}
void own_kernel(InOut<u32> x, Const<u32> number) {
  $if(absolute_pos < x.len()) {
    x[absolute_pos] += number;
  }
}

TEST_P(Life, Entry46ManyThreadsUseKernelsForTheFirstTime) {
  const Watchdog watchdog(60);
  constexpr u32 threads = 16, own = 4, n = 500;
  std::barrier start(threads + 1);
  std::atomic<bool> done{false};
  std::vector<std::thread> working;
  for (u32 t = 0; t < threads; ++t) {
    working.emplace_back([&, t] {
      const Stream stream = device().new_stream();
      start.arrive_and_wait();
      const Buffer<u32> x = device().full<u32>(n, t);
      launch<shared_kernel>(stream, Grid::over(n), x);
      u32 sum = t * 3 + 1;
      for (u32 k = 0; k < own; ++k) {
        launch<own_kernel>(stream, Grid::over(n), x, 1000 + t * own + k);
        sum += 1000 + t * own + k;
      }
      const auto values = x.download(stream).get();
      EXPECT_TRUE(values) << values.error().full();
      EXPECT_TRUE(!values || *values == std::vector<u32>(n, sum));
      const Status synced = stream.sync(), status = x.status();
      EXPECT_TRUE(synced) << synced.error().full();
      EXPECT_TRUE(status) << status.error().full();
    });
  }
  std::thread cleaning([&] {
    const Buffer<u32> y = device().full<u32>(10, 1u);
    start.arrive_and_wait();
    while (!done) {
      for (const Status& s : {y.status(), device().stream().status(), device().sync()}) {
        EXPECT_TRUE(s) << s.error().full();
      }
      device().stream().flush();
      (void)usage();
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  });
  for (std::thread& t : working) t.join();
  done = true;
  cleaning.join();
  int compiled = 0, own_compiled = 0;
  for (const detail::KernelSource& k : detail::kernel_sources(device())) {
    compiled += k.name.find("shared_kernel") != std::string::npos ? 1 : 0;
    own_compiled += k.name.find("own_kernel") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(compiled, 1) << "the kernel that all use was compiled more than once";
  EXPECT_EQ(own_compiled, static_cast<int>(threads * own));
}

TEST_P(Life, Entry46TwoDevicesFeedEachOther) {
  const Watchdog watchdog(60);
  const Device other = open("sim:seed=4").value();
  std::atomic<int> wrong{0};
  const auto carry = [&](const Device& from, const Device& to) {
    Buffer<u32> x = from.full<u32>(300, 0u);
    for (u32 round = 0; round < 20; ++round) {
      launch<add_scalar>(from, Grid::over(300), x, 1u);
      const Buffer<u32> there = to.upload(x.to_vector().value());
      launch<add_scalar>(to, Grid::over(300), there, 1u);
      x = from.upload(there.to_vector().value());
    }
    const auto values = x.to_vector();
    if (!values || *values != std::vector<u32>(300, 40u)) ++wrong;
  };
  std::thread there([&] { carry(device(), other); });
  std::thread back([&] { carry(other, device()); });
  there.join();
  back.join();
  EXPECT_EQ(wrong, 0);
}

TEST_P(Life, Entry47HandlesDieWhileTheKernelRuns) {
  // The report has 100,000,000 rounds; the interpreter, which also is the simulators', needs some
  // hundred nanoseconds for each, so there it is what takes about as long.
  // One of the software GPUs takes five seconds for all of them.
  const bool slow = device().properties().name.find("SwiftShader") != std::string::npos;
  const u32 rounds = by_driver(slow ? 20'000'000u : 100'000'000u, 400'000u, 100'000u);
  auto client = std::make_unique<Device>(open(GetParam()).value());
  const Buffer<u32> cell = client->full<u32>(1, 0u);
  {
    const Buffer<u32> one = client->full<u32>(1, 1u);
    const Stream stream = client->new_stream();
    const auto add_many = [](In<u32> x, InOut<u32> y, Scalar<u32> n) {
      Var<u32> v = y[0];
      for ([[maybe_unused]] auto i : range(Expr<u32>(0u), n)) v += x[0];
      y[0] = v;
    };
    auto kernel = std::make_unique<decltype(add_many)>(add_many);
    ASSERT_TRUE(launch(stream, Grid({1, 1, 1}, {1, 1, 1}), *kernel, one, cell, rounds).status());
    auto nobody = one.download(stream);
    stream.flush();
  }
  client.reset();
  EXPECT_EQ(read(cell), std::vector<u32>{rounds});
  if (device().properties().kind != "simulator") {
    EXPECT_TRUE(device().sync());  // of a simulator the one opened here is gone
  }
}

void constant_bits(InOut<f32> f, Out<u32> u) {
  f[0] = bitcast<f32>(Expr<u32>(0xff800000u));
  u[0] = bitcast<u32>(Expr<f32>(1.0f));
  u[1] = bitcast<u32>(f[0]);
}

TEST_P(Life, Entry48BitsOfConstants) {
  const auto f = poisoned_f32(1);
  const auto u = poisoned(2);
  EXPECT_TRUE(launch<constant_bits>(device(), Grid({1, 1, 1}, {1, 1, 1}), f, u).status());
  EXPECT_EQ(read(f)[0], -std::numeric_limits<float>::infinity());
  EXPECT_EQ(read(u), (std::vector<u32>{0x3f800000u, 0xff800000u}));
}

// Launches a kernel that every driver refuses only when it compiles it: it wants more shared memory
// than any device has, of which the client's own check would have warned, and holds it in vectors
// that no shading language knows.
void launch_uncompilable(const Device& device, const Buffer<u32>& out) {
  ir::TestKernel t(1, "uncompilable");
  const auto binding = t.binding("out", ir::TestKernel::u32, ir::Access::out);
  const auto block = t.shared({Elem::u32, 5}, 1u << 24);
  t.store(binding, {t.idx(0)}, t.constant(Elem::u32, 1));
  t.store(block, {t.idx(0)}, t.constant(Elem::u32, 1));
  for (ir::BindingParam& b : t.k.bindings) b.analysed = b.declared;
  detail::DeviceCore& core = *device.core();
  const server::KernelRef ref = core.loader().add(std::make_shared<const ir::Kernel>(t.k));
  const auto& entry = core.loader().entry(ref);
  server::CommandWriter<server::LaunchCommand> command(0, SourceLoc::current(), 1,
                                                       entry.layout.count);
  command->kernel = ref;
  command->binding_count = 1;
  command->parameter_count = entry.layout.count;
  command.parameters()[0] = out.size();
  command.bindings()[0] = detail::binding_of(out.ref(), ir::Access::out);
  core.shared().fault_launches += entry.can_fault ? 1 : 0;
  core.executor().push(command.header());
}

TEST_P(Life, Entry48AKernelThatDoesNotCompileHurtsItsOutputAlone) {
  const auto a = poisoned(4), b = poisoned(4), c = poisoned(4);
  launch<add_scalar>(device(), Grid::over(4), a, 1u);
  launch_uncompilable(device(), b);
  launch<add_scalar>(device(), Grid::over(4), c, 2u);
  EXPECT_EQ(read(a), std::vector<u32>(4, 0xdeadbeefu + 1));
  EXPECT_EQ(read(c), std::vector<u32>(4, 0xdeadbeefu + 2));
  const auto first = b.to_vector(), second = b.to_vector();
  ASSERT_FALSE(first);
  ASSERT_FALSE(second);
  EXPECT_EQ(first.error().kind(), ErrorKind::BufferFailed);
  EXPECT_TRUE(first.error().same_root(second.error()));
  const Error root = first.error().root();
  EXPECT_NE(root.full().find("uncompilable"), std::string::npos) << root.full();
  if (webgpu()) {
    EXPECT_EQ(root.kind(), ErrorKind::CompileFailed) << root.full();
    // The compiler's own words, with the place in the generated source, and that source.
    EXPECT_NE(root.message().find("vec5"), std::string::npos) << root.message();
    EXPECT_NE(root.message().find("error"), std::string::npos) << root.message();
  } else {
    EXPECT_EQ(root.kind(), ErrorKind::Unsupported) << root.full();
  }
  b.fill(5);
  launch<add_scalar>(device(), Grid::over(4), b, 1u);
  EXPECT_EQ(read(b), std::vector<u32>(4, 6));
  EXPECT_TRUE(device().sync());
}

}  // namespace
}  // namespace tessera::conformance
