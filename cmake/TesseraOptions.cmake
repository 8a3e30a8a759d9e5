# How everything in the project is compiled.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(TESSERA_CCACHE ccache)
if(TESSERA_CCACHE AND PROJECT_IS_TOP_LEVEL)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${TESSERA_CCACHE}")
endif()

add_library(tessera_compile_options INTERFACE)
target_compile_options(tessera_compile_options INTERFACE
  -Wall -Wextra -Wpedantic -Werror -Wshadow -Wnon-virtual-dtor -fvisibility=hidden
  # No target of ours may contract a*b+c: the host evaluates the language's arithmetic.
  -ffp-contract=off
  # Places in messages are those of the tree, not of the machine that built it.
  -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
# GCC 12 sees overlapping copies in std::string's own code (its bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(tessera_compile_options INTERFACE -Wno-restrict)
endif()
if(TESSERA_SANITIZE)
  target_compile_options(tessera_compile_options INTERFACE
    -fsanitize=${TESSERA_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g)
  target_link_options(tessera_compile_options INTERFACE -fsanitize=${TESSERA_SANITIZE})
  # Instrumented code makes GCC see uninitialised members inside the standard library.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(tessera_compile_options INTERFACE -Wno-maybe-uninitialized)
  endif()
endif()
