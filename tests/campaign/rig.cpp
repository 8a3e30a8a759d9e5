// SPDX-License-Identifier: MIT OR Apache-2.0
#include "campaign/rig.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "campaign/kernels.hpp"

namespace tessera::campaign {
namespace {

using server::Access;
using server::CommandWriter;

bool has(ir::Access access, ir::Access bit) {
  return (static_cast<int>(access) & static_cast<int>(bit)) != 0;
}

bool overlap(const Range& a, const Range& b) {
  return a.slot == b.slot && a.begin < b.begin + b.count && b.begin < a.begin + a.count;
}

// Small pages: much reuse, and much that moves when the layout changes.
MemoryLayout layout(std::uint32_t number) {
  switch (number) {
    case 0:
      return MemoryLayout::custom({SlicedPool{4096}, ExclusivePool{}});
    case 1:
      return MemoryLayout::custom({ExclusivePool{0, 12}});
    case 2:
      return MemoryLayout::custom({DirectPool{8192}});
    default:
      return MemoryLayout::custom({SlicedPool{2048, 512, 8192, 9}, SlicedPool{8192}, DirectPool{}});
  }
}

struct Node final : server::ReleaseNode {};

}  // namespace

Rig::Rig(const Program& program, [[maybe_unused]] server::Defect defect)
    : program_(program), random_(program.setting.seed) {
#ifdef TESSERA_SEEDED_DEFECTS
  server::active_defect = defect;
#endif
  const Setting& s = program.setting;
  driver::SimOptions options;
  options.seed = s.seed;
  options.queues = s.queues;
  options.memory_limit = s.memory_limit;
  options.late_news = s.late_news;
  options.one_access_per_page = s.one_access_per_page;
  options.uncompilable = uncompilable;
  options.patience = std::chrono::milliseconds(0);  // one thread: nobody else can help
  options.faults.seed = s.seed;
  options.faults.fail = s.fail;
  options.faults.late = s.late;
  options.faults.lose = s.lose;
  // Every fault must be some operation's: the model could not know of others. (Submits are retried,
  // compilations fail by name.)
  options.allow_fault = [this](driver::SimCall call, driver::SimFault what) {
    using driver::SimCall;
    if (call == SimCall::submit || call == SimCall::compile || call == SimCall::load) return false;
    if (server_ == nullptr || server_->running() == nullptr) return false;
    const server::CommandHeader& running = *server_->running();
    const bool alloc = running.kind == server::CommandKind::alloc;
    if ((call == SimCall::allocate) != alloc) return false;
    if (running.site.line == 0) return false;
    record_.fault_of[++record_.faults] = running.site.line - 1;
    record_.injections.push_back(fmt::format("fault {}: {} of a {} for operation {}",
                                             record_.faults, driver::to_string(what),
                                             driver::to_string(call), running.site.line - 1));
    if (what == driver::SimFault::lose) {
      record_.lost = true;
    } else if (!alloc) {
      record_.failed.insert(running.site.line - 1);
    }
    return true;
  };
  sim_ = std::make_unique<driver::SimDriver>(options);
  shared_ = std::make_unique<server::Shared>();
  loader_ = std::make_unique<server::Loader>(*sim_, 0, [] {});
  for (std::size_t k = 0; k < kernel_count(); ++k) loader_->add(kernel_ir(k));
  server::ServerConfig config;
  config.max_streams = s.queues;
  config.submit_every = s.submit_every;
  config.layout = layout(0);
  config.guard = s.guard;
  config.count_slots = 1;  // reused by every launch
  server_ = std::make_unique<server::Server>(*sim_, *loader_, *shared_, config);
}

Rig::~Rig() {
  server_.reset();
  loader_.reset();
#ifdef TESSERA_SEEDED_DEFECTS
  server::active_defect = server::Defect::none;
#endif
}

Record Rig::run() {
  for (std::size_t i = 0; i < program_.ops.size(); ++i) {
    site_ = {"program", static_cast<std::uint32_t>(i + 1), "operation"};
    if (issue(i, program_.ops[i])) record_.issued.insert(i);
    if (random_() % 100 < program_.setting.drain_chance) execute_all();
    if (!record_.hangs.empty() || !sim_->violations().empty()) break;
  }
  finish();
  return std::move(record_);
}

bool Rig::in_bounds(const Range& r) const {
  const Buffer& b = buffers_[r.slot];
  return b.live && r.count > 0 && r.begin + r.count <= b.size;
}

bool Rig::written(const Range& r) const {
  const auto& w = buffers_[r.slot].written;
  return in_bounds(r) &&
         std::all_of(w.begin() + r.begin, w.begin() + r.begin + r.count, [](bool b) { return b; });
}

void Rig::mark(const Range& r) {
  auto& w = buffers_[r.slot].written;
  std::fill(w.begin() + r.begin, w.begin() + r.begin + r.count, true);
}

server::Binding Rig::binding(const Range& r, Access access) const {
  server::Binding b;
  b.allocation = buffers_[r.slot].id;
  b.offset = r.begin * 4u;
  b.bytes = r.count * 4u;
  b.access = access;
  return b;
}

void Rig::push(const server::CommandHeader& command) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&command);
  ring_.emplace_back(bytes, bytes + command.bytes);
  ++issued_;
}

void Rig::execute_one() {
  const std::vector<std::byte> bytes = std::move(ring_.front());
  ring_.pop_front();
  const auto& command = *reinterpret_cast<const server::CommandHeader*>(bytes.data());
  const std::size_t parked = server_->parked();
  server_->execute(command);
  record_.parked += server_->parked() > parked ? server_->parked() - parked : 0;
  if (command.kind == server::CommandKind::alloc) {
    const auto& alloc = server::as<server::AllocCommand>(command);
    server::Binding whole;
    whole.allocation = alloc.allocation;
    whole.bytes = alloc.bytes;
    making_.emplace_back(command.site.line - 1, whole);
  }
  note_refused_allocations();
}

void Rig::note_refused_allocations() {
  std::erase_if(making_, [&](const auto& made) {
    if (server_->awaiting_memory(made.second.allocation)) return false;
    if (server_->place(made.second).bytes > 0) return true;
    const std::optional<Error> error = server_->check(made.second);
    if (error && error->root().kind() != ErrorKind::DeviceLost)
      record_.no_memory.insert(made.first);
    return true;
  });
}

// Something that parked commands may wait for happens: a kernel is compiled, or the device does
// what it has. False: there is nothing left to hope for.
bool Rig::progress() {
  const std::size_t parked = server_->parked();
  if (loader_->compile_next()) {
    server_->retry_parked();
  } else if (server_->awaiting_memory() > 0) {
    server_->idle();
    const server::Point p = server_->oldest();
    if (p.ticket != 0) (void)sim_->wait_host(p.queue, p.ticket, std::nullopt);
    server_->idle();
    if (p.ticket == 0 && server_->parked() == parked && --patience_ == 0) return false;
  } else {
    return false;
  }
  note_refused_allocations();
  return true;
}

void Rig::execute_all() {
  while (!ring_.empty()) execute_one();
}

void Rig::drop(std::uint8_t slot) {
  Buffer& b = buffers_[slot];
  if (!b.live) return;
  // Whether it got memory must be known before nobody can ask any more.
  if (program_.setting.fail > 0 || program_.setting.memory_limit < (1 << 20)) {
    execute_all();
    while (server_->awaiting_memory(b.id) && progress()) {
    }
  }
  auto* node = new Node;
  node->id = b.id;
  shared_->releases.push(node, issued_);
  b = Buffer();
}

void Rig::refuse(const std::vector<Range>& ranges, SourceLoc site) {
  CommandWriter<server::FailCommand> command(program_.ops[site.line - 1].stream, site,
                                             ranges.size());
  command->error =
      shared_->errors.insert(Error(ErrorKind::InvalidArgument, "The argument was refused.", site));
  command->binding_count = static_cast<std::uint32_t>(ranges.size());
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    command.bindings()[i] = binding(ranges[i], Access::out);
  }
  push(command.header());
}

bool Rig::issue(std::size_t index, const Op& op) {
  const auto upload = [&](std::vector<std::uint32_t> values) {
    CommandWriter<server::UploadCommand> command(op.stream, site_);
    command->to = binding(op.r[0], Access::out);
    const auto lease = shared_->staging.acquire(values.size() * 4);
    std::memcpy(lease.bytes.data(), values.data(), values.size() * 4);
    command->staging = lease.id;
    push(command.header());
    mark(op.r[0]);
  };
  switch (op.kind) {
    case OpKind::alloc: {
      if (op.r[0].count == 0) return false;
      drop(op.r[0].slot);
      Buffer& b = buffers_[op.r[0].slot];
      b.live = true;
      b.id = shared_->ids.next();
      b.size = op.r[0].count;
      b.written.assign(b.size, false);
      CommandWriter<server::AllocCommand> command(op.stream, site_);
      command->allocation = b.id;
      command->bytes = b.size * 4u;
      push(command.header());
      return true;
    }
    case OpKind::drop:
      if (!buffers_[op.r[0].slot].live) return false;
      drop(op.r[0].slot);
      return true;
    case OpKind::upload: {
      if (!in_bounds(op.r[0])) return false;
      std::vector<std::uint32_t> values(op.r[0].count);
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = op.value + static_cast<std::uint32_t>(i);
      }
      upload(std::move(values));
      return true;
    }
    case OpKind::upload_count:
      if (!in_bounds(op.r[0]) || op.r[0].count != 3) return false;
      upload({op.value, 1, 1});
      return true;
    case OpKind::fill: {
      if (!in_bounds(op.r[0])) return false;
      CommandWriter<server::FillCommand> command(op.stream, site_);
      command->to = binding(op.r[0], Access::out);
      command->pattern = op.value;
      command->width = 4;
      push(command.header());
      mark(op.r[0]);
      return true;
    }
    case OpKind::copy: {
      if (!written(op.r[0]) || !in_bounds(op.r[1]) || op.r[0].count != op.r[1].count ||
          overlap(op.r[0], op.r[1])) {
        return false;
      }
      CommandWriter<server::CopyCommand> command(op.stream, site_);
      command->from = binding(op.r[0], Access::in);
      command->to = binding(op.r[1], Access::out);
      push(command.header());
      mark(op.r[1]);
      return true;
    }
    case OpKind::launch:
      return launch(op, false);
    case OpKind::launch_dynamic:
      return launch(op, true);
    case OpKind::read: {
      for (std::uint32_t i = 0; i < op.value; ++i) {
        if (!written(op.r[i])) return false;
      }
      auto state = std::make_shared<server::PendingState>();
      CommandWriter<server::ReadCommand> command(op.stream, site_, op.value);
      command->pending = shared_->pendings.insert(state);
      command->binding_count = op.value;
      Waiting waiting{index, std::move(state), {}};
      for (std::uint32_t i = 0; i < op.value; ++i) {
        command.bindings()[i] = binding(op.r[i], Access::in);
        waiting.counts.push_back(op.r[i].count);
      }
      push(command.header());
      waiting_.push_back(std::move(waiting));
      return true;
    }
    case OpKind::settle: {
      if (waiting_.empty()) return false;
      const Waiting waiting = std::move(waiting_.front());
      waiting_.pop_front();
      settle(waiting);
      return true;
    }
    case OpKind::sync:
      sync(index, op);
      return true;
    case OpKind::status:
      if (!in_bounds(op.r[0])) return false;
      if (!ring_.empty() || server_->parked() > 0) return false;
      server_->inspect();
      record_.statuses[index] = server_->check(binding(op.r[0], Access::in));
      return true;
    case OpKind::refuse:
      if (!in_bounds(op.r[0])) return false;
      refuse({op.r[0]}, site_);
      mark(op.r[0]);
      return true;
    case OpKind::flush: {
      CommandWriter<server::FlushCommand> command(op.stream, SourceLoc{});
      push(command.header());
      return true;
    }
    case OpKind::idle:
      server_->idle();
      note_refused_allocations();
      return true;
    case OpKind::drain:
      for (std::uint32_t i = 0; i < op.value && !ring_.empty(); ++i) execute_one();
      return true;
    case OpKind::compile:
      (void)progress();
      return true;
    case OpKind::trim:
      server_->trim();
      return true;
    case OpKind::install:
      if (!server_->install(layout(op.value)))
        record_.leaks.push_back("a sound layout was refused");
      return true;
    case OpKind::window: {
      CommandWriter<server::AccountCommand> command(op.stream, site_);
      command->change = op.value == 1 ? server::AccountCommand::Change::open_persistent
                                      : server::AccountCommand::Change::close_persistent;
      push(command.header());
      return true;
    }
  }
  return false;
}

bool Rig::launch(const Op& op, bool dynamic) {
  const std::size_t count = kernel_bindings(op.kernel);
  std::vector<Range> outputs;
  bool refused = false;
  for (std::size_t i = 0; i < count; ++i) {
    const ir::Access access = kernel_access(op.kernel, i);
    // With a dynamic count an output keeps what the launch does not reach.
    const bool reads = has(access, ir::Access::in) || dynamic;
    if (reads ? !written(op.r[i]) : !in_bounds(op.r[i])) return false;
    if (has(access, ir::Access::out)) outputs.push_back(op.r[i]);
    for (std::size_t j = 0; j < count; ++j) {
      if (j != i && has(access, ir::Access::out) && overlap(op.r[i], op.r[j])) refused = true;
    }
  }
  if (dynamic && !written(op.r[3])) return false;
  if (dynamic) {
    for (const Range& r : outputs) refused = refused || overlap(r, op.r[3]);
  }
  if (refused) return false;
  const server::KernelEntry& entry = loader_->entry(op.kernel);
  CommandWriter<server::LaunchCommand> command(op.stream, site_, count, entry.layout.count);
  command->kernel = op.kernel;
  command->binding_count = static_cast<std::uint32_t>(count);
  command->parameter_count = entry.layout.count;
  std::uint16_t most = 0;
  for (std::size_t i = 0; i < count; ++i) {
    command.parameters()[entry.layout.lengths + i] = op.r[i].count;
    command.bindings()[i] = binding(op.r[i], kernel_access(op.kernel, i));
    most = std::max(most, op.r[i].count);
  }
  command->cubes = {(most + units - 1) / units, 1, 1};
  std::uint32_t faults = entry.can_fault ? 1 : 0;
  if (dynamic) {
    command->cubes = at_most;
    command->dynamic = 1;
    command->count = binding(op.r[3], Access::in);
    ++faults;
  }
  shared_->fault_launches.fetch_add(faults);
  push(command.header());
  for (const Range& r : outputs) mark(r);
  return true;
}

// Until the command was executed and its kernels, if it was parked behind any, are there.
bool Rig::wait_enqueued(server::PendingState& state) {
  execute_all();
  while (!state.enqueued.load()) {
    if (!progress()) {
      record_.hangs.push_back("a command stays parked with nothing left to wait for");
      return false;
    }
  }
  return true;
}

// As the thread that wants the answer does it: wait for all that it depends on, then inspect.
std::optional<Error> Rig::wait(server::PendingState& state) {
  for (const server::Point p : state.waits) {
    const Result<bool> done = sim_->wait_host(p.queue, p.ticket, std::nullopt);
    if (done) continue;
    server_->inspect();
    if (done.error().kind() != ErrorKind::DeviceLost) {
      record_.hangs.push_back(done.error().message());
    }
    return state.failure ? *state.failure : done.error();
  }
  server_->inspect();
  return state.failure;
}

void Rig::settle(const Waiting& waiting) {
  server::PendingState& state = *waiting.state;
  if (!wait_enqueued(state)) return;
  Answer answer;
  answer.error = wait(state);
  std::size_t range = 0;
  for (const server::PendingState::Part& part : state.parts) {
    if (answer.error) {
      sim_->drop_read(part.read);
      continue;
    }
    std::vector<std::uint32_t> values(waiting.counts[range++]);
    const Status taken = sim_->take_read(part.read, std::as_writable_bytes(std::span(values)));
    if (!taken) answer.error = taken.error();
    answer.values.push_back(std::move(values));
  }
  record_.reads[waiting.op] = std::move(answer);
}

void Rig::sync(std::size_t index, const Op& op) {
  auto state = std::make_shared<server::PendingState>();
  CommandWriter<server::SyncCommand> command(op.stream, site_);
  command->pending = shared_->pendings.insert(state);
  command->whole_device = op.value;
  push(command.header());
  if (!wait_enqueued(*state)) return;
  // Later launches may still be parked on other streams; the claims of the model are those of all.
  while (server_->parked() > 0 && progress()) {
  }
  std::optional<Error> error = wait(*state);
  if (!error) {
    // What other streams hold counts too in the model, so let it finish.
    server_->idle();
    for (server::Point p = server_->oldest(); p.ticket != 0; p = server_->oldest()) {
      if (!sim_->wait_host(p.queue, p.ticket, std::nullopt)) break;
      server_->inspect();
    }
    error = server_->earliest_failure(op.value == 1 ? std::nullopt
                                                    : std::optional<server::StreamId>(op.stream));
  }
  record_.syncs[index] = error;
}

void Rig::finish() {
  const auto settle_all = [&] {
    while (!waiting_.empty() && record_.hangs.empty()) {
      const Waiting waiting = std::move(waiting_.front());
      waiting_.pop_front();
      settle(waiting);
    }
  };
  settle_all();
  execute_all();
  while (server_->parked() > 0 && progress()) {
  }
  if (server_->parked() > 0 && record_.hangs.empty()) {
    record_.hangs.push_back("commands stay parked at the end");
  }
  for (std::uint8_t s = 0; s < buffer_slots; ++s) drop(s);
  record_.waits = server_->waits();
  server_->idle();
  for (server::Point p = server_->oldest(); p.ticket != 0 && record_.hangs.empty();
       p = server_->oldest()) {
    const Result<bool> done = sim_->wait_host(p.queue, p.ticket, std::nullopt);
    server_->inspect();
    if (!done && done.error().kind() != ErrorKind::DeviceLost) {
      record_.hangs.push_back(done.error().message());
    }
  }
  if (record_.hangs.empty()) {
    const auto leak = [&](std::uint64_t n, const char* what) {
      if (n != 0) record_.leaks.push_back(fmt::format("{} {} left at the end", n, what));
    };
    const server::MemoryUsage memory = server_->memory_usage();
    leak(memory.live, "allocations");
    leak(memory.taken, "bytes of blocks");
    leak(shared_->staging.outstanding(), "staging bytes");
    leak(shared_->fault_launches.load(), "fault slots");
    leak(shared_->log_size.load(), "log entries");
    if (server_->damaged_zones() > 0) record_.leaks.push_back("a red zone was overwritten");
    // News may take a few looks to arrive.
    for (int i = 0; i < 100 && server_->memory_usage().reserved > 0; ++i) server_->trim();
    leak(server_->memory_usage().reserved, "bytes of pages after a trim");
    server_.reset();
    // What a lost device has is left to the driver.
    if (!record_.lost) leak(sim_->memory_in_use(), "bytes of the device after the server");
  }
  record_.violations = sim_->violations();
  record_.device_operations = sim_->history().size();
}

}  // namespace tessera::campaign
