// SPDX-License-Identifier: Apache-2.0
//
// A model behind an endpoint: asks, reads the stream, asks again where that may help, finds out what the endpoint
// takes. One object belongs to one thread; many may be at work at once.
#pragma once

#include <functional>
#include <memory>

#include "agent/endpoint.h"
#include "agent/model.h"

namespace ww::agent {

/// What a test replaces.
struct Outside {
  std::function<void(milliseconds)> pause = {};  ///< empty: net::pause
  std::function<double()> random = {};           ///< in [0, 1); empty: a generator of its own
  std::function<double()> unix_now_s = {};       ///< empty: the system's clock
};

/// The kinds of Failure of its answers: kTransient and kCutStream come after the tries are used up. A reply's events
/// tell of tries that failed, and with the first reply and after probes what the endpoint was found to do.
///
/// Probes: where the endpoint refuses a request (kBadRequest), a handful of tiny requests find out which of streaming,
/// usage in streams, tools, the name of the length limit, messages without text and earlier reasoning it takes, once in
/// the object's life; the request is then sent again in the form that it takes. A feature it does not have is done
/// without: an endpoint without tools gets them as text (agent/text_tools.h).
std::unique_ptr<Model> make_http_model(std::string spec, Endpoint endpoint, Outside outside = {});

}  // namespace ww::agent
