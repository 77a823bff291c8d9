# What every target of ours is compiled with: warnings as errors, sanitizers, ccache where the machine has it.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

set(WW_SANITIZE "" CACHE STRING "Sanitizers, comma separated")

add_library(ww_options INTERFACE)
target_compile_options(ww_options INTERFACE -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Werror)
if(WW_SANITIZE)
  target_compile_options(ww_options INTERFACE -fsanitize=${WW_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(ww_options INTERFACE -fsanitize=${WW_SANITIZE})
endif()

# For tests: built soon rather than fast. What they test keeps the preset's optimisation.
add_library(ww_test_options INTERFACE)
target_link_libraries(ww_test_options INTERFACE ww_options)
target_compile_options(ww_test_options INTERFACE -O0)

find_program(WW_CCACHE ccache)
if(WW_CCACHE)
  # Paths relative to the repository and no working folder in the key: build folders and clones share what they compiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_NOHASHDIR=1 CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} ${WW_CCACHE})
endif()
