// SPDX-License-Identifier: Apache-2.0
#include "net/test_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "base/fault.h"

namespace ww::net {
namespace {

/// What is read of a connection, up to the end of one request.
class RequestReader {
 public:
  explicit RequestReader(int fd) : fd_(fd) {}

  TestRequest read() {
    size_t head_end;
    while ((head_end = bytes_.find("\r\n\r\n")) == std::string::npos) {
      if (!more()) return {bytes_, ""};
    }
    TestRequest request{bytes_.substr(0, head_end + 2), ""};
    const size_t length = content_length(request.head);
    while (bytes_.size() < head_end + 4 + length && more()) continue;
    request.body = bytes_.substr(head_end + 4);
    return request;
  }

 private:
  static size_t content_length(const std::string& head) {
    const size_t at = head.find("Content-Length: ");
    return at == std::string::npos ? 0 : std::strtoul(head.c_str() + at + 16, nullptr, 10);
  }

  bool more() {
    char buffer[65536];
    const ssize_t count = ::read(fd_, buffer, sizeof buffer);
    if (count > 0) bytes_.append(buffer, static_cast<size_t>(count));
    return count > 0;
  }

  int fd_;
  std::string bytes_;
};

}  // namespace

TestResponse test_response(int status, const std::string& body, const std::string& headers) {
  return {.pieces = {"HTTP/1.1 " + std::to_string(status) + " Scripted\r\nConnection: close\r\n" + headers +
                     "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body}};
}

TestResponse test_stream(std::vector<std::string> pieces) {
  pieces.insert(pieces.begin(), "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n");
  return {.pieces = std::move(pieces)};
}

TestServer::TestServer(std::vector<TestResponse> responses)
    : TestServer([responses = std::move(responses)](size_t number, const TestRequest&) {
        return responses[std::min(number, responses.size() - 1)];
      }) {}

TestServer::TestServer(Script script) : script_(std::move(script)), stop_(make_eventfd()) {
  listener_ = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(listener_.get(), 64) != 0 ||
      ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw_errno("starting a server for a test");
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

TestServer::~TestServer() {
  const uint64_t one = 1;
  if (::write(stop_.get(), &one, sizeof one) != sizeof one) std::abort();
  thread_.join();
}

std::string TestServer::url() const { return "http://127.0.0.1:" + std::to_string(port_); }

std::vector<TestRequest> TestServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void TestServer::serve() {
  for (;;) {
    pollfd waited[2] = {{listener_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
    ::poll(waited, 2, -1);
    if (waited[1].revents != 0) return;
    Fd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (connection.valid()) answer(std::move(connection));
  }
}

void TestServer::answer(Fd connection) {
  const TestRequest request = RequestReader(connection.get()).read();
  size_t number;
  {
    const std::lock_guard lock(mutex_);
    number = requests_.size();
    requests_.push_back(request);
  }
  const TestResponse response = script_(number, request);
  for (const std::string& piece : response.pieces) {
    // A client that has gone away is not the server's trouble.
    if (::send(connection.get(), piece.data(), piece.size(), MSG_NOSIGNAL) < 0) return;
  }
  if (response.silent) silent_.push_back(std::move(connection));
}

}  // namespace ww::net
