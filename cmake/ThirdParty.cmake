# The third-party libraries (docs/dependencies.md), and how preset `gpu` carries them to another machine: inside the
# program, as an archive where Debian has one and header-only otherwise.
option(WW_CARRY_LIBRARIES "Put third-party libraries and libstdc++ inside the programs" OFF)

find_package(Threads REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(seccomp REQUIRED IMPORTED_TARGET libseccomp)
# Shared in every preset: its archive wants two dozen more, and every machine that can reach an endpoint has libcurl.so.4.
find_package(CURL REQUIRED)
if(NOT WW_CARRY_LIBRARIES)
  find_package(fmt REQUIRED)
  find_package(spdlog REQUIRED)
  find_package(OpenSSL REQUIRED)
  return()
endif()

set(OPENSSL_USE_STATIC_LIBS ON)
find_package(OpenSSL REQUIRED)
add_link_options(-static-libstdc++ -static-libgcc -s)
find_library(WW_SECCOMP_ARCHIVE libseccomp.a REQUIRED)
set_property(TARGET PkgConfig::seccomp PROPERTY INTERFACE_LINK_LIBRARIES ${WW_SECCOMP_ARCHIVE})
# Debian has no archives of these two; both are complete as headers.
add_library(fmt::fmt INTERFACE IMPORTED)
target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY=1)
add_library(spdlog::spdlog INTERFACE IMPORTED)
target_compile_definitions(spdlog::spdlog INTERFACE SPDLOG_FMT_EXTERNAL)
target_link_libraries(spdlog::spdlog INTERFACE fmt::fmt Threads::Threads)
