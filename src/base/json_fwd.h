// SPDX-License-Identifier: Apache-2.0
//
// For headers: names ww::Json (objects keep their order) without the 5 s that the JSON library costs a source file.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace ww {
using Json = nlohmann::ordered_json;
}
