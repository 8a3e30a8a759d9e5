// SPDX-License-Identifier: MIT OR Apache-2.0
#include "server/memory/page_store.hpp"

#include "driver/sim/sim_driver.hpp"
#include "server/memory/memory_testing.hpp"

namespace tessera::server {
namespace {

using namespace testing;

TEST(PageStore, APageIsOneFreeBlock) {
  auto driver = sim();
  PageStore store(*driver);
  Page* page = store.make(nullptr, mib, Mapping::eager).value();
  check_cover(*page);
  EXPECT_TRUE(page->first->free);
  EXPECT_NE(page->id, Page::unmapped);
  EXPECT_EQ(store.reserved(), mib);
  EXPECT_EQ(store.unmapped(), 0u);
  EXPECT_EQ(store.at(page->id, mib - 1), page->first);
  EXPECT_EQ(store.at(page->id, mib), nullptr);
  EXPECT_EQ(store.at(page->id + 1, 0), nullptr);
}

TEST(PageStore, ALazyPageHasNoMemoryUntilItIsMapped) {
  auto driver = sim(mib);
  PageStore store(*driver);
  Page* pages[3];
  for (Page*& page : pages) page = store.make(nullptr, mib, Mapping::lazy).value();
  EXPECT_EQ(store.unmapped(), 3 * mib);
  EXPECT_EQ(store.reserved(), 3 * mib);
  ASSERT_TRUE(store.map(*pages[0]));
  EXPECT_NE(pages[0]->id, Page::unmapped);
  EXPECT_EQ(store.unmapped(), 2 * mib);
  EXPECT_EQ(store.at(pages[0]->id, 5), pages[0]->first);
  const driver::PageId id = pages[0]->id;
  ASSERT_TRUE(store.map(*pages[0]));
  EXPECT_EQ(pages[0]->id, id);
  // The device has no more: the page stays promised.
  const Status refused = store.map(*pages[1]);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::OutOfMemory);
  EXPECT_EQ(pages[1]->id, Page::unmapped);
  EXPECT_EQ(store.unmapped(), 2 * mib);
}

TEST(PageStore, ALazyPageIsHeldToTheLimitOfTheDevice) {
  auto driver = sim(mib);
  PageStore store(*driver);
  EXPECT_EQ(store.make(nullptr, mib + 64, Mapping::lazy).error().kind(), ErrorKind::TooLarge);
  EXPECT_EQ(store.make(nullptr, mib + 64, Mapping::eager).error().kind(), ErrorKind::TooLarge);
}

TEST(PageStore, ARetiredPageWaitsForWhatItsRecordsName) {
  auto driver = sim();
  PageStore store(*driver);
  Page* page = store.make(nullptr, mib, Mapping::eager).value();
  const driver::PageId id = page->id;
  const Point first = write(*driver, *page->first, 0);
  const Point second = [&] {
    const driver::Region half{page->id, 0, mib / 2};
    driver->wait(1, 0, first.ticket).value();
    const Point p{1, driver->fill(1, half, 9, 4).value()};
    page->first->record.note_write(0, mib / 2, p);
    return p;
  }();
  store.retire(page);
  EXPECT_EQ(store.reserved(), 0u);
  EXPECT_EQ(store.retiring(), mib);
  EXPECT_NE(store.at(id, 0), nullptr);  // its records still order what may name it
  EXPECT_EQ(store.collect(), 0u);
  finish(*driver, first);
  EXPECT_EQ(store.collect(), 0u);  // the other queue is still at it
  finish(*driver, second);
  EXPECT_EQ(store.collect(), mib);
  EXPECT_EQ(store.at(id, 0), nullptr);
  EXPECT_EQ(store.retiring(), 0u);
  EXPECT_EQ(store.collect(), 0u);
  EXPECT_EQ(store.peak(), mib);
}

TEST(PageStore, ARetiredPageWaitsForThoseWhoHoldIt) {
  auto driver = sim();
  PageStore store(*driver);
  Page* page = store.make(nullptr, mib, Mapping::eager).value();
  const driver::PageId id = page->id;
  store.hold(id);
  store.hold(id);
  store.retire(page);
  EXPECT_EQ(store.collect(), 0u);
  store.let_go(id);
  EXPECT_EQ(store.collect(), 0u);
  // What was put off happens now, on a page that no pool knows.
  const Point late = write(*driver, *store.at(id, 0));
  store.let_go(id);
  EXPECT_EQ(store.collect(), 0u);
  finish(*driver, late);
  EXPECT_EQ(store.collect(), mib);
}

TEST(PageStore, OnALostDeviceNothingIsWaitedFor) {
  auto driver = sim();
  PageStore store(*driver);
  Page* page = store.make(nullptr, mib, Mapping::eager).value();
  write(*driver, *page->first);
  store.retire(page);
  EXPECT_EQ(store.collect(), 0u);
  static_cast<driver::SimDriver&>(*driver).lose("unplugged");
  EXPECT_EQ(store.collect(true), mib);
}

TEST(PageStore, APageThatNobodyTouchedGoesAtOnce) {
  auto driver = sim(mib);
  PageStore store(*driver);
  store.retire(store.make(nullptr, mib, Mapping::eager).value());
  store.retire(store.make(nullptr, mib, Mapping::lazy).value());
  EXPECT_EQ(store.retiring() + store.reserved() + store.unmapped(), 0u);
  EXPECT_TRUE(store.make(nullptr, mib, Mapping::eager));
}

TEST(PageStore, MemoryThatCameBackIsFoundWithoutBeingCollectedFirst) {
  auto driver = sim(mib);
  PageStore store(*driver);
  Page* page = store.make(nullptr, mib, Mapping::eager).value();
  const Point point = write(*driver, *page->first);
  store.retire(page);
  EXPECT_EQ(store.make(nullptr, mib, Mapping::eager).error().kind(), ErrorKind::OutOfMemory);
  finish(*driver, point);
  Page* lazy = store.make(nullptr, mib, Mapping::lazy).value();
  EXPECT_TRUE(store.map(*lazy));
  EXPECT_EQ(store.retiring(), 0u);
}

TEST(PageStore, TheStoreFreesWhatIsLeft) {
  auto driver = sim(2 * mib);
  for (int round = 0; round < 3; ++round) {
    PageStore store(*driver);
    Page* page = store.make(nullptr, mib, Mapping::eager).value();
    const Point point = write(*driver, *page->first);
    finish(*driver, point);
    store.retire(page);
    ASSERT_TRUE(store.make(nullptr, mib, Mapping::eager));
  }
}

}  // namespace
}  // namespace tessera::server
