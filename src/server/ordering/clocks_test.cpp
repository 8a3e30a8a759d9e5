// SPDX-License-Identifier: MIT OR Apache-2.0
#include "server/ordering/clocks.hpp"

#include <gtest/gtest.h>

namespace tessera::server {
namespace {

TEST(Clocks, OwnQueueIsAlwaysOrdered) {
  Clocks c(2);
  c.issued(0, 1);
  EXPECT_TRUE(c.ordered(0, {0, 1}));
  EXPECT_FALSE(c.ordered(1, {0, 1}));
}

TEST(Clocks, WaitImpliesWhatTheOtherKnew) {
  Clocks c(3);
  c.issued(0, 1);
  c.joined(1, {0, 1});
  c.issued(1, 1);
  c.joined(2, {1, 1});
  EXPECT_TRUE(c.ordered(2, {0, 1}));
}

// Joining the other queue's present would leave out a wait that is needed.
TEST(Clocks, JoinTakesTheSnapshotOfTheTicketNotThePresent) {
  Clocks c(3);
  c.issued(1, 1);       // B:1, knowing nothing of A
  c.issued(0, 1);       // A:1
  c.joined(1, {0, 1});  // B waits for A:1 …
  c.issued(1, 2);       // … from B:2 on
  c.joined(2, {1, 1});  // C waits for B:1 only
  EXPECT_FALSE(c.ordered(2, {0, 1}));
  c.joined(2, {1, 2});
  EXPECT_TRUE(c.ordered(2, {0, 1}));
}

TEST(Clocks, ForgettingCompletedTicketsKeepsLaterSnapshots) {
  Clocks c(2);
  c.issued(0, 1);
  for (Ticket t = 1; t <= 10; ++t) {
    c.issued(0, t);
    c.joined(1, {0, t});
    c.issued(1, t);
  }
  c.completed(1, 8);
  EXPECT_EQ(c.at({1, 9})[0], 9u);
  EXPECT_EQ(c.at({1, 10})[0], 10u);
}

}  // namespace
}  // namespace tessera::server
