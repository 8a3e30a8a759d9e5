// SPDX-License-Identifier: MIT OR Apache-2.0
#include "campaign/model.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "campaign/kernels.hpp"
#include "campaign/rig.hpp"

namespace tessera::campaign {
namespace {

bool has(ir::Access access, ir::Access bit) {
  return (static_cast<int>(access) & static_cast<int>(bit)) != 0;
}

}  // namespace

std::optional<Mismatch> Model::judge() {
  for (const std::size_t index : record_.issued) {
    step(index, program_.ops[index]);
    if (found_) break;
  }
  return found_;
}

void Model::mismatch(Mismatch::Kind kind, std::string text) {
  if (!found_) found_ = Mismatch{kind, std::move(text)};
}

Model::Roots Model::join(const Roots& a, const Roots& b) {
  if (a == nullptr || a == b) return b;
  if (b == nullptr) return a;
  auto both = std::make_shared<std::set<std::size_t>>(*a);
  both->insert(b->begin(), b->end());
  return both;
}

Model::Roots Model::failure_in(const Range& range) const {
  Roots roots;
  const Buffer& b = buffers_[range.slot];
  for (std::size_t i = 0; i < range.count; ++i)
    roots = join(roots, b.elements[range.begin + i].failure);
  return roots;
}

std::vector<std::uint32_t> Model::values(const Range& range) const {
  std::vector<std::uint32_t> out;
  for (std::size_t i = 0; i < range.count; ++i) {
    out.push_back(buffers_[range.slot].elements[range.begin + i].value);
  }
  return out;
}

// Bytes that have no memory keep their own reason.
void Model::write(const Range& range, std::uint8_t stream, const Roots& failure) {
  Buffer& b = buffers_[range.slot];
  if (b.no_memory) return;
  for (std::size_t i = 0; i < range.count; ++i) {
    b.elements[range.begin + i].failure = failure;
    b.elements[range.begin + i].stream = stream;
    b.elements[range.begin + i].stream_open = false;
  }
}

void Model::fail_clean(const Range& range, std::uint8_t stream, const Roots& failure) {
  for (std::size_t i = 0; i < range.count; ++i) {
    const Range one{range.slot, static_cast<std::uint16_t>(range.begin + i), 1};
    if (failure_in(one) == nullptr) {
      write(one, stream, failure);
    } else if (Buffer& b = buffers_[range.slot]; !b.no_memory) {
      // Whether the older reason was known when the launch was skipped decides which one stands.
      Element& e = b.elements[one.begin];
      e.failure = join(e.failure, failure);
      e.stream_open = true;
    }
  }
}

void Model::step(std::size_t index, const Op& op) {
  const auto self = [&] {
    return std::make_shared<const std::set<std::size_t>>(std::set<std::size_t>{index});
  };
  const Roots own = record_.failed.contains(index) ? self() : nullptr;
  const auto put = [&](const Range& r, auto&& value) {
    write(r, op.stream, own);
    if (own != nullptr) return;
    for (std::size_t i = 0; i < r.count; ++i) {
      buffers_[r.slot].elements[r.begin + i].value = value(static_cast<std::uint32_t>(i));
    }
  };
  switch (op.kind) {
    case OpKind::alloc: {
      Buffer& b = buffers_[op.r[0].slot];
      b = Buffer();
      b.live = true;
      b.elements.resize(op.r[0].count);
      if (record_.no_memory.contains(index)) {
        const Roots roots = self();
        for (Element& e : b.elements) {
          e.failure = roots;
          e.stream = op.stream;
        }
        b.no_memory = true;
      }
      return;
    }
    case OpKind::drop:
      buffers_[op.r[0].slot] = Buffer();
      return;
    case OpKind::upload:
      return put(op.r[0], [&](std::uint32_t i) { return op.value + i; });
    case OpKind::upload_count:
      return put(op.r[0], [&](std::uint32_t i) { return i == 0 ? op.value : 1; });
    case OpKind::fill:
      return put(op.r[0], [&](std::uint32_t) { return op.value; });
    case OpKind::copy: {
      const Roots bad = failure_in(op.r[0]);
      if (bad != nullptr) return write(op.r[1], op.stream, join(bad, own));
      const std::vector<std::uint32_t> from = values(op.r[0]);
      return put(op.r[1], [&](std::uint32_t i) { return from[i]; });
    }
    case OpKind::launch:
      return launch(index, op, false);
    case OpKind::launch_dynamic:
      return launch(index, op, true);
    case OpKind::read:
      return compare_read(index, op);
    case OpKind::sync:
      return compare_sync(index, op);
    case OpKind::status:
      return compare_status(index, op);
    case OpKind::refuse:
      return write(op.r[0], op.stream, self());
    default:
      return;
  }
}

void Model::launch(std::size_t index, const Op& op, bool dynamic) {
  const std::size_t count = kernel_bindings(op.kernel);
  const auto self = std::make_shared<const std::set<std::size_t>>(std::set<std::size_t>{index});
  Roots bad;
  for (std::size_t i = 0; i < count; ++i) {
    const ir::Access access = kernel_access(op.kernel, i);
    if (dynamic || has(access, ir::Access::in)) bad = join(bad, failure_in(op.r[i]));
  }
  if (dynamic) bad = join(bad, failure_in(op.r[3]));
  for (std::size_t i = 0; i < count; ++i) {  // an output without memory
    if (buffers_[op.r[i].slot].no_memory) bad = join(bad, failure_in(op.r[i]));
  }
  bool own = record_.failed.contains(index) || kernel_name(op.kernel) == uncompilable;
  if (dynamic && failure_in(op.r[3]) == nullptr) {
    // Looked at on the device before, and apart from, what the launch itself depends on.
    const std::vector<std::uint32_t> cubes = values(op.r[3]);
    for (std::size_t axis = 0; axis < 3; ++axis) own = own || cubes[axis] > at_most[axis];
  }

  std::vector<std::vector<std::uint32_t>> bound;
  std::uint64_t running = 0;
  if (bad == nullptr && !own) {
    for (std::size_t i = 0; i < count; ++i) bound.push_back(values(op.r[i]));
    running = ~std::uint64_t{0};
    if (dynamic) {
      const std::vector<std::uint32_t> cubes = values(op.r[3]);
      running = std::uint64_t{cubes[0]} * cubes[1] * cubes[2] * units;
    }
    if (!own) own = !evaluate(op.kernel, running, bound);
  }
  const Roots failure = own ? join(bad, self) : bad;
  for (std::size_t i = 0; i < count; ++i) {
    if (!has(kernel_access(op.kernel, i), ir::Access::out)) continue;
    if (failure != nullptr) {
      if (dynamic) {
        fail_clean(op.r[i], op.stream, failure);
      } else {
        write(op.r[i], op.stream, failure);
      }
      continue;
    }
    if (!dynamic) write(op.r[i], op.stream, nullptr);
    for (std::size_t k = 0; k < op.r[i].count; ++k) {
      buffers_[op.r[i].slot].elements[op.r[i].begin + k].value = bound[i][k];
    }
  }
}

// Whether the error's root is one of the operations. A fault that was injected names itself; what
// happened inside the server or a kernel carries the operation's number as its line.
bool Model::root_allowed(const Error& error, const std::set<std::size_t>& roots) const {
  const Error root = error.root();
  if (root.kind() == ErrorKind::DeviceLost) return record_.lost;
  constexpr std::string_view injected = "Injected fault ";
  const std::string_view text = root.message();
  if (text.starts_with(injected)) {
    std::uint64_t number = 0;
    std::from_chars(text.data() + injected.size(), text.data() + text.size(), number);
    const auto it = record_.fault_of.find(number);
    return it != record_.fault_of.end() && roots.contains(it->second);
  }
  if (root.kind() == ErrorKind::OutOfMemory) {
    return std::any_of(roots.begin(), roots.end(),
                       [&](std::size_t r) { return record_.no_memory.contains(r); });
  }
  if (root.kind() == ErrorKind::CompileFailed) {
    return std::any_of(roots.begin(), roots.end(), [&](std::size_t r) {
      return kernel_name(program_.ops[r].kernel) == uncompilable;
    });
  }
  return root.where().line != 0 && roots.contains(root.where().line - 1);
}

void Model::compare_read(std::size_t index, const Op& op) {
  const auto it = record_.reads.find(index);
  if (it == record_.reads.end()) return;  // never settled; a hang was noted where that is wrong
  const Answer& answer = it->second;
  Roots bad;
  for (std::uint32_t i = 0; i < op.value; ++i) bad = join(bad, failure_in(op.r[i]));
  if (record_.failed.contains(index)) {
    bad = join(bad, std::make_shared<const std::set<std::size_t>>(std::set<std::size_t>{index}));
  }
  if (answer.error) {
    if (record_.lost) return;  // a reason from before the loss may still stand
    if (bad == nullptr) {
      return mismatch(
          Mismatch::Kind::wrong_error,
          fmt::format("read {} failed and should not have: {}", index, answer.error->full()));
    }
    if (!root_allowed(*answer.error, *bad)) {
      mismatch(Mismatch::Kind::wrong_error,
               fmt::format("read {} failed for the wrong reason; allowed are operations {}: {}",
                           index, fmt::join(*bad, ", "), answer.error->full()));
    }
    return;
  }
  if (bad != nullptr) {
    return mismatch(Mismatch::Kind::stale_read,
                    fmt::format("read {} gave data of bytes that operations {} left unwritten",
                                index, fmt::join(*bad, ", ")));
  }
  for (std::uint32_t i = 0; i < op.value; ++i) {
    const std::vector<std::uint32_t> expected = values(op.r[i]);
    for (std::size_t k = 0; k < expected.size(); ++k) {
      if (answer.values[i][k] == expected[k]) continue;
      return mismatch(
          Mismatch::Kind::stale_read,
          fmt::format("read {}: element {} of #{} is {} and should be {}", index, op.r[i].begin + k,
                      op.r[i].slot, answer.values[i][k], expected[k]));
    }
  }
}

void Model::compare_sync(std::size_t index, const Op& op) {
  const auto it = record_.syncs.find(index);
  if (it == record_.syncs.end()) return;
  Roots bad, allowed;
  for (const Buffer& b : buffers_) {
    for (const Element& e : b.elements) {
      if (e.failure == nullptr) continue;
      const bool ours = op.value == 1 || e.stream == op.stream;
      if (ours && !e.stream_open) bad = join(bad, e.failure);
      if (ours || e.stream_open) allowed = join(allowed, e.failure);
    }
  }
  const std::optional<Error>& error = it->second;
  if (record_.lost && error) return;
  if (error ? allowed == nullptr : bad != nullptr) {
    return mismatch(error ? Mismatch::Kind::wrong_error : Mismatch::Kind::stale_read,
                    fmt::format("sync {} {}", index,
                                error ? "failed and should not have: " + error->full()
                                      : "passed over bytes that are not there"));
  }
  if (error && !root_allowed(*error, *allowed)) {
    mismatch(Mismatch::Kind::wrong_error,
             fmt::format("sync {} failed for the wrong reason; allowed are operations {}: {}",
                         index, fmt::join(*allowed, ", "), error->full()));
  }
}

// What is known now: silence proves nothing.
void Model::compare_status(std::size_t index, const Op& op) {
  const auto it = record_.statuses.find(index);
  if (it == record_.statuses.end() || !it->second) return;
  if (record_.lost) return;
  const Roots bad = failure_in(op.r[0]);
  if (bad == nullptr || !root_allowed(*it->second, *bad)) {
    mismatch(Mismatch::Kind::wrong_error,
             fmt::format("status {} is wrong: {}", index, it->second->full()));
  }
}

}  // namespace tessera::campaign
