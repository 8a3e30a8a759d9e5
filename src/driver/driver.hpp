// SPDX-License-Identifier: MIT OR Apache-2.0
// The driver contract: what the one server asks of a device.
//
// A driver moves bytes and runs kernels in queues. It has no rules of its own: it does not decide
// what may overlap, what waits for what, what a failure taints, where a buffer lies or when to
// submit. Everything that crosses this line is a value (ids, byte ranges, numbers), never a
// callback, so that a driver can stand behind a process boundary.
//
// Threads. One thread at a time calls the members that are not marked otherwise (the server's
// executor). Those marked [any thread] may be called at any time from anywhere. Those marked
// [blocks] are never called by the executor; all others return without waiting for the device.
//
// Tickets. Each operation on a queue is numbered: 1, 2, 3 … per queue, in call order, also across
// kinds of operation. A queue runs its operations as if one after the other. Queues do not wait
// for each other unless told to by wait(). An operation that returns an error has no ticket and
// did nothing.
//
// Bytes. A region is inside one page. Offsets of regions bound to kernels are multiples of
// Properties::offset_alignment; all others may start and end anywhere. Regions passed to copy()
// do not overlap. Zero-byte operations are never asked for; a binding of a launch may have no
// bytes, and its page and offset then mean nothing.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/kernel.hpp"
#include "ir/variant.hpp"
#include "tessera/result.hpp"

namespace tessera::driver {

using QueueId = std::uint8_t;
using Ticket = std::uint64_t;  // 0: before every operation
using PageId = std::uint32_t;
using KernelId = std::uint32_t;
using ReadId = std::uint64_t;
using Cubes = std::array<std::uint32_t, 3>;
using Deadline = std::optional<std::chrono::steady_clock::time_point>;  // none: wait for ever

enum class DeviceKind : std::uint8_t {
  discrete,
  integrated,
  virtual_gpu,
  software,
  cpu,
  simulator
};
std::string_view to_string(DeviceKind kind) noexcept;

/// What the device is, what it can hold and which rules the server must obey for it.
struct Properties {
  std::string driver;       // "webgpu", "sim", "cpu"
  std::string name;         // of the adapter, as a person knows it
  std::string detail;       // driver versions, how it was chosen
  std::string fingerprint;  // for caches of compiled code: changes whenever code might
  DeviceKind kind = DeviceKind::software;

  std::vector<Elem> elements;       // usable as buffer elements and in arithmetic
  bool wide_index = false;          // kernels can index with 64 bits
  std::uint32_t queues = 1;         // hardware queues; the server folds its own onto them
  std::uint64_t page_limit = 0;     // largest page, bytes
  std::uint64_t binding_limit = 0;  // largest region bound to a kernel, bytes
  std::uint64_t capacity = 0;       // bytes of memory; 0 if unknown
  std::uint32_t offset_alignment = 64;
  std::uint32_t max_bindings = 16;
  std::uint32_t shared_bytes = 16384;
  std::uint32_t max_units = 256;  // per cube
  std::array<std::uint32_t, 3> max_cube_dim{256, 256, 64};
  Cubes max_cubes{65535, 65535, 65535};
  std::uint32_t plane_min = 1, plane_max = 1;
  std::uint32_t fault_slots = 0;  // fault words the driver keeps
  // One page may be bound read-only or writable in one dispatch, not both: where a page has a
  // written binding, Variant::writable names every binding of that page.
  bool one_access_per_page = false;
  bool row_copies = false;  // copy_rows() is there
};

enum class PageKind : std::uint8_t {
  device,
  counts,  // holds the cube counts of indirect launches; also a storage and copy target
};

struct Region {
  PageId page = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  friend bool operator==(const Region&, const Region&) = default;
};

using ir::Variant;

/// A compiled kernel as a value: code and what loading needs to know. Made by Driver::compile().
struct Image {
  std::string entry;
  std::string code;    // text or bytes of the target
  std::string target;  // "wgsl", "ir"
  std::shared_ptr<const ir::Kernel> kernel;
  Variant variant;
};

/// A launch, resolved.
struct LaunchDesc {
  KernelId kernel = 0;
  std::span<const Region> bindings;           // in the kernel's order
  std::span<const std::uint64_t> parameters;  // ir::ParameterLayout order
  Cubes cubes{1, 1, 1};                       // physical grid; unused with `indirect`
  Cubes virtual_cubes{1, 1, 1};               // what the kernel sees as its cube count
  std::optional<Region> indirect;             // three u32 in a page of kind counts; both grids
  std::uint32_t fault_slot = ir::none;        // none: the kernel cannot fault
  std::uint32_t fault_claim = 0;              // nonzero; marks the word as this launch's
};

/// Left by a launch that failed a check. claim is 0 while the slot is clear.
struct FaultWord {
  std::uint32_t claim = 0;
  std::uint32_t site = 0;
  std::uint64_t index = 0;
};

/// An operation that was accepted and failed later, before running.
struct LateError {
  QueueId queue;
  Ticket ticket;
  Error error;
};

class Driver {
 public:
  virtual ~Driver() = default;

  virtual const Properties& properties() const noexcept = 0;  // [any thread]

  // Pages. Their ids are never 0. A page's bytes are unspecified until written. free() is called
  // once every operation that names the page has completed. OutOfMemory: may succeed later;
  // TooLarge: never.
  virtual Result<PageId> allocate(PageKind kind, std::uint64_t bytes) = 0;
  virtual void free(PageId page) = 0;
  // What the device's own interface calls the page: a WGPUBuffer, an address.
  virtual std::uint64_t native(PageId page) const = 0;

  // Kernels. The kernel given to compile() has been through passes::prepare(). compile() is pure.
  // Unsupported names the type or feature; CompileFailed carries the target compiler's words.
  virtual Result<Image> compile(std::shared_ptr<const ir::Kernel> kernel,
                                const Variant& variant) const = 0;  // [any thread] [blocks]
  virtual Result<KernelId> load(const Image& image) = 0;            // [any thread] [blocks]
  virtual void unload(KernelId kernel) = 0;  // once every launch of it has completed

  // Work.
  virtual Result<Ticket> launch(QueueId queue, const LaunchDesc& launch) = 0;
  virtual Result<Ticket> copy(QueueId queue, Region from, Region to) = 0;  // equal sizes
  // Where Properties::row_copies says so: rows of `row` bytes, from_pitch and to_pitch bytes apart,
  // from the regions' first bytes on. The regions end with the last row's last byte.
  virtual Result<Ticket> copy_rows(QueueId, Region from, std::uint64_t from_pitch, Region to,
                                   std::uint64_t to_pitch, std::uint64_t row) {
    (void)from, (void)from_pitch, (void)to, (void)to_pitch, (void)row;
    return Error(ErrorKind::Unsupported, "This device copies no rows.");
  }
  // `pattern` holds width bytes (1, 2, 4 or 8), repeated from the region's first byte.
  virtual Result<Ticket> fill(QueueId queue, Region to, std::uint64_t pattern, int width) = 0;
  // The bytes stay valid until the ticket has completed.
  virtual Result<Ticket> upload(QueueId queue, std::span<const std::byte> from, Region to) = 0;
  struct Download {
    Ticket ticket;
    ReadId read;
  };
  virtual Result<Download> download(QueueId queue, Region from) = 0;
  // After wait_host() saw the download's ticket: copies the bytes out and forgets the read.
  virtual Status take_read(ReadId read, std::span<std::byte> to) = 0;  // [any thread]
  virtual void drop_read(ReadId read) = 0;                             // [any thread]

  // Time.
  // Later operations on `queue` start after `ticket` of `other` has completed.
  virtual Status wait(QueueId queue, QueueId other, Ticket ticket) = 0;
  // Makes everything enqueued on the queue start by itself. Cheap where nothing is pending.
  virtual Status submit(QueueId queue) = 0;
  // The last ticket up to which the queue has completed. Never falls. By then the fault words of
  // these operations, and of all that they came after on any queue, can be read and their late
  // errors taken.
  virtual Ticket completed(QueueId queue) const noexcept = 0;  // [any thread]
  // True once the submitted ticket has completed; false if the deadline came first.
  virtual Result<bool> wait_host(QueueId queue, Ticket ticket,
                                 Deadline deadline) = 0;  // [any thread] [blocks]

  // Health. Fault words are read after their launch completed; clearing one makes its slot usable
  // by launches enqueued afterwards.
  virtual FaultWord fault(std::uint32_t slot) const = 0;
  virtual void clear_fault(std::uint32_t slot) = 0;
  virtual std::vector<LateError> take_late_errors() = 0;
  virtual std::optional<Error> lost() const = 0;  // [any thread]
};

}  // namespace tessera::driver
