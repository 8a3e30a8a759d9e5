// SPDX-License-Identifier: MIT OR Apache-2.0
// The short spellings of control flow. The dollar is no letter of standard C++; both supported
// compilers take it, and clang's remark on it is silenced in the file that includes this. Define
// TESSERA_NO_DOLLAR to go without.
#pragma once

#include "tessera/lang/control.hpp"

#ifndef TESSERA_NO_DOLLAR
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wdollar-in-identifier-extension"
#endif
#define $if TESSERA_IF
#define $elif TESSERA_ELIF
#define $else TESSERA_ELSE
#define $while TESSERA_WHILE
#define $break TESSERA_BREAK
#define $return TESSERA_RETURN
#endif
