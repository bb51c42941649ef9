# Compiler settings for every target, and the function that declares a folder as a library.
#
#   ACKLINE_SANITIZE  "" | address | thread   (address includes undefined)
#   ACKLINE_TESTS     build tests/            ON
#   ACKLINE_BENCH     build bench/            OFF
#   ACKLINE_FUZZ      build the fuzz targets  OFF (needs ACKLINE_SANITIZE=address)
#   ACKLINE_COVERAGE  count what runs (source coverage)
#   ACKLINE_LTO       optimise the product over all its files when it is linked (Release)
#   ACKLINE_PROFILE   "" | use | record: compile by cmake/ackline.profdata, or count for tools/make-profile
#   ACKLINE_PLANTS    compile the planted bugs of the mutation check in; never in a product build

option(ACKLINE_TESTS "Build the tests" ON)
option(ACKLINE_BENCH "Build the benchmarks" OFF)
option(ACKLINE_FUZZ "Build the fuzz targets" OFF)
option(ACKLINE_COVERAGE "Count what runs, for tools/sim-coverage" OFF)
option(ACKLINE_LTO "Link-time optimisation of the product" OFF)
set(ACKLINE_PROFILE "" CACHE STRING "Profile of the product: empty, use or record")
option(ACKLINE_PLANTS "Compile planted bugs in, for the mutation check" OFF)
set(ACKLINE_SANITIZE "" CACHE STRING "Sanitizer: empty, address (with undefined) or thread")

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(ACKLINE_CCACHE ccache)
if(ACKLINE_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${ACKLINE_CCACHE}")
endif()
find_program(ACKLINE_MOLD mold)
if(ACKLINE_PROFILE STREQUAL "record") # mold refuses the sections of counters
  add_link_options(-fuse-ld=lld)
elseif(ACKLINE_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# Without times in the precompiled header ccache knows it again.
add_compile_options(-g1 -fno-omit-frame-pointer "SHELL:-Xclang -fno-pch-timestamp")
add_compile_definitions(
  BOOST_ASIO_NO_DEPRECATED BOOST_ASIO_SEPARATE_COMPILATION BOOST_BEAST_SEPARATE_COMPILATION
  SPDLOG_COMPILED_LIB SPDLOG_FMT_EXTERNAL)

if(ACKLINE_SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all)
  add_link_options(-fsanitize=address,undefined)
elseif(ACKLINE_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread)
  add_link_options(-fsanitize=thread)
elseif(CMAKE_BUILD_TYPE STREQUAL "Release")
  add_compile_options(-D_FORTIFY_SOURCE=2 -fstack-protector-strong -fcf-protection
                      -fstack-clash-protection -D_GLIBCXX_ASSERTIONS)
  add_link_options(-pie -Wl,-z,relro,-z,now -Wl,-z,noexecstack)
endif()
# An object holds both machine code, of which the tests are linked, and what the linker optimises for the product: each
# file is compiled once (docs/decisions/0016-link-time-optimisation.md).
set(ACKLINE_LTO_FLAGS "")
if(ACKLINE_LTO)
  set(ACKLINE_LTO_FLAGS -flto=thin -ffat-lto-objects)
  add_compile_options(${ACKLINE_LTO_FLAGS})
endif()
# Which branches are taken and which calls are worth their inlining, as counted under load
# (docs/decisions/0017-a-profile-in-the-tree.md). Functions of a file are known by the file's name, not by where the tree
# lies.
set(ACKLINE_PROFILE_FILE "${CMAKE_SOURCE_DIR}/cmake/ackline.profdata")
if(ACKLINE_PROFILE)
  add_compile_options("SHELL:-mllvm -static-func-full-module-prefix=false")
endif()
if(ACKLINE_PROFILE STREQUAL "use")
  # Under a name of its content: another profile is another command, and so compiles everything anew.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${ACKLINE_PROFILE_FILE}")
  file(SHA256 "${ACKLINE_PROFILE_FILE}" profile_hash)
  string(SUBSTRING "${profile_hash}" 0 16 profile_hash)
  set(profile_copy "${CMAKE_BINARY_DIR}/profile-${profile_hash}.profdata")
  file(COPY_FILE "${ACKLINE_PROFILE_FILE}" "${profile_copy}" ONLY_IF_DIFFERENT)
  add_compile_options("-fprofile-use=${profile_copy}" -Wno-backend-plugin)
elseif(ACKLINE_PROFILE STREQUAL "record")
  add_compile_options(-fprofile-generate -fprofile-update=atomic)
  add_link_options(-fprofile-generate)
endif()
if(ACKLINE_PLANTS)
  add_compile_definitions(ACKLINE_PLANTS)
endif()
if(ACKLINE_COVERAGE)
  add_compile_options(-fprofile-instr-generate -fcoverage-mapping)
  add_link_options(-fprofile-instr-generate)
endif()
if(ACKLINE_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

set(ACKLINE_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror)

# What most sources include anyway is read once for the product and once for the tests: `kind`.
function(ackline_precompile target kind)
  set(owner "ackline_precompiled_${kind}")
  if(NOT TARGET ${owner})
    file(WRITE "${CMAKE_BINARY_DIR}/precompiled/${kind}.cc" "// Only so that the header has a target of its own.\n")
    add_library(${owner} OBJECT "${CMAKE_BINARY_DIR}/precompiled/${kind}.cc")
    target_compile_options(${owner} PRIVATE ${ACKLINE_WARNINGS})
    target_link_libraries(${owner} PRIVATE fmt::fmt $<$<STREQUAL:${kind},tests>:GTest::gmock>)
    if(kind STREQUAL "tests")  # as CMake compiles an executable's sources
      set_target_properties(${owner} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
      target_compile_options(${owner} PRIVATE -fPIE)
    endif()
    target_precompile_headers(${owner} PRIVATE ${ARGN})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${owner})
endfunction()

# ackline_library(<folder> [DEPENDS <folder>...] [LINK <library>...]): src/ackline/<folder> as the target
# ackline_<folder>. Every source below the folder belongs to it; DEPENDS is the layering.
function(ackline_library folder)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/ackline/${folder}/*.cc")
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
  set(target "ackline_${folder}")
  if(sources)
    add_library(${target} STATIC ${sources})
    set(scope PUBLIC)
    target_compile_options(${target} PRIVATE ${ACKLINE_WARNINGS})
    ackline_precompile(${target} product "${CMAKE_SOURCE_DIR}/cmake/precompiled.h")
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(${target} ${scope} "${CMAKE_SOURCE_DIR}/src")
  list(TRANSFORM ARG_DEPENDS PREPEND "ackline_")
  target_link_libraries(${target} ${scope} ${ARG_DEPENDS} ${ARG_LINK})
endfunction()

# ackline_optimise(<target>): the executable is optimised over all files when ACKLINE_LTO is on. Only lld reads such objects.
function(ackline_optimise target)
  if(ACKLINE_LTO)
    target_link_options(${target} PRIVATE ${ACKLINE_LTO_FLAGS} -fuse-ld=lld
                        "-Wl,--thinlto-cache-dir=${CMAKE_BINARY_DIR}/lto-cache"
                        "-Wl,--thinlto-cache-policy=cache_size_bytes=1g")
  endif()
endfunction()

# ackline_test(<name> SOURCES <file>... [LINK <library>...]): a GoogleTest binary, run by ctest as one test.
function(ackline_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE "${CMAKE_SOURCE_DIR}")
  target_compile_options(${name} PRIVATE ${ACKLINE_WARNINGS})
  target_compile_definitions(${name} PRIVATE ACKLINE_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gmock GTest::gtest_main)
  ackline_precompile(${name} tests "${CMAKE_SOURCE_DIR}/cmake/precompiled.h" <gmock/gmock.h> <gtest/gtest.h>)
  add_test(NAME ${name} COMMAND ${name})
endfunction()
