// SPDX-License-Identifier: Apache-2.0
//
// A scripted HTTP server on this machine, for tests: the n-th request gets the n-th response, byte for byte.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"

namespace ww::net {

/// `pieces` are written one by one; then the connection is closed, or left open and silent.
struct TestResponse {
  std::vector<std::string> pieces;
  bool silent = false;
};

/// With Content-Length. `headers` are whole lines, each ending in \r\n.
TestResponse test_response(int status, const std::string& body, const std::string& headers = "");
/// text/event-stream; ends when the connection does.
TestResponse test_stream(std::vector<std::string> pieces);

struct TestRequest {
  std::string head;  ///< request line and headers
  std::string body;
};

class TestServer {
 public:
  /// Gives the response to request `number` (from 0); called on the server's thread.
  using Script = std::function<TestResponse(size_t number, const TestRequest& request)>;

  /// After the last response the last one is repeated.
  explicit TestServer(std::vector<TestResponse> responses);
  explicit TestServer(Script script);
  ~TestServer();

  std::string url() const;  ///< "http://127.0.0.1:PORT"
  std::vector<TestRequest> requests() const;

 private:
  void serve();
  void answer(Fd connection);

  Script script_;
  Fd listener_;
  Fd stop_;
  int port_ = 0;
  mutable std::mutex mutex_;
  std::vector<TestRequest> requests_;
  std::vector<Fd> silent_;
  std::thread thread_;
};

}  // namespace ww::net
