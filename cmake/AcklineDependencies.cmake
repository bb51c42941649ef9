# Every library outside the product, in one place. All come from Debian 12 (tools/install-deps lists the packages).

find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED COMPONENTS json url)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(simdjson REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)

# RocksDB, static: Debian's shared library would tie the command to one patch version.
find_library(ROCKSDB_STATIC NAMES librocksdb.a REQUIRED)
add_library(ackline_rocksdb INTERFACE)
target_link_libraries(ackline_rocksdb INTERFACE "${ROCKSDB_STATIC}" snappy z bz2 lz4 zstd
                      Threads::Threads ${CMAKE_DL_LIBS})

if(ACKLINE_TESTS)
  find_package(GTest REQUIRED)
endif()
