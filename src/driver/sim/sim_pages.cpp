// SPDX-License-Identifier: MIT OR Apache-2.0
#include "driver/sim/sim_pages.hpp"

#include <cstring>

namespace tessera::driver {

std::shared_ptr<Page> Page::make(PageId id, PageKind kind, std::uint64_t bytes, bool poisoned,
                                 bool tracked) {
  constexpr int poison = 0xCD;
  std::shared_ptr<Page> page(new Page(id, kind, bytes));
  page->data_.reset(static_cast<std::byte*>(std::calloc(bytes, 1)));
  if (page->data_ == nullptr) return nullptr;
  if (poisoned) std::memset(page->data_.get(), poison, bytes);
  if (tracked) {
    page->flags_.reset(static_cast<std::uint8_t*>(std::calloc(bytes, 1)));
    if (page->flags_ == nullptr) return nullptr;
  }
  return page;
}

}  // namespace tessera::driver
