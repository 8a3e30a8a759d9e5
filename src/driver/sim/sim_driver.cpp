// SPDX-License-Identifier: MIT OR Apache-2.0
#include "driver/sim/sim_driver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "ir/text.hpp"

namespace tessera::driver {
namespace {

constexpr std::size_t most_violations = 256;
constexpr std::uint32_t fault_slots = 1024;

std::uint64_t total(const Cubes& c) {
  return std::uint64_t{c[0]} * c[1] * c[2];
}

bool overlap(const Region& a, const Region& b) {
  return a.page == b.page && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

Properties describe(const SimOptions& o) {
  Properties p;
  p.driver = o.instant ? "cpu" : "sim";
  p.name = !o.name.empty() ? o.name : o.instant ? "CPU (interpreter)" : "Simulator";
  p.detail = o.instant ? "kernels are interpreted on the calling thread"
                       : fmt::format("seed {}, {} queues", o.seed, o.queues);
  p.fingerprint = "ir-interpreter-1";
  p.kind = o.instant ? DeviceKind::cpu : DeviceKind::simulator;
  p.elements = {Elem::i8,  Elem::i16, Elem::i32, Elem::i64,  Elem::u8,  Elem::u16,
                Elem::u32, Elem::u64, Elem::f16, Elem::bf16, Elem::f32, Elem::f64};
  p.wide_index = true;
  p.queues = std::clamp<std::uint32_t>(o.queues, 1, 255);
  p.page_limit = p.binding_limit = p.capacity = o.memory_limit;
  p.offset_alignment = 64;
  p.max_bindings = 30;
  p.shared_bytes = 48 * 1024;
  p.max_units = 1024;
  p.max_cube_dim = {1024, 1024, 64};
  p.max_cubes = {65535, 65535, 65535};
  p.plane_min = p.plane_max = 32;
  p.fault_slots = fault_slots;
  p.one_access_per_page = o.one_access_per_page;
  p.row_copies = true;
  return p;
}

}  // namespace

std::unique_ptr<Driver> make_sim(const SimOptions& options) {
  return std::make_unique<SimDriver>(options);
}

SimDriver::SimDriver(const SimOptions& options)
    : options_(options),
      properties_(driver::describe(options)),
      random_(options.seed),
      known_to_host_(properties_.queues),
      queues_(std::make_unique<Queue[]>(properties_.queues)),
      faults_(fault_slots),
      faults_plan_(options.faults),
      memory_limit_(options.memory_limit) {
  for (std::uint32_t q = 0; q < properties_.queues; ++q) {
    queues_[q].clock.resize(properties_.queues);
  }
  nothing_->users.resize(properties_.queues);
}

std::vector<std::string> SimDriver::violations() const {
  const std::lock_guard lock(mutex_);
  return violations_;
}

std::vector<OpId> SimDriver::history() const {
  const std::lock_guard lock(mutex_);
  return history_;
}

void SimDriver::violation(std::string sentence) const {
  if (options_.instant || violations_.size() >= most_violations) return;
  base::log(base::LogLevel::warn, fmt::format("Simulator: {}", sentence));
  violations_.push_back(std::move(sentence));
}

Error SimDriver::refuse(std::string sentence) {
  violation(sentence);
  return Error(ErrorKind::LaunchFailed, std::move(sentence));
}

std::string SimDriver::describe(OpId id) const {
  const Queue& queue = queues_[id.queue];
  const std::string what = id.ticket >= 1 && id.ticket <= queue.what.size()
                               ? queue.what[id.ticket - 1]
                               : std::string("unnamed");
  return fmt::format("operation {} of queue {} ({})", id.ticket, id.queue, what);
}

// Pages

Result<PageId> SimDriver::allocate(PageKind kind, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes == 0) {
    return Error(ErrorKind::InvalidArgument,
                 "A page of 0 bytes was asked for; pages are never empty.");
  }
  if (bytes > properties_.page_limit) {
    return Error(ErrorKind::TooLarge,
                 fmt::format("A page of {} bytes is larger than the {} bytes that a page of {} may "
                             "have.",
                             bytes, properties_.page_limit, properties_.name));
  }
  const auto out_of_memory = [&] {
    return Error(ErrorKind::OutOfMemory,
                 fmt::format("A page of {} bytes does not fit: {} of {} bytes of {} are in use. "
                             "Release memory and try again.",
                             bytes, used_, memory_limit_, properties_.name));
  };
  if (auto e = injected(SimCall::allocate)) {
    return e->kind() == ErrorKind::DeviceLost ? *e : Error(ErrorKind::OutOfMemory, e->message());
  }
  if (bytes > memory_limit_ - std::min(used_, memory_limit_)) return out_of_memory();
  auto page = Page::make(next_page_, kind, bytes, !options_.instant,
                         !options_.instant && options_.find_unwritten);
  if (page == nullptr) return out_of_memory();
  page->users.resize(properties_.queues);
  used_ += bytes;
  pages_.emplace(next_page_, std::move(page));
  return next_page_++;
}

bool SimDriver::host_knows(const Clock& users) const {
  if (options_.instant) return true;
  for (std::size_t q = 0; q < users.size(); ++q) {
    if (users[q] > known_to_host_[q]) return false;
  }
  return true;
}

void SimDriver::free(PageId page) {
  const std::lock_guard lock(mutex_);
  const auto it = pages_.find(page);
  if (it == pages_.end()) return violation(fmt::format("Page {} was freed and is no page.", page));
  if (!lost_ && !host_knows(it->second->users)) {
    for (std::uint32_t q = 0; q < properties_.queues; ++q) {
      const Ticket t = it->second->users[q];
      if (t > known_to_host_[q]) {
        violation(fmt::format("Page {} was freed while {} names it and was not seen to complete.",
                              page, describe({static_cast<QueueId>(q), t})));
      }
    }
  }
  used_ -= it->second->size;
  pages_.erase(it);  // pending operations keep their own reference
}

std::uint64_t SimDriver::native(PageId page) const {
  const std::lock_guard lock(mutex_);
  const auto it = pages_.find(page);
  if (it == pages_.end()) return 0;
  return reinterpret_cast<std::uintptr_t>(it->second->bytes({page, 0, it->second->size}).data());
}

Result<SimDriver::Target> SimDriver::target(const Region& region, const char* use) {
  const auto it = pages_.find(region.page);
  if (it == pages_.end()) {
    return refuse(fmt::format("Page {}, {}, is not allocated.", region.page, use));
  }
  const std::uint64_t size = it->second->size;
  if (region.bytes == 0 || region.offset > size || region.bytes > size - region.offset) {
    return refuse(
        fmt::format("Bytes {} to {} of page {}, {}, are not inside its {} bytes or empty.",
                    region.offset, region.offset + region.bytes, region.page, use, size));
  }
  return Target{it->second, region};
}

// Kernels

Result<Image> SimDriver::compile(std::shared_ptr<const ir::Kernel> kernel,
                                 const Variant& variant) const {
  {
    const std::lock_guard lock(mutex_);
    if (auto e = injected(SimCall::compile)) {
      return e->kind() == ErrorKind::DeviceLost ? *e
                                                : Error(ErrorKind::CompileFailed, e->message());
    }
  }
  if (!options_.uncompilable.empty() && kernel->name == options_.uncompilable) {
    return Error(ErrorKind::CompileFailed,
                 fmt::format("Kernel '{}' was chosen not to compile.", kernel->name));
  }
  const auto unsupported = [&](std::string sentence) {
    return Error(ErrorKind::Unsupported, std::move(sentence)).with_kernel(kernel->name);
  };
  if (kernel->unit_count() == 0 || kernel->unit_count() > properties_.max_units) {
    return unsupported(
        fmt::format("Kernel '{}' has {} units (threads) a cube (thread block); {} "
                    "runs 1 to {}.",
                    kernel->name, kernel->unit_count(), properties_.name, properties_.max_units));
  }
  if (kernel->bindings.size() > properties_.max_bindings) {
    return unsupported(fmt::format("Kernel '{}' has {} buffers; {} binds at most {}.", kernel->name,
                                   kernel->bindings.size(), properties_.name,
                                   properties_.max_bindings));
  }
  std::uint64_t shared = 0;
  for (const ir::SharedBlock& block : kernel->shared) {
    shared += block.count * block.type.lanes * std::max<std::size_t>(size_of(block.type.elem), 1);
  }
  if (shared > properties_.shared_bytes) {
    return unsupported(fmt::format("Kernel '{}' needs {} bytes of shared memory; {} has {}.",
                                   kernel->name, shared, properties_.name,
                                   properties_.shared_bytes));
  }
  Image image;
  image.entry = kernel->name;
  image.code = ir::print(*kernel);
  image.target = "ir";
  image.kernel = std::move(kernel);
  image.variant = variant;
  return image;
}

Result<KernelId> SimDriver::load(const Image& image) {
  std::shared_ptr<const ir::Kernel> kernel = image.kernel;
  if (image.target != "ir") {
    return Error(ErrorKind::InvalidArgument,
                 fmt::format("An image for '{}' cannot be loaded by {}, which runs 'ir'.",
                             image.target, properties_.name));
  }
  if (kernel == nullptr) {  // from a store, as text alone
    auto parsed = ir::parse(image.code);
    if (!parsed) return parsed.error();
    kernel = std::make_shared<const ir::Kernel>(*std::move(parsed));
  }
  const std::lock_guard lock(mutex_);
  if (auto e = injected(SimCall::load)) return *e;
  kernels_.emplace(next_kernel_,
                   Loaded{std::move(kernel), image.variant, Clock(properties_.queues)});
  return next_kernel_++;
}

void SimDriver::unload(KernelId kernel) {
  const std::lock_guard lock(mutex_);
  const auto it = kernels_.find(kernel);
  if (it == kernels_.end()) {
    return violation(fmt::format("Kernel {} was unloaded and is not loaded.", kernel));
  }
  if (!lost_ && !host_knows(it->second.users)) {
    violation(fmt::format("Kernel '{}' was unloaded before its launches were seen to complete.",
                          it->second.kernel->name));
  }
  kernels_.erase(it);
}

// Work

Status SimDriver::known_queue(QueueId queue) {
  if (queue < properties_.queues) return {};
  return refuse(fmt::format("Queue {} does not exist; {} has {}.", queue, properties_.name,
                            properties_.queues));
}

Result<Ticket> SimDriver::enqueue(QueueId q, Operation op, std::string what) {
  Queue& queue = queues_[q];
  const auto call =
      static_cast<SimCall>(static_cast<int>(SimCall::launch) + static_cast<int>(op.kind));
  if (auto e = injected(call, op.fault, op.fault_number)) return *e;
  op.id = {q, ++queue.issued};
  if (options_.instant) {
    execute(op);
    queue.submitted = queue.issued;
    queue.done.store(queue.issued, std::memory_order_release);
    return op.id.ticket;
  }
  join(queue.clock, known_to_host_);
  queue.clock[q] = op.id.ticket;
  op.clock = queue.clock;
  op.waits = std::exchange(queue.waits, {});
  queue.clocks.push_back(op.clock);
  queue.what.push_back(std::move(what));
  for (const Target& t : op.targets) t.page->users[q] = op.id.ticket;
  if (op.indirect) op.indirect->page->users[q] = op.id.ticket;
  queue.pending.push_back(std::move(op));
  return queue.issued;
}

Status SimDriver::check_launch(const LaunchDesc& launch, const Loaded& loaded,
                               const std::vector<Target>& targets,
                               const std::optional<Target>& counts) {
  const ir::Kernel& kernel = *loaded.kernel;
  const ir::ParameterLayout layout = ir::parameter_layout(kernel);
  if (launch.bindings.size() != kernel.bindings.size() ||
      launch.parameters.size() != layout.count) {
    return refuse(
        fmt::format("Kernel '{}' takes {} bindings and {} parameter words, but was launched "
                    "with {} and {}.",
                    kernel.name, kernel.bindings.size(), layout.count, launch.bindings.size(),
                    launch.parameters.size()));
  }
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const ir::BindingParam& param = kernel.bindings[i];
    const Region& region = targets[i].region;
    if (region.offset % properties_.offset_alignment != 0) {
      return refuse(
          fmt::format("Binding {} ('{}') of kernel '{}' starts at byte {}, which is no "
                      "multiple of {}.",
                      i, param.name, kernel.name, region.offset, properties_.offset_alignment));
    }
    const std::uint64_t length = launch.parameters[layout.lengths + i];
    const std::uint64_t element = size_of(param.type.elem) * param.type.lanes;
    if (param.rank == 0 && length > region.bytes / element) {
      return refuse(
          fmt::format("Binding {} ('{}') of kernel '{}' has {} bytes for {} elements of {} "
                      "bytes.",
                      i, param.name, kernel.name, region.bytes, length, element));
    }
    const bool writes = (static_cast<int>(param.analysed) & static_cast<int>(ir::Access::out)) != 0;
    if (writes && (loaded.variant.writable >> i & 1) == 0) {
      return refuse(
          fmt::format("Binding {} ('{}') is written by kernel '{}', whose variant calls it "
                      "read-only.",
                      i, param.name, kernel.name));
    }
  }
  if (counts) {
    if (counts->page->kind != PageKind::counts || counts->region.bytes < 12 ||
        counts->region.offset % 4 != 0) {
      return refuse(fmt::format(
          "The cube counts of kernel '{}' need 12 aligned bytes in a page of "
          "kind counts; they are {} bytes at {} of page {}.",
          kernel.name, counts->region.bytes, counts->region.offset, counts->region.page));
    }
    return {};
  }
  for (int axis = 0; axis < 3; ++axis) {
    if (launch.cubes[axis] > properties_.max_cubes[axis]) {
      return refuse(
          fmt::format("Kernel '{}' was launched with {} cubes (thread blocks) on axis {}; "
                      "the limit is {}.",
                      kernel.name, launch.cubes[axis], axis, properties_.max_cubes[axis]));
    }
  }
  const bool fits = loaded.variant.folded ? total(launch.cubes) >= total(launch.virtual_cubes)
                                          : launch.cubes == launch.virtual_cubes;
  if (!fits) {
    return refuse(fmt::format(
        "Kernel '{}' was launched with ({}) physical cubes for ({}) virtual "
        "ones{}.",
        kernel.name, fmt::join(launch.cubes, ", "), fmt::join(launch.virtual_cubes, ", "),
        loaded.variant.folded ? "" : " and is not folded"));
  }
  return {};
}

Result<Ticket> SimDriver::launch(QueueId queue, const LaunchDesc& launch) {
  const std::lock_guard lock(mutex_);
  if (auto s = known_queue(queue); !s) return s.error();
  const auto it = kernels_.find(launch.kernel);
  if (it == kernels_.end()) return refuse(fmt::format("Kernel {} is not loaded.", launch.kernel));
  Loaded& loaded = it->second;
  Operation op;
  op.kind = Kind::launch;
  for (const Region& region : launch.bindings) {
    auto t = region.bytes == 0 ? Result<Target>(Target{nothing_, {region.page, 0, 0}})
                               : target(region, "bound to a kernel");
    if (!t) return t.error();
    op.targets.push_back(*std::move(t));
  }
  if (launch.indirect) {
    auto t = target(*launch.indirect, "which holds cube counts");
    if (!t) return t.error();
    op.indirect = *std::move(t);
  }
  if (auto s = check_launch(launch, loaded, op.targets, op.indirect); !s) return s.error();
  if (launch.fault_slot != ir::none &&
      (launch.fault_slot >= fault_slots || launch.fault_claim == 0)) {
    return refuse(
        fmt::format("Fault slot {} with claim {} is none of the {} slots or has no claim.",
                    launch.fault_slot, launch.fault_claim, fault_slots));
  }
  op.kernel = loaded.kernel;
  op.parameters.assign(launch.parameters.begin(), launch.parameters.end());
  op.cubes = launch.virtual_cubes;
  op.wide_index = loaded.variant.wide_index;
  op.fault_slot = launch.fault_slot;
  op.fault_claim = launch.fault_claim;
  const auto ticket =
      enqueue(queue, std::move(op), fmt::format("launch of '{}'", loaded.kernel->name));
  if (ticket) loaded.users[queue] = *ticket;
  return ticket;
}

Result<Ticket> SimDriver::copy(QueueId queue, Region from, Region to) {
  const std::lock_guard lock(mutex_);
  if (auto s = known_queue(queue); !s) return s.error();
  auto source = target(from, "copied from"), sink = target(to, "copied to");
  if (!source) return source.error();
  if (!sink) return sink.error();
  if (from.bytes != to.bytes || overlap(from, to)) {
    return refuse(
        fmt::format("A copy from bytes {} to {} of page {} to bytes {} to {} of page {} "
                    "changes its size or overlaps itself.",
                    from.offset, from.offset + from.bytes, from.page, to.offset,
                    to.offset + to.bytes, to.page));
  }
  Operation op;
  op.kind = Kind::copy;
  op.targets = {*std::move(source), *std::move(sink)};
  return enqueue(queue, std::move(op), "copy");
}

Result<Ticket> SimDriver::copy_rows(QueueId queue, Region from, std::uint64_t from_pitch, Region to,
                                    std::uint64_t to_pitch, std::uint64_t row) {
  const std::lock_guard lock(mutex_);
  if (auto s = known_queue(queue); !s) return s.error();
  auto source = target(from, "copied from"), sink = target(to, "copied to");
  if (!source) return source.error();
  if (!sink) return sink.error();
  const auto rows = [&](const Region& r, std::uint64_t pitch) {
    return row > 0 && pitch >= row && r.bytes >= row && (r.bytes - row) % pitch == 0
               ? (r.bytes - row) / pitch + 1
               : std::uint64_t{0};
  };
  const std::uint64_t count = rows(from, from_pitch);
  if (count == 0 || count != rows(to, to_pitch) || overlap(from, to)) {
    return refuse(
        fmt::format("A copy of rows of {} bytes from {} bytes at a pitch of {} to {} bytes "
                    "at a pitch of {} has no number of rows or overlaps itself.",
                    row, from.bytes, from_pitch, to.bytes, to_pitch));
  }
  Operation op;
  op.kind = Kind::copy;
  op.targets = {*std::move(source), *std::move(sink)};
  op.row = row;
  op.from_pitch = from_pitch;
  op.to_pitch = to_pitch;
  return enqueue(queue, std::move(op), "copy of rows");
}

Result<Ticket> SimDriver::fill(QueueId queue, Region to, std::uint64_t pattern, int width) {
  const std::lock_guard lock(mutex_);
  if (auto s = known_queue(queue); !s) return s.error();
  auto sink = target(to, "filled");
  if (!sink) return sink.error();
  if (width != 1 && width != 2 && width != 4 && width != 8) {
    return refuse(fmt::format("A fill pattern of {} bytes is none of 1, 2, 4 and 8.", width));
  }
  Operation op;
  op.kind = Kind::fill;
  op.targets = {*std::move(sink)};
  op.pattern = pattern;
  op.width = width;
  return enqueue(queue, std::move(op), "fill");
}

Result<Ticket> SimDriver::upload(QueueId queue, std::span<const std::byte> from, Region to) {
  const std::lock_guard lock(mutex_);
  if (auto s = known_queue(queue); !s) return s.error();
  auto sink = target(to, "uploaded to");
  if (!sink) return sink.error();
  if (from.size() != to.bytes) {
    return refuse(
        fmt::format("An upload of {} bytes was given {} bytes of room.", from.size(), to.bytes));
  }
  Operation op;
  op.kind = Kind::upload;
  op.targets = {*std::move(sink)};
  op.from = from;
  return enqueue(queue, std::move(op), "upload");
}

Result<Driver::Download> SimDriver::download(QueueId queue, Region from) {
  const std::lock_guard lock(mutex_);
  if (auto s = known_queue(queue); !s) return s.error();
  auto source = target(from, "downloaded");
  if (!source) return source.error();
  Operation op;
  op.kind = Kind::download;
  op.targets = {*std::move(source)};
  const ReadId read = op.read = next_read_++;
  reads_[read].op = {queue, queues_[queue].issued + 1};
  const auto ticket = enqueue(queue, std::move(op), "download");
  if (!ticket) {
    reads_.erase(read);
    return ticket.error();
  }
  return Download{*ticket, read};
}

Status SimDriver::take_read(ReadId read, std::span<std::byte> to) {
  const std::lock_guard lock(mutex_);
  if (lost_) return *lost_;
  const auto it = reads_.find(read);
  if (it == reads_.end()) return refuse(fmt::format("Read {} was taken or dropped before.", read));
  const OpId op = it->second.op;
  if (!options_.instant && op.ticket > known_to_host_[op.queue]) {
    return refuse(
        fmt::format("Read {} was taken before {} was seen to complete.", read, describe(op)));
  }
  if (to.size() != it->second.bytes.size()) {
    return refuse(fmt::format("Read {} holds {} bytes, but {} were asked for.", read,
                              it->second.bytes.size(), to.size()));
  }
  std::copy(it->second.bytes.begin(), it->second.bytes.end(), to.begin());
  reads_.erase(it);
  return {};
}

void SimDriver::drop_read(ReadId read) {
  const std::lock_guard lock(mutex_);
  if (reads_.erase(read) == 0 && !lost_) {
    violation(fmt::format("Read {} was dropped and had been taken or dropped before.", read));
  }
}

// Health

FaultWord SimDriver::fault(std::uint32_t slot) const {
  const std::lock_guard lock(mutex_);
  return slot < faults_.size() ? faults_[slot] : FaultWord{};
}

void SimDriver::clear_fault(std::uint32_t slot) {
  const std::lock_guard lock(mutex_);
  if (slot < faults_.size()) faults_[slot] = {};
}

std::vector<LateError> SimDriver::take_late_errors() {
  const std::lock_guard lock(mutex_);
  return std::exchange(late_errors_, {});
}

}  // namespace tessera::driver
