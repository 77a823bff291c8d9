// SPDX-License-Identifier: Apache-2.0
#include "net/http.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>

#include "base/child.h"
#include "base/fault.h"
#include "base/files.h"
#include "net/test_server.h"

namespace ww::net {
namespace {

using testing::HasSubstr;

struct Got {
  Exchange exchange;
  std::string body;
};

Got post(const std::string& url, ClientSettings settings = {}, Headers headers = {}, std::string body = "ping") {
  Got got;
  HttpClient client(std::move(settings));
  got.exchange = client.post({url, std::move(headers), std::move(body)}, [&](const Exchange&, std::string_view bytes) {
    got.body += bytes;
    return true;
  });
  return got;
}

TEST(Http, PostsHeadersAndBodyAndReadsTheResponse) {
  const TestServer server({test_response(201, "pong", "X-Test: one\r\nx-other:two \r\n")});
  const std::string sent(300'000, 'x');
  const Got got = post(server.url() + "/a/b?c=d", {}, {{"X-Mine", "yes"}, {"X-Empty", ""}}, sent);
  EXPECT_EQ(got.exchange.end, HttpEnd::kDone);
  EXPECT_EQ(got.exchange.status, 201);
  EXPECT_EQ(got.body, "pong");
  EXPECT_EQ(find_header(got.exchange.headers, "x-TEST"), "one");
  EXPECT_EQ(find_header(got.exchange.headers, "X-Other"), "two");
  EXPECT_EQ(find_header(got.exchange.headers, "absent"), "");
  const TestRequest request = server.requests().at(0);
  EXPECT_THAT(request.head, HasSubstr("POST /a/b?c=d HTTP/1.1\r\n"));
  EXPECT_THAT(request.head, HasSubstr("X-Mine: yes\r\n"));
  EXPECT_THAT(request.head, HasSubstr("X-Empty:"));
  EXPECT_EQ(request.body, sent);
}

TEST(Http, AResponseThatEndsEarlyIsBroken) {
  const TestServer server({{.pieces = {"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"}}});
  const Got got = post(server.url());
  EXPECT_EQ(got.exchange.end, HttpEnd::kBroken);
  EXPECT_EQ(got.exchange.status, 200);
  EXPECT_EQ(got.body, "half");
  EXPECT_NE(got.exchange.message, "");
}

TEST(Http, ASinkThatHasEnoughEndsTheExchange) {
  const TestServer server({{.pieces = {"HTTP/1.1 200 OK\r\n\r\n", "some"}, .silent = true}});
  HttpClient client({});
  const auto exchange = client.post({server.url(), {}, ""}, [](const Exchange& so_far, std::string_view) {
    EXPECT_EQ(so_far.status, 200);
    return false;
  });
  EXPECT_EQ(exchange.end, HttpEnd::kStopped);
}

TEST(Http, WhatASinkThrowsComesOut) {
  const TestServer server({test_response(200, "some")});
  HttpClient client({});
  EXPECT_THROW(client.post({server.url(), {}, ""},
                           [](const Exchange&, std::string_view) -> bool { throw std::runtime_error("mine"); }),
               std::runtime_error);
}

TEST(Http, SilenceEndsAtTheIdleLimitAndTricklingAtTheTotalOne) {
  const TestServer server({{.pieces = {}, .silent = true}});
  const Got idle = post(server.url(), {.limits = {.idle = milliseconds(20)}});
  EXPECT_EQ(idle.exchange.end, HttpEnd::kTimeout);
  EXPECT_THAT(idle.exchange.message, HasSubstr("not a byte came for 0.02 s"));
  const Got total = post(server.url(), {.limits = {.total = milliseconds(20)}});
  EXPECT_EQ(total.exchange.end, HttpEnd::kTimeout);
  EXPECT_THAT(total.exchange.message, HasSubstr("took over 0.02 s"));
}

TEST(Http, NobodyListeningIsNoConnection) {
  std::string url;
  {
    const TestServer gone({test_response(200, "")});
    url = gone.url();
  }
  EXPECT_EQ(post(url).exchange.end, HttpEnd::kNoConnection);
}

TEST(Http, RedirectsAreNotFollowed) {
  const TestServer server({test_response(307, "", "Location: http://127.0.0.1:1/\r\n")});
  EXPECT_EQ(post(server.url()).exchange.status, 307);
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST(Http, AProxyIsAskedForTheWholeUrl) {
  const TestServer proxy({test_response(200, "by proxy")});
  const Got got = post("http://models.example/v1", {.proxy = proxy.url()});
  EXPECT_EQ(got.body, "by proxy");
  EXPECT_THAT(proxy.requests().at(0).head, HasSubstr("POST http://models.example/v1 HTTP/1.1\r\n"));
}

TEST(Http, TheEnvironmentsProxyIsUsedButNotForThisMachine) {
  const TestServer proxy({test_response(200, "by proxy")});
  const TestServer server({test_response(200, "direct")});
  ::setenv("http_proxy", proxy.url().c_str(), 1);
  const Got far = post("http://models.example/v1");
  const Got near = post(server.url());
  ::unsetenv("http_proxy");
  EXPECT_EQ(far.body, "by proxy");
  EXPECT_EQ(near.body, "direct");
}

TEST(Http, AStopEndsARequestAndAnInterruptIsAFault) {
  const TestServer server({{.pieces = {}, .silent = true}});
  const std::atomic<bool> stop = true;
  HttpClient client({.stop = &stop});
  try {
    client.post({server.url(), {}, ""}, [](const Exchange&, std::string_view) { return true; });
    FAIL();
  } catch (const Fault& fault) {
    EXPECT_EQ(fault.kind(), Fault::Kind::kInterrupted);
  }
}

/// Answers two connections over TLS with the certificate in `folder` and ends.
constexpr const char* kTlsServer = R"(
import socket, ssl, sys
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1] + '/cert.pem', sys.argv[1] + '/key.pem')
listener = socket.create_server(('127.0.0.1', 0))
listener.settimeout(20)
print(listener.getsockname()[1], flush=True)
for _ in range(2):
    connection = listener.accept()[0]
    connection.settimeout(20)
    try:
        with context.wrap_socket(connection, server_side=True) as secure:
            secure.recv(65536)
            secure.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nsafe')
    except OSError:
        pass
)";

TEST(Http, OnlyATrustedCertificateIsTalkedTo) {
  const TemporaryFolder folder("ww-tls");
  const std::string path = folder.path();
  const auto made = run_child({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                               "-nodes", "-days", "2", "-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1",
                               "-keyout", path + "/key.pem", "-out", path + "/cert.pem"},
                              milliseconds(20'000));
  ASSERT_EQ(made.exit_code, 0) << made.errors;
  write_file(folder.path() / "server.py", kTlsServer);
  const std::string command = "exec python3 " + path + "/server.py " + path;
  const std::unique_ptr<FILE, int (*)(FILE*)> server(::popen(command.c_str(), "r"), &::pclose);
  ASSERT_TRUE(server);
  int port = 0;
  ASSERT_EQ(std::fscanf(server.get(), "%d", &port), 1);
  const std::string url = "https://127.0.0.1:" + std::to_string(port) + "/";
  EXPECT_EQ(post(url).exchange.end, HttpEnd::kDistrust);
  const Got got = post(url, {.ca_file = folder.path() / "cert.pem"});
  EXPECT_EQ(got.exchange.end, HttpEnd::kDone) << got.exchange.message;
  EXPECT_EQ(got.body, "safe");
}

TEST(Http, ARequestThatCannotBeSentIsRefused) {
  EXPECT_EQ(post("no url at all").exchange.end, HttpEnd::kBadRequest);
  EXPECT_EQ(post("file:///etc/passwd").exchange.end, HttpEnd::kBadRequest);
  EXPECT_EQ(post("http://127.0.0.1:1/", {}, {{"X-A", "b\r\nX-C: d"}}).exchange.end, HttpEnd::kBadRequest);
}

TEST(Http, TakesUrlsApart) {
  const auto parts = parse_url("https://user:word@models.example:8443/v1/x?y=z");
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->scheme, "https");
  EXPECT_EQ(parts->host, "models.example");
  EXPECT_EQ(parts->path, "/v1/x");
  EXPECT_EQ(parts->query, "y=z");
  EXPECT_TRUE(parts->has_credentials);
  EXPECT_FALSE(parse_url("models.example"));
  EXPECT_TRUE(is_loopback("http://[::1]:8080/"));
  EXPECT_FALSE(is_loopback("http://127.0.0.1.example/"));
}

}  // namespace
}  // namespace ww::net
