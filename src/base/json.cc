// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

namespace ww {

// Apart from the header: compiling the parser costs each source that holds it about 2 s.
Result<Json> parse_json(std::string_view text, std::string where) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    return Error{std::string("not valid JSON at byte ") + std::to_string(error.byte), std::move(where)};
  } catch (const Json::out_of_range&) {
    return Error{"not valid JSON: a number is too large", std::move(where)};
  }
}

Json parse_own_json(std::string_view text) {
  auto parsed = parse_json(text, "our own JSON");
  WW_CHECK(parsed.ok(), "JSON of our own making does not parse");
  return std::move(*parsed);
}

}  // namespace ww
