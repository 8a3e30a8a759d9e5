// SPDX-License-Identifier: MIT OR Apache-2.0
// What the verifier refuses, and with which words.
#include "ir/verifier.hpp"

#include <gtest/gtest.h>

#include <string>

#include "ir/random_program.hpp"
#include "ir/test_kernel.hpp"
#include "ir/text.hpp"

namespace tessera::ir {
namespace {

/// Refused with a message that holds `text` and the line of the last operation.
void expect_refused(const TestKernel& t, const std::string& text, std::uint32_t line = 0) {
  const Status s = verify(t.k);
  ASSERT_FALSE(s) << print(t.k);
  EXPECT_EQ(s.error().kind(), ErrorKind::CompileFailed);
  EXPECT_EQ(s.error().kernel(), "test");
  const std::string& message = s.error().message();
  EXPECT_NE(message.find(text), std::string::npos) << message;
  if (line == 0) line = t.k.locs.back().line;
  EXPECT_NE(message.find("test.k:" + std::to_string(line) + ":"), std::string::npos)
      << message << " lacks line " << line;
}
void expect_accepted(const TestKernel& t) {
  const Status s = verify(t.k);
  EXPECT_TRUE(s) << s.error().message();
}

TEST(Verifier, AcceptsRandomPrograms) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Status s = verify(random_kernel(seed));
    EXPECT_TRUE(s) << "seed " << seed << ": " << s.error().message();
  }
}

// ---- types ----------------------------------------------------------------------------------

TEST(Verifier, OperandsOfTwoTypes) {
  TestKernel t;
  const Value a = t.constant(Elem::i32, 1), b = t.constant(Elem::u32, 1);
  t.op(Opcode::add, t.i32, {a, b});
  expect_refused(t, "operands of one type, not i32 and u32");
}

TEST(Verifier, ResultOfAnotherType) {
  TestKernel t;
  const Value a = t.constant(Elem::i32, 1);
  t.op(Opcode::neg, t.u32, {a});
  expect_refused(t, "neg of i32 gives i32");
}

TEST(Verifier, ComparisonGivesBool) {
  TestKernel t;
  const Value a = t.constant(Elem::i32, 1);
  t.op(Opcode::lt, t.i32, {a, a});
  expect_refused(t, "gives bool");
}

TEST(Verifier, ElementsThatAnOperationDoesNotTake) {
  TestKernel sum;
  const Value yes = sum.constant(Elem::boolean, 1);
  sum.op(Opcode::add, sum.boolean, {yes, yes});
  expect_refused(sum, "add is not defined for bool");
  TestKernel root;
  const Value n = root.constant(Elem::i32, 4);
  root.op(Opcode::sqrt, root.i32, {n});
  expect_refused(root, "sqrt is not defined for i32");
  TestKernel shift;
  const Value f = shift.constant(Elem::f32, 4);
  shift.op(Opcode::shl, shift.f32, {f, f});
  expect_refused(shift, "shl is not defined for f32");
}

TEST(Verifier, CountOfOperands) {
  TestKernel t;
  const Value a = t.constant(Elem::i32, 1);
  t.op(Opcode::add, t.i32, {a});
  expect_refused(t, "add takes 2 operands, not 1");
}

TEST(Verifier, LanesOfConversions) {
  TestKernel cast;
  const Value a = cast.constant(Elem::i32, 1);
  cast.op(Opcode::cast, {Elem::f32, 2}, {a});
  expect_refused(cast, "cast keeps the number of lanes");
  TestKernel bits;
  const Value b = bits.constant(Elem::i32, 1);
  bits.op(Opcode::bitcast, {Elem::f64, 1}, {b});
  expect_refused(bits, "bitcast keeps the bits");
}

TEST(Verifier, Vectors) {
  const Type two{Elem::i32, 2};
  TestKernel splat;
  splat.op(Opcode::splat, {Elem::f32, 2}, {splat.constant(Elem::i32, 1)});
  expect_refused(splat, "splat makes a vector of a scalar");
  TestKernel compose;
  const Value a = compose.constant(Elem::i32, 1);
  compose.op(Opcode::compose, {Elem::i32, 4}, {a, a});
  expect_refused(compose, "one scalar a lane");
  TestKernel extract;
  const Value v = extract.op(Opcode::splat, two, {extract.constant(Elem::i32, 1)});
  extract.op(Opcode::extract, extract.i32, {v}, 2);
  expect_refused(extract, "a lane that the vector has");
  TestKernel insert;
  const Value one = insert.constant(Elem::i32, 1);
  const Value w = insert.op(Opcode::splat, two, {one});
  insert.op(Opcode::insert, two, {w, one}, 7);
  expect_refused(insert, "a lane that the vector has");
  TestKernel three;
  three.op(Opcode::splat, {Elem::i32, 3}, {three.constant(Elem::i32, 1)});
  expect_refused(three, "3 lanes");
}

TEST(Verifier, SidesOfSelect) {
  TestKernel t;
  const Value c = t.constant(Elem::boolean, 1), a = t.constant(Elem::i32, 1);
  t.op(Opcode::select, t.i32, {c, a, t.constant(Elem::u32, 1)});
  expect_refused(t, "sides of select");
  TestKernel number;
  const Value n = number.constant(Elem::i32, 1);
  number.op(Opcode::select, number.i32, {n, n, n});
  expect_refused(number, "condition of select");
}

TEST(Verifier, VectorConstant) {
  TestKernel t;
  t.op(Opcode::constant, {Elem::i32, 2}, {}, 1);
  expect_refused(t, "constant is a scalar");
}

TEST(Verifier, Variables) {
  TestKernel stored;
  const Value s = stored.op(Opcode::slot, stored.i32);
  stored.op(Opcode::slot_store, {}, {s, stored.constant(Elem::u32, 1)});
  expect_refused(stored, "The variable holds i32");
  TestKernel used;
  const Value v = used.op(Opcode::slot, used.i32);
  used.op(Opcode::neg, used.i32, {v});
  expect_refused(used, "used as a value");
  TestKernel other;
  const Value n = other.constant(Elem::i32, 1);
  other.op(Opcode::slot_load, other.i32, {n});
  expect_refused(other, "no variable");
}

// ---- structure ------------------------------------------------------------------------------

TEST(Verifier, OperandOfAClosedRegion) {
  TestKernel t;
  Value inner = none;
  t.if_(t.constant(Elem::boolean, 1), [&] { inner = t.constant(Elem::i32, 1); });
  t.op(Opcode::neg, t.i32, {inner});
  expect_refused(t, "not visible");
}

TEST(Verifier, OperandOfTheOtherSide) {
  TestKernel t;
  Value inner = none;
  t.if_(
      t.constant(Elem::boolean, 1), [&] { inner = t.constant(Elem::i32, 1); },
      [&] { t.op(Opcode::neg, t.i32, {inner}); });
  expect_refused(t, "not visible");
}

TEST(Verifier, InductionVariableBehindItsLoop) {
  TestKernel t;
  Value induction = none;
  t.for_(t.idx(0), t.idx(4), t.idx(1), [&](Value i) { induction = i; });
  t.op(Opcode::neg, t.index, {induction});
  expect_refused(t, "not visible");
}

TEST(Verifier, OperandOfALaterOrMissingOperation) {
  TestKernel later;
  later.op(Opcode::neg, later.i32, {1});
  later.constant(Elem::i32, 1);
  expect_refused(later, "not visible", 1);
  TestKernel missing;
  missing.op(Opcode::neg, missing.i32, {1000});
  expect_refused(missing, "not visible");
  TestKernel itself;
  itself.op(Opcode::neg, itself.i32, {0});
  expect_refused(itself, "not visible");
}

TEST(Verifier, OperandWithoutAValue) {
  TestKernel t;
  t.sync();
  t.op(Opcode::neg, t.i32, {0});
  expect_refused(t, "no value");
}

TEST(Verifier, BreakOutsideALoop) {
  TestKernel t;
  t.if_(t.constant(Elem::boolean, 1), [&] { t.op(Opcode::break_, {}); });
  expect_refused(t, "outside every loop");
  TestKernel unless;
  unless.op(Opcode::break_unless, {}, {unless.constant(Elem::boolean, 1)});
  expect_refused(unless, "outside every loop");
  TestKernel behind;
  behind.loop([&] { behind.op(Opcode::break_, {}); });
  behind.op(Opcode::break_, {});
  expect_refused(behind, "outside every loop");
  TestKernel inside;
  inside.loop([&] {
    inside.if_(inside.constant(Elem::boolean, 1), [&] { inside.op(Opcode::break_, {}); });
  });
  expect_accepted(inside);
}

TEST(Verifier, OperationBehindAJump) {
  TestKernel t;
  t.op(Opcode::return_, {});
  t.constant(Elem::i32, 1);
  expect_refused(t, "Nothing may follow", 1);
  TestKernel leaves;
  leaves.loop([&] {
    leaves.op(Opcode::break_, {});
    leaves.sync();
  });
  expect_refused(leaves, "Nothing may follow", 2);
}

TEST(Verifier, OperationListedTwice) {
  TestKernel t;
  t.constant(Elem::i32, 1);
  t.k.regions[0].ops.push_back(0);
  expect_refused(t, "twice");
}

TEST(Verifier, DamagedIds) {
  TestKernel listed;
  listed.k.regions[0].ops.push_back(77);
  EXPECT_FALSE(verify(listed.k));
  TestKernel region;
  region.loop([] {});
  region.k.ops[0].region_begin = 50;
  EXPECT_FALSE(verify(region.k));
  TestKernel operands;
  operands.op(Opcode::neg, operands.i32, {0});
  operands.k.operands.clear();
  expect_refused(operands, "cut off");
  TestKernel regions;
  regions.loop([] {});
  regions.k.ops[0].region_count = 0;
  expect_refused(regions, "owns 1 regions");
}

// A region that holds itself would never end.
TEST(Verifier, RegionInsideItself) {
  TestKernel t;
  t.loop([] {});
  t.k.ops[0].region_begin = 0;
  EXPECT_FALSE(verify(t.k));
}

TEST(Verifier, ConditionIsOneBool) {
  TestKernel t;
  t.if_(t.constant(Elem::i32, 1), [] {});
  expect_refused(t, "not defined for i32");
  TestKernel vector;
  const Type two{Elem::boolean, 2};
  const Value v = vector.op(Opcode::splat, two, {vector.constant(Elem::boolean, 1)});
  vector.if_(v, [] {});
  expect_refused(vector, "The condition is one bool");
}

TEST(Verifier, StepsAndBoundsOfLoops) {
  TestKernel zero;
  zero.for_(zero.idx(0), zero.idx(4), zero.idx(0), [](Value) {});
  expect_refused(zero, "step of a loop is zero");
  TestKernel mixed;
  mixed.for_(mixed.idx(0), mixed.idx(4), mixed.constant(Elem::u32, 1), [](Value) {});
  expect_refused(mixed, "one integer type");
  TestKernel floats;
  const Value f = floats.constant(Elem::f32, 0x3f800000);
  floats.for_(f, f, f, [](Value) {});
  expect_refused(floats, "not defined for f32");
}

// ---- memory ---------------------------------------------------------------------------------

TEST(Verifier, LoadFromOut) {
  TestKernel t;
  const MemoryRef m = t.binding("y", t.f32, Access::out);
  t.load(m, {t.idx(0)});
  expect_refused(t, "y is declared Out and is read");
}

TEST(Verifier, StoreToIn) {
  TestKernel t;
  const MemoryRef m = t.binding("x", t.f32, Access::in);
  t.store(m, {t.idx(0)}, t.constant(Elem::f32, 0));
  expect_refused(t, "x is declared In and is written");
}

TEST(Verifier, AtomicsNeedAtomicMemory) {
  TestKernel t;
  const MemoryRef m = t.binding("x", t.u32, Access::inout);
  t.atomic(Opcode::atomic_add, m, {t.idx(0), t.constant(Elem::u32, 1)});
  expect_refused(t, "not declared atomic");
  TestKernel shared;
  const MemoryRef s = shared.shared(shared.u32, 4);
  shared.atomic(Opcode::atomic_load, s, {shared.idx(0)});
  expect_refused(shared, "not declared atomic");
  TestKernel plain;
  const MemoryRef a = plain.binding("x", plain.u32, Access::inout);
  plain.k.bindings[0].atomic = true;
  plain.load(a, {plain.idx(0)});
  expect_refused(plain, "atomic operations alone");
}

TEST(Verifier, AtomicElements) {
  for (const Type type : {Type{Elem::f32, 1}, Type{Elem::u64, 1}, Type{Elem::u32, 2}}) {
    TestKernel t;
    t.binding("x", type, Access::inout);
    t.k.bindings[0].atomic = true;
    const Status s = verify(t.k);
    ASSERT_FALSE(s);
    EXPECT_NE(s.error().message().find("must be i32 or u32"), std::string::npos);
  }
}

// Shared memory holds atomics of the same elements as buffers.
TEST(Verifier, AtomicElementsOfSharedMemory) {
  TestKernel t;
  const MemoryRef s = t.shared(t.f32, 4);
  t.k.shared[0].atomic = true;
  t.atomic(Opcode::atomic_and, s, {t.idx(0), t.constant(Elem::f32, 1)});
  EXPECT_FALSE(verify(t.k)) << print(t.k);
}

TEST(Verifier, CountOfCoordinates) {
  TestKernel few;
  const MemoryRef m = few.binding("x", few.f32, Access::inout, 2);
  few.load(m, {few.idx(0)});
  expect_refused(few, "2 coordinates");
  TestKernel many;
  const MemoryRef flat = many.binding("x", many.f32, Access::inout);
  many.store(flat, {many.idx(0), many.idx(0)}, many.constant(Elem::f32, 0));
  expect_refused(many, "1 coordinates");
  TestKernel cas;
  const MemoryRef a = cas.binding("x", cas.u32, Access::inout);
  cas.k.bindings[0].atomic = true;
  cas.atomic(Opcode::atomic_cas, a, {cas.idx(0), cas.constant(Elem::u32, 0)});
  expect_refused(cas, "2 values");
}

TEST(Verifier, CoordinateIsAnIndex) {
  TestKernel t;
  const MemoryRef m = t.binding("x", t.f32, Access::in);
  t.load(m, {t.constant(Elem::i32, 0)});
  expect_refused(t, "coordinate is an index");
}

TEST(Verifier, ElementOfTheMemory) {
  TestKernel stored;
  const MemoryRef y = stored.binding("y", stored.f32, Access::out);
  stored.store(y, {stored.idx(0)}, stored.constant(Elem::i32, 0));
  expect_refused(stored, "The memory holds f32");
  TestKernel loaded;
  const MemoryRef x = loaded.binding("x", loaded.f32, Access::in);
  loaded.k.ops[loaded.load(x, {loaded.idx(0)})].type = loaded.i32;
  expect_refused(loaded, "The memory holds f32");
}

TEST(Verifier, UniformLoadIsOfSharedMemory) {
  TestKernel t;
  const MemoryRef m = t.binding("x", t.f32, Access::in);
  t.load(m, {t.idx(0)}, Opcode::uniform_load);
  expect_refused(t, "of shared memory");
}

TEST(Verifier, AttributesThatNameNothing) {
  TestKernel buffer;
  buffer.op(Opcode::load, buffer.f32, {buffer.idx(0)}, detail::pack({false, 0}));
  expect_refused(buffer, "No such buffer");
  TestKernel block;
  block.op(Opcode::load, block.f32, {block.idx(0)}, detail::pack({true, 0}));
  expect_refused(block, "No such shared block");
  TestKernel scalar;
  scalar.op(Opcode::scalar, scalar.u32, {}, 0);
  expect_refused(scalar, "No such scalar");
  TestKernel length;
  length.op(Opcode::length, length.index, {}, 3);
  expect_refused(length, "No such buffer");
  TestKernel axis;
  axis.binding("x", axis.f32, Access::in, 2);
  axis.op(Opcode::shape, axis.index, {}, std::uint64_t{2} << 32);
  expect_refused(axis, "No such axis");
  TestKernel builtin;
  builtin.op(Opcode::builtin, builtin.index, {}, 1000);
  expect_refused(builtin, "No such builtin");
}

TEST(Verifier, CheckedAccessNeedsASite) {
  TestKernel t;
  const MemoryRef m = t.binding("x", t.f32, Access::in);
  const Value v = t.load(m, {t.idx(0)});
  t.k.ops[v].site = none;
  expect_refused(t, "needs a site");
}

TEST(Verifier, Parameters) {
  TestKernel boolean;
  boolean.binding("x", boolean.boolean, Access::in);
  EXPECT_FALSE(verify(boolean.k));
  TestKernel axes;
  axes.binding("x", axes.f32, Access::in, 9);
  EXPECT_FALSE(verify(axes.k));
  TestKernel units(0);
  EXPECT_FALSE(verify(units.k));
}

}  // namespace
}  // namespace tessera::ir
