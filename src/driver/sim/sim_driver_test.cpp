// SPDX-License-Identifier: MIT OR Apache-2.0
#include "driver/sim/sim_driver.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <set>
#include <thread>

#include "ir/test_kernel.hpp"

namespace tessera::driver {
namespace {

using ir::TestKernel;
using ir::Value;
using T = TestKernel;
using namespace std::chrono_literals;

SimOptions seeded(std::uint64_t seed) {
  SimOptions o;
  o.seed = seed;
  o.memory_limit = 1 << 20;
  o.patience = 50ms;
  return o;
}

template <class R>
auto must(R result) {
  EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().message());
  return *std::move(result);
}
void must(Status s) {
  EXPECT_TRUE(s.has_value()) << (s ? "" : s.error().message());
}

std::span<const std::byte> bytes(const std::vector<std::uint32_t>& v) {
  return std::as_bytes(std::span(v));
}

/// y[i] = x[i] + n for i below the lengths' minimum; checked.
std::shared_ptr<const ir::Kernel> add_kernel() {
  T t(4, "add");
  const auto x = t.binding("x", T::u32, ir::Access::in),
             y = t.binding("y", T::u32, ir::Access::out);
  const Value n = t.scalar("n", Elem::u32);
  const Value i = t.builtin(ir::Builtin::absolute_pos);
  t.store(y, {i}, t.op(ir::Opcode::add, T::u32, {t.load(x, {i}), n}));
  return std::make_shared<const ir::Kernel>(t.k);
}

struct Sim {
  explicit Sim(const SimOptions& o) : d(o) {
    Variant v;
    v.writable = 0b10;
    add = must(d.load(must(d.compile(add_kernel(), v))));
  }
  Region page(std::uint64_t size, PageKind kind = PageKind::device) {
    return {must(d.allocate(kind, size)), 0, size};
  }
  Ticket launch(QueueId q, Region x, Region y, std::uint32_t n, std::uint32_t cubes = 2,
                std::uint32_t slot = 0) {
    const Region bindings[] = {x, y};
    const std::uint64_t p[] = {n, x.bytes / 4, y.bytes / 4};
    LaunchDesc l;
    l.kernel = add;
    l.bindings = bindings;
    l.parameters = p;
    l.cubes = l.virtual_cubes = {cubes, 1, 1};
    l.fault_slot = slot;
    l.fault_claim = 70 + n;
    return must(d.launch(q, l));
  }
  std::vector<std::uint32_t> read(QueueId q, Region r) {
    const auto download = must(d.download(q, r));
    must(d.submit(q));
    EXPECT_TRUE(must(d.wait_host(q, download.ticket, {})));
    std::vector<std::uint32_t> out(r.bytes / 4, 0xEEEEEEEE);
    must(d.take_read(download.read, std::as_writable_bytes(std::span(out))));
    return out;
  }
  void finish() {
    for (std::uint32_t q = 0; q < d.properties().queues; ++q)
      must(d.submit(static_cast<QueueId>(q)));
    for (std::uint32_t q = 0; q < d.properties().queues; ++q) {
      while (d.completed(static_cast<QueueId>(q)) < issued[q]) {
      }
    }
  }
  SimDriver d;
  KernelId add;
  std::vector<Ticket> issued = std::vector<Ticket>(256);
};

const std::vector<std::uint32_t> numbers{1, 2, 3, 4, 5, 6, 7, 8};

TEST(SimDriver, NothingRunsBeforeItIsSubmitted) {
  Sim s(seeded(1));
  const Region a = s.page(32);
  must(s.d.upload(0, bytes(numbers), a));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(s.d.completed(0), 0u);
  must(s.d.submit(0));
  for (int i = 0; i < 20; ++i) s.d.completed(0);
  EXPECT_EQ(s.d.completed(0), 1u);
  EXPECT_TRUE(s.d.violations().empty());
}

TEST(SimDriver, UploadsLaunchesAndDownloads) {
  Sim s(seeded(2));
  const Region a = s.page(32), b = s.page(32);
  must(s.d.upload(0, bytes(numbers), a));
  s.launch(0, a, b, 10);
  EXPECT_EQ(s.read(0, b), (std::vector<std::uint32_t>{11, 12, 13, 14, 15, 16, 17, 18}));
  EXPECT_TRUE(s.d.violations().empty());
}

TEST(SimDriver, ImagesLoadFromTheirText) {
  Sim s(seeded(24));
  Variant v;
  v.writable = 0b10;
  Image image = must(s.d.compile(add_kernel(), v));
  image.kernel = nullptr;
  s.add = must(s.d.load(image));
  const Region a = s.page(32), b = s.page(32);
  must(s.d.upload(0, bytes(numbers), a));
  s.launch(0, a, b, 10);
  EXPECT_EQ(s.read(0, b)[7], 18u);
  EXPECT_TRUE(s.d.violations().empty());
  image.target = "wgsl";
  EXPECT_FALSE(s.d.load(image).has_value());
}

TEST(SimDriver, AnUploadReadsTheCallersBytesWhenItRuns) {
  Sim s(seeded(3));
  const Region a = s.page(32);
  auto data = numbers;
  must(s.d.upload(0, bytes(data), a));
  data[0] = 42;
  EXPECT_EQ(s.read(0, a)[0], 42u);
}

/// Four independent chains on four queues; gives the order of execution.
std::vector<OpId> chains(std::uint64_t seed, std::vector<std::uint32_t>& result) {
  Sim s(seeded(seed));
  for (QueueId q = 0; q < 4; ++q) {
    const Region a = s.page(32), b = s.page(32);
    must(s.d.upload(q, bytes(numbers), a));
    s.launch(q, a, b, q);
    must(s.d.copy(q, b, a));
    must(s.d.fill(q, {b.page, 1, 5}, 0xAABB, 2));
    s.d.submit(q).value();
    const auto x = s.read(q, a), y = s.read(q, b);
    result.insert(result.end(), x.begin(), x.end());
    result.insert(result.end(), y.begin(), y.end());
  }
  EXPECT_TRUE(s.d.violations().empty());
  return s.d.history();
}

std::vector<OpId> interleaved(std::uint64_t seed) {
  Sim s(seeded(seed));
  std::vector<std::pair<Region, Region>> pages;
  for (QueueId q = 0; q < 4; ++q) {
    pages.emplace_back(s.page(32), s.page(32));
    must(s.d.upload(q, bytes(numbers), pages[q].first));
    for (int k = 0; k < 3; ++k) s.launch(q, pages[q].first, pages[q].second, q);
    s.issued[q] = 4;
  }
  s.finish();
  for (QueueId q = 0; q < 4; ++q) EXPECT_EQ(s.read(q, pages[q].second)[7], 8u + q);
  EXPECT_TRUE(s.d.violations().empty());
  return s.d.history();
}

TEST(SimDriver, ASeedIsOneInterleavingAndSeedsDiffer) {
  std::set<std::vector<std::uint64_t>> orders;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const auto once = interleaved(seed), again = interleaved(seed);
    EXPECT_EQ(once, again);
    std::vector<std::uint64_t> order;
    for (const OpId id : once) order.push_back(id.queue * 1000 + id.ticket);
    orders.insert(order);
  }
  EXPECT_GE(orders.size(), 7u);
}

TEST(SimDriver, ResultsDoNotDependOnTheSeed) {
  std::vector<std::uint32_t> first;
  chains(1, first);
  ASSERT_EQ(first.size(), 64u);
  EXPECT_EQ(first[8], 0xBBAABB01u);  // a fill of 5 bytes from byte 1
  EXPECT_EQ(first[9], 0x0000BBAAu);
  for (std::uint64_t seed = 2; seed < 6; ++seed) {
    std::vector<std::uint32_t> other;
    chains(seed, other);
    EXPECT_EQ(other, first);
  }
}

TEST(SimDriver, AMissingWaitIsFoundWhateverTheOrder) {
  for (bool waits : {false, true}) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      Sim s(seeded(seed));
      const Region a = s.page(32), b = s.page(32);
      must(s.d.upload(0, bytes(numbers), a));
      must(s.d.upload(0, bytes(numbers), b));
      if (waits) must(s.d.wait(1, 0, 2));
      const Ticket t = s.launch(1, a, b, 1);
      s.issued[0] = 2;
      s.issued[1] = t;
      s.finish();
      if (waits) {
        EXPECT_TRUE(s.d.violations().empty());
        EXPECT_EQ(s.read(1, b)[0], 2u);
      } else {
        ASSERT_GE(s.d.violations().size(), 2u) << seed;
        bool named = false;
        for (const auto& v : s.d.violations()) {
          named |= v.find("neither waits for the other") != std::string::npos &&
                   v.find("launch of 'add'") != std::string::npos &&
                   v.find("upload") != std::string::npos;
        }
        EXPECT_TRUE(named) << s.d.violations()[0];
      }
    }
  }
}

TEST(SimDriver, WaitsAreTransitiveAndTakeTheTicketsOwnClock) {
  Sim s(seeded(4));
  const Region a = s.page(32);
  must(s.d.upload(0, bytes(numbers), a));
  must(s.d.wait(1, 0, 1));
  const Region b = s.page(32);
  must(s.d.fill(1, b, 0, 4));
  must(s.d.wait(2, 1, 1));
  must(s.d.fill(2, a, 7, 4));  // after the upload through queue 1
  must(s.d.fill(0, b, 1, 4));  // not ordered with queue 1's fill
  s.issued = {2, 1, 1, 0};
  s.finish();
  ASSERT_EQ(s.d.violations().size(), 1u);
  EXPECT_NE(s.d.violations()[0].find("operation 2 of queue 0"), std::string::npos);
}

TEST(SimDriver, AWaitCoversItsTicketAndNothingLater) {
  Sim s(seeded(23));
  const Region a = s.page(32), b = s.page(32);
  must(s.d.fill(0, a, 1, 4));
  must(s.d.fill(0, b, 1, 4));
  must(s.d.wait(1, 0, 1));
  must(s.d.fill(1, a, 2, 4));
  must(s.d.fill(1, b, 2, 4));
  s.issued = {2, 2, 0, 0};
  s.finish();
  ASSERT_EQ(s.d.violations().size(), 1u);
  EXPECT_NE(s.d.violations()[0].find("operation 2 of queue 1"), std::string::npos);
  EXPECT_NE(s.d.violations()[0].find("operation 2 of queue 0"), std::string::npos);
}

TEST(SimDriver, WhatTheHostSawIsOrdered) {
  for (bool sees : {false, true}) {
    Sim s(seeded(5));
    const Region a = s.page(32);
    must(s.d.upload(0, bytes(numbers), a));
    must(s.d.submit(0));
    if (sees) must(s.d.wait_host(0, 1, {}));
    must(s.d.fill(1, a, 1, 1));
    s.issued = {1, 1, 0, 0};
    s.finish();
    EXPECT_EQ(s.d.violations().empty(), sees);
  }
}

TEST(SimDriver, DisjointBytesNeedNoOrder) {
  Sim s(seeded(6));
  const Region a = s.page(64);
  must(s.d.fill(0, {a.page, 0, 33}, 1, 1));
  must(s.d.fill(1, {a.page, 33, 31}, 1, 1));
  s.issued = {1, 1, 0, 0};
  s.finish();
  EXPECT_TRUE(s.d.violations().empty());
}

TEST(SimDriver, KernelsCountByWhatTheyTouched) {
  // Zero cubes touch nothing, so a launch without a wait is no conflict.
  Sim s(seeded(7));
  const Region a = s.page(32), b = s.page(32);
  must(s.d.upload(0, bytes(numbers), a));
  s.launch(1, a, b, 1, 0);
  s.issued = {1, 1, 0, 0};
  s.finish();
  EXPECT_TRUE(s.d.violations().empty());
}

TEST(SimDriver, UnwrittenReadsAreFoundAndCopiesPassThemOn) {
  Sim s(seeded(8));
  const Region a = s.page(32), b = s.page(32);
  must(s.d.fill(0, {a.page, 0, 16}, 0, 4));
  must(s.d.copy(0, a, b));
  EXPECT_EQ(s.read(0, {b.page, 0, 16}), std::vector<std::uint32_t>(4, 0));
  EXPECT_TRUE(s.d.violations().empty());
  const auto poison = s.read(0, {b.page, 12, 8});
  EXPECT_EQ(poison, (std::vector<std::uint32_t>{0, 0xCDCDCDCD}));
  ASSERT_EQ(s.d.violations().size(), 1u);
  EXPECT_NE(s.d.violations()[0].find("reads byte 16 of page"), std::string::npos);
}

TEST(SimDriver, KernelsThatReadUnwrittenBytesAreFound) {
  Sim s(seeded(9));
  const Region a = s.page(32), b = s.page(32);
  s.launch(0, a, b, 1);
  s.issued[0] = 1;
  s.finish();
  ASSERT_EQ(s.d.violations().size(), 1u);
  EXPECT_NE(s.d.violations()[0].find("'x'"), std::string::npos);
}

TEST(SimDriver, KernelsThatBreakTheirAnalysisAreFound) {
  Sim s(seeded(10));
  T t(4, "liar");
  const auto x = t.binding("x", T::u32, ir::Access::out);
  t.k.bindings[0].analysed = ir::Access::none;
  t.store(x, {t.builtin(ir::Builtin::unit_pos)}, t.constant(Elem::u32, 1));
  const auto k = must(s.d.load(must(s.d.compile(std::make_shared<const ir::Kernel>(t.k), {}))));
  const Region bindings[] = {s.page(16)};
  const std::uint64_t p[] = {4};
  LaunchDesc l;
  l.kernel = k;
  l.bindings = bindings;
  l.parameters = p;
  must(s.d.launch(0, l));
  s.issued[0] = 1;
  s.finish();
  ASSERT_EQ(s.d.violations().size(), 1u);
  EXPECT_NE(s.d.violations()[0].find("analysis"), std::string::npos);
}

TEST(SimDriver, FaultWordsAreClaimedOnce) {
  Sim s(seeded(11));
  const Region a = s.page(32), b = s.page(32);
  must(s.d.upload(0, bytes(numbers), a));
  s.launch(0, a, b, 1, 3, 5);  // units 8 to 11 are outside
  s.launch(0, a, b, 2, 4, 5);
  EXPECT_EQ(s.read(0, b)[7], 10u);
  const FaultWord word = s.d.fault(5);
  EXPECT_EQ(word.claim, 71u);
  EXPECT_EQ(word.site, 0u);
  EXPECT_EQ(word.index, 8u);
  EXPECT_EQ(s.d.fault(4).claim, 0u);
  s.d.clear_fault(5);
  EXPECT_EQ(s.d.fault(5).claim, 0u);
  EXPECT_TRUE(s.d.violations().empty());
}

TEST(SimDriver, IndirectLaunchesReadTheirCountsWhenTheyRun) {
  Sim s(seeded(12));
  const Region a = s.page(32), b = s.page(32), counts = s.page(64, PageKind::counts);
  must(s.d.upload(0, bytes(numbers), a));
  const auto launch = [&](std::uint64_t offset) {
    const Region bindings[] = {a, b};
    const std::uint64_t p[] = {1, 8, 8};
    LaunchDesc l;
    l.kernel = s.add;
    l.bindings = bindings;
    l.parameters = p;
    l.indirect = Region{counts.page, offset, 12};
    return s.d.launch(0, l);
  };
  must(s.d.fill(0, b, 0, 4));
  const std::vector<std::uint32_t> one{1, 1, 1, 65536, 1, 1};
  must(s.d.upload(0, bytes(one), {counts.page, 0, 24}));
  must(launch(0));
  EXPECT_EQ(s.read(0, b), (std::vector<std::uint32_t>{2, 3, 4, 5, 0, 0, 0, 0}));
  must(s.d.fill(0, b, 0, 4));
  must(launch(12));  // over the limit: nothing runs
  EXPECT_EQ(s.read(0, b), std::vector<std::uint32_t>(8, 0));
  EXPECT_TRUE(s.d.violations().empty());
  EXPECT_FALSE(launch(60).has_value());
}

TEST(SimDriver, FoldedLaunchesSeeTheVirtualCubes) {
  Sim s(seeded(13));
  T t(1, "count");
  const auto x = t.binding("x", T::u32, ir::Access::out);
  const Value i = t.builtin(ir::Builtin::cube_pos);
  t.if_(t.op(ir::Opcode::eq, T::boolean, {i, t.idx(65536)}), [&] {
    t.store(x, {t.idx(0)}, t.op(ir::Opcode::cast, T::u32, {t.builtin(ir::Builtin::cube_count_x)}));
  });
  Variant v;
  v.writable = 1;
  v.folded = true;
  const auto k = must(s.d.load(must(s.d.compile(std::make_shared<const ir::Kernel>(t.k), v))));
  const Region bindings[] = {s.page(4)};
  const std::uint64_t p[] = {1};
  LaunchDesc l;
  l.kernel = k;
  l.bindings = bindings;
  l.parameters = p;
  l.virtual_cubes = {65537, 1, 1};
  l.cubes = {65535, 2, 1};
  must(s.d.launch(0, l));
  EXPECT_EQ(s.read(0, bindings[0])[0], 65537u);
  l.cubes = {65535, 1, 1};
  EXPECT_FALSE(s.d.launch(0, l).has_value());
  l.cubes = {65537, 1, 1};
  EXPECT_FALSE(s.d.launch(0, l).has_value());
}

TEST(SimDriver, ReadsAreTakenOrDroppedOnce) {
  Sim s(seeded(14));
  const Region a = s.page(32);
  must(s.d.upload(0, bytes(numbers), a));
  const auto first = must(s.d.download(0, a)), second = must(s.d.download(0, a));
  std::vector<std::uint32_t> out(8);
  const auto room = std::as_writable_bytes(std::span(out));
  EXPECT_FALSE(s.d.take_read(first.read, room).has_value());  // too early
  s.d.drop_read(second.read);                                 // before it ran
  must(s.d.submit(0));
  must(s.d.wait_host(0, second.ticket, {}));
  EXPECT_FALSE(s.d.take_read(second.read, room).has_value());
  EXPECT_FALSE(s.d.take_read(first.read, room.first(4)).has_value());
  must(s.d.take_read(first.read, room));
  EXPECT_EQ(out, numbers);
  EXPECT_FALSE(s.d.take_read(first.read, room).has_value());
}

TEST(SimDriver, MemoryIsBounded) {
  Sim s(seeded(15));
  const auto over = s.d.allocate(PageKind::device, (1 << 20) + 1);
  ASSERT_FALSE(over.has_value());
  EXPECT_EQ(over.error().kind(), ErrorKind::TooLarge);
  const auto page = must(s.d.allocate(PageKind::device, 1 << 19));
  must(s.d.allocate(PageKind::device, 1 << 19));
  const auto full = s.d.allocate(PageKind::device, 1);
  ASSERT_FALSE(full.has_value());
  EXPECT_EQ(full.error().kind(), ErrorKind::OutOfMemory);
  s.d.free(page);
  must(s.d.allocate(PageKind::device, 1 << 19));
  EXPECT_TRUE(s.d.violations().empty());
}

TEST(SimDriver, FreeingWhatIsInUseIsAViolation) {
  for (bool early : {false, true}) {
    Sim s(seeded(16));
    const Region a = s.page(32);
    must(s.d.upload(0, bytes(numbers), a));
    must(s.d.submit(0));
    if (!early) must(s.d.wait_host(0, 1, {}));
    s.d.free(a.page);
    EXPECT_EQ(s.d.violations().empty(), !early);
    must(s.d.wait_host(0, 1, {}));  // the operation keeps its memory
  }
}

TEST(SimDriver, BadRegionsAreRefused) {
  Sim s(seeded(17));
  const Region a = s.page(64);
  EXPECT_FALSE(s.d.fill(0, {a.page, 60, 5}, 0, 1).has_value());
  EXPECT_FALSE(s.d.fill(0, {a.page, ~std::uint64_t{0}, 2}, 0, 1).has_value());
  EXPECT_FALSE(s.d.fill(0, {99, 0, 4}, 0, 1).has_value());
  EXPECT_FALSE(s.d.fill(9, a, 0, 1).has_value());
  EXPECT_FALSE(s.d.copy(0, {a.page, 0, 8}, {a.page, 4, 8}).has_value());
  EXPECT_FALSE(s.d.wait(1, 0, 1).has_value());
  EXPECT_EQ(must(s.d.fill(0, a, 0, 1)), 1u);  // refused operations take no ticket
}

TEST(SimDriver, AWaitForWhatWasNeverSubmittedEnds) {
  Sim s(seeded(18));
  const Region a = s.page(64);
  must(s.d.fill(0, a, 0, 1));
  must(s.d.wait(1, 0, 1));
  must(s.d.fill(1, a, 0, 1));
  must(s.d.submit(1));
  EXPECT_FALSE(must(s.d.wait_host(1, 1, std::chrono::steady_clock::now() + 1ms)));
  EXPECT_FALSE(s.d.wait_host(1, 1, {}).has_value());
  must(s.d.submit(0));
  EXPECT_TRUE(must(s.d.wait_host(1, 1, {})));
}

TEST(SimDriver, AnotherThreadMayWait) {
  auto o = seeded(19);
  o.patience = 10s;
  Sim s(o);
  const Region a = s.page(64);
  must(s.d.fill(0, a, 0, 1));
  std::thread waiter([&] { EXPECT_TRUE(must(s.d.wait_host(0, 1, {}))); });
  std::thread poller([&] {
    while (s.d.completed(0) < 1) std::this_thread::yield();
  });
  must(s.d.submit(0));
  waiter.join();
  poller.join();
}

TEST(SimDriver, EndlessKernelsAreLateErrors) {
  Sim s(seeded(20));
  T t(1, "endless");
  t.loop([&] { t.op(ir::Opcode::slot, T::u32); });
  const auto k = must(s.d.load(must(s.d.compile(std::make_shared<const ir::Kernel>(t.k), {}))));
  LaunchDesc l;
  l.kernel = k;
  const Ticket ticket = must(s.d.launch(2, l));
  must(s.d.submit(2));
  must(s.d.wait_host(2, ticket, {}));
  const auto errors = s.d.take_late_errors();
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].queue, 2);
  EXPECT_EQ(errors[0].ticket, ticket);
  EXPECT_EQ(errors[0].error.kind(), ErrorKind::LaunchFailed);
  EXPECT_TRUE(s.d.take_late_errors().empty());
}

TEST(SimDriver, RefusesWhatItCannotRun) {
  Sim s(seeded(21));
  T big(1025, "big"), fat(1, "fat");
  fat.shared(T::u32, 12 * 1024 + 1);
  for (const auto& k : {big.k, fat.k}) {
    const auto r = s.d.compile(std::make_shared<const ir::Kernel>(k), {});
    ASSERT_FALSE(r.has_value());
    EXPECT_EQ(r.error().kind(), ErrorKind::Unsupported);
  }
  EXPECT_TRUE(s.d.violations().empty());
}

TEST(SimDriver, UnloadingWhatRunsIsAViolation) {
  Sim s(seeded(22));
  const Region a = s.page(32), b = s.page(32);
  must(s.d.upload(0, bytes(numbers), a));
  s.launch(0, a, b, 1);
  s.d.unload(s.add);
  EXPECT_EQ(s.d.violations().size(), 1u);
}

TEST(SimDriver, InstantRunsWhatIsEnqueued) {
  SimOptions o;
  o.instant = true;
  Sim s(o);
  EXPECT_EQ(s.d.properties().driver, "cpu");
  EXPECT_EQ(s.d.properties().name, "CPU (interpreter)");
  EXPECT_EQ(s.d.properties().kind, DeviceKind::cpu);
  const Region a = s.page(32), b = s.page(32);
  must(s.d.upload(0, bytes(numbers), a));
  EXPECT_EQ(s.d.completed(0), 1u);
  s.launch(1, a, b, 10, 3, 2);
  EXPECT_EQ(s.d.completed(1), 1u);
  EXPECT_EQ(s.d.fault(2).index, 8u);
  EXPECT_EQ(s.read(0, b)[0], 11u);
  s.d.free(a.page);
  EXPECT_TRUE(s.d.violations().empty());
}

TEST(SimDriver, KindsHaveNames) {
  EXPECT_EQ(to_string(DeviceKind::simulator), "simulator");
  EXPECT_EQ(to_string(DeviceKind::cpu), "CPU");
}

}  // namespace
}  // namespace tessera::driver
