# ww_embed_text(TARGET FILE NAMESPACE SYMBOL): compiles FILE's text into TARGET as `const std::string_view SYMBOL`.
function(ww_embed_text target file namespace symbol)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  file(READ ${file} text)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${symbol}.cc)
  file(CONFIGURE OUTPUT ${source}.new @ONLY NEWLINE_STYLE UNIX CONTENT
"#include <string_view>
namespace ${namespace} {
extern const std::string_view ${symbol};
const std::string_view ${symbol} = R\"embedded(")
  # APPEND keeps the text from CMake's own variable syntax.
  file(APPEND ${source}.new "${text}")
  file(APPEND ${source}.new ")embedded\";\n}  // namespace ${namespace}\n")
  file(COPY_FILE ${source}.new ${source} ONLY_IF_DIFFERENT)
  target_sources(${target} PRIVATE ${source})
endfunction()
