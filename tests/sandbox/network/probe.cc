// SPDX-License-Identifier: Apache-2.0
#include "../probe.h"

#include <arpa/inet.h>
#include <linux/if_alg.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <linux/vm_sockets.h>
#include <net/ethernet.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>

namespace {

sockaddr_in loopback() {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(atoi(told("WW_PORT"))));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

template <class Address>
bool reaches(int fd, const Address& address, size_t size = sizeof(Address)) {
  return fd >= 0 && connect(fd, reinterpret_cast<const sockaddr*>(&address), static_cast<socklen_t>(size)) == 0;
}

Outcome tcp() { return out_if(reaches(socket(AF_INET, SOCK_STREAM, 0), loopback())); }

/// The same number to the kernel, which reads the lower half of the argument.
Outcome tcp_by_wide_number() {
  const long fd = syscall(SYS_socket, 0x7'0000'0000L + AF_INET, SOCK_STREAM, 0);
  return out_if(reaches(static_cast<int>(fd), loopback()));
}

Outcome tcp6() { return out_if(socket(AF_INET6, SOCK_STREAM, 0) >= 0); }

Outcome listen_on_port() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in any = {};
  any.sin_family = AF_INET;
  return out_if(bind(fd, reinterpret_cast<sockaddr*>(&any), sizeof any) == 0 && listen(fd, 1) == 0);
}

Outcome udp() {
  const sockaddr_in address = loopback();
  const int fd = socket(AF_INET, SOCK_DGRAM, 0);
  return out_if(sendto(fd, "x", 1, 0, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 1);
}

Outcome netlink() {
  const int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
  sockaddr_nl address = {};
  address.nl_family = AF_NETLINK;
  return out_if(fd >= 0 && bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
}

Outcome crypto() {
  const int fd = socket(AF_ALG, SOCK_SEQPACKET, 0);
  sockaddr_alg address = {};
  address.salg_family = AF_ALG;
  strcpy(reinterpret_cast<char*>(address.salg_type), "hash");
  strcpy(reinterpret_cast<char*>(address.salg_name), "sha256");
  return out_if(fd >= 0 && bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
}

int unix_socket(int type) { return socket(AF_UNIX, type, 0); }

sockaddr_un abstract_address(size_t& size) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const char* name = told("WW_ABSTRACT");
  strncpy(address.sun_path + 1, name, sizeof address.sun_path - 2);
  size = offsetof(sockaddr_un, sun_path) + 1 + strlen(name);
  return address;
}

Outcome abstract() {
  size_t size;
  const sockaddr_un address = abstract_address(size);
  return out_if(reaches(unix_socket(SOCK_STREAM), address, size));
}

sockaddr_un path_address() {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  strncpy(address.sun_path, told("WW_SOCKET"), sizeof address.sun_path - 1);
  return address;
}

Outcome by_path() { return out_if(reaches(unix_socket(SOCK_STREAM), path_address())); }

/// Whoever is handed a descriptor of a folder reaches all above it.
Outcome pass_descriptor() {
  const int fd = unix_socket(SOCK_STREAM);
  if (!reaches(fd, path_address())) return kStopped;
  const int root = open("/", O_PATH | O_DIRECTORY);
  char byte = 'x';
  iovec data = {&byte, 1};
  union {
    cmsghdr header;
    char space[CMSG_SPACE(sizeof(int))];
  } control = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = &control;
  message.msg_controllen = sizeof control.space;
  control.header = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
  memcpy(CMSG_DATA(&control.header), &root, sizeof root);
  return out_if(sendmsg(fd, &message, MSG_NOSIGNAL) == 1);
}

Outcome vsock() {
  const int fd = socket(AF_VSOCK, SOCK_STREAM, 0);
  sockaddr_vm address = {};
  address.svm_family = AF_VSOCK;
  address.svm_port = VMADDR_PORT_ANY;
  address.svm_cid = VMADDR_CID_ANY;
  return out_if(fd >= 0 && bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
}

const Act kActs[] = {{"connect_tcp", tcp},
                     {"connect_tcp_by_wide_number", tcp_by_wide_number},
                     {"open_tcp6", tcp6},
                     {"listen_on_port", listen_on_port},
                     {"send_udp", udp},
                     {"open_raw", [] { return out_if(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP) >= 0); }},
                     {"open_packet", [] { return out_if(socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL)) >= 0); }},
                     {"open_netlink", netlink},
                     {"open_crypto", crypto},
                     {"open_vsock", vsock},
                     {"connect_abstract", abstract},
                     {"connect_by_path", by_path},
                     {"pass_descriptor", pass_descriptor}};

}  // namespace

PROBE_MAIN(kActs)
