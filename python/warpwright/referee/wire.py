# SPDX-License-Identifier: Apache-2.0
"""Length-prefixed JSON messages with file descriptors over a Unix stream socket (src/base/message_socket.h)."""

import array
import json
import socket
import struct

MAXIMUM_FDS = 16


class Wire:
    def __init__(self, fd):
        self.socket = socket.socket(fileno=fd)

    def fileno(self):
        return self.socket.fileno()

    def close(self):
        self.socket.close()

    def send(self, message):
        # A lone surrogate, which task code may leave in a name or a constant, is no UTF-8.
        payload = json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode(errors="replace")
        self.socket.sendall(struct.pack("<I", len(payload)) + payload)

    def receive(self):
        """The next message and its descriptors, or (None, []) where the peer is gone."""
        fds = array.array("i")
        header = self._read(4, fds)
        if header is None:
            return None, []
        payload = self._read(struct.unpack("<I", header)[0], fds)
        if payload is None:
            return None, []
        return json.loads(payload), list(fds)

    def _read(self, size, fds):
        chunks = []
        while size > 0:
            room = socket.CMSG_LEN(MAXIMUM_FDS * fds.itemsize)
            try:
                data, ancillary, _, _ = self.socket.recvmsg(min(size, 1 << 20), room, socket.MSG_CMSG_CLOEXEC)
            except ConnectionError:
                return None
            for level, kind, content in ancillary:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                    fds.frombytes(content[: len(content) - len(content) % fds.itemsize])
            if not data:
                return None
            chunks.append(data)
            size -= len(data)
        return b"".join(chunks)
