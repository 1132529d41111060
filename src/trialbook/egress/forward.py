"""The script that makes a proxy's socket reachable as a port (``python -I -S -B forward.py``).

It runs inside a sandbox without network: it listens on the loopback address there, and passes every
connection on to the socket, which leads outside. It is back as soon as it listens and the proxy has
answered; what goes on is a process in a session of its own, which ends with the sandbox.

It knows nothing of what it passes on, and decides nothing.
"""

from __future__ import annotations

import os
import selectors
import socket
import sys

HOST = "127.0.0.1"
PORT = 3128

_PIECE = 1 << 16
_BACKLOG = 64
_ANSWER_SECONDS = 20.0
PING = b"OPTIONS * HTTP/1.1\r\nHost: proxy\r\n\r\n"
_PONG = b"HTTP/1.1 204 "


class Flow:
    """What goes one way between two connections."""

    def __init__(self, source: socket.socket, target: socket.socket) -> None:
        self.source = source
        self.target = target
        self.held = b""
        self.ended = False
        self.over = False

    def read(self) -> None:
        """Take what has come, now that the last piece has been passed on."""
        try:
            self.held = self.source.recv(_PIECE)
        except BlockingIOError:
            return
        self.ended = not self.held

    def write(self) -> None:
        """Pass on as much as the target takes; at the end, that it is the end."""
        try:
            if self.held:
                self.held = self.held[self.target.send(self.held) :]
        except BlockingIOError:
            return
        if self.ended and not self.held:
            self.target.shutdown(socket.SHUT_WR)
            self.over = True


class Pair:
    """A connection from inside, and the one outside that it is passed on to."""

    def __init__(self, inner: socket.socket, outer: socket.socket) -> None:
        self.flows = (Flow(inner, outer), Flow(outer, inner))

    @property
    def over(self) -> bool:
        """Whether both ways have ended."""
        return all(flow.over for flow in self.flows)

    def wanted(self, end: socket.socket) -> int:
        """What the pair waits for at one of its ends."""
        events = 0
        for flow in self.flows:
            busy = flow.held or flow.ended
            if flow.source is end and not busy:
                events |= selectors.EVENT_READ
            if flow.target is end and busy and not flow.over:
                events |= selectors.EVENT_WRITE
        return events

    def move(self, end: socket.socket, events: int) -> None:
        """Do what can be done at one end without waiting."""
        for flow in self.flows:
            if flow.source is end and events & selectors.EVENT_READ and not flow.held:
                flow.read()
            if flow.target is end and events & selectors.EVENT_WRITE and not flow.over:
                flow.write()


class Forwarder:
    """Passes connections on until it is ended."""

    def __init__(self, listener: socket.socket, folder: int, name: str) -> None:
        self._listener = listener
        self._folder = folder
        self._name = name
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ)

    def run(self) -> None:
        """Never comes back."""
        while True:
            for key, events in self._selector.select():
                if key.data is None:
                    self._accept()
                else:
                    self._move(key.data, key.fd, events)

    def _accept(self) -> None:
        try:
            inner, _ = self._listener.accept()
        except OSError:
            return
        try:
            outer = outer_connection(self._folder, self._name)
        except OSError:
            inner.close()
            return
        pair = Pair(inner, outer)
        for end in (inner, outer):
            end.settimeout(0.0)
            self._selector.register(end, selectors.EVENT_READ, pair)

    def _move(self, pair: Pair, number: int, events: int) -> None:
        ends = (pair.flows[0].source, pair.flows[0].target)
        if ends[0].fileno() < 0:
            return  # it ended in this very round
        try:
            pair.move(ends[number == ends[1].fileno()], events)
            over = pair.over
        except OSError:
            over = True
        for one in ends:
            if over:
                self._forget(one)
                one.close()
            elif wanted := pair.wanted(one):
                self._watch(one, wanted, pair)
            else:
                self._forget(one)

    def _watch(self, end: socket.socket, events: int, pair: Pair) -> None:
        if end in self._selector.get_map():
            self._selector.modify(end, events, pair)
        else:
            self._selector.register(end, events, pair)

    def _forget(self, end: socket.socket) -> None:
        if end in self._selector.get_map():
            self._selector.unregister(end)


def outer_connection(folder: int, name: str) -> socket.socket:
    """A connection to the proxy's socket, by way of its folder: paths to sockets must be short."""
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(f"/proc/self/fd/{folder}/{name}")
    except OSError:
        connection.close()
        raise
    return connection


def ask(folder: int, name: str) -> None:
    """See that the proxy is there; OSError if it is not."""
    with outer_connection(folder, name) as proxy:
        proxy.settimeout(_ANSWER_SECONDS)
        proxy.sendall(PING)
        if proxy.recv(len(_PONG), socket.MSG_WAITALL) != _PONG:
            raise OSError("what answers there is no proxy")


def main(path: str) -> int:
    """Listen, see that the proxy is there, and go on in the background."""
    folder = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY)  # noqa: PTH120
    name = os.path.basename(path)  # noqa: PTH119
    try:
        listener = socket.create_server((HOST, PORT), backlog=_BACKLOG)
        ask(folder, name)
    except OSError as error:
        sys.stderr.write(f"the way to the proxy cannot be laid: {error}\n")
        return 1
    if os.fork():
        os._exit(0)
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nowhere, number)
    kept = {listener.fileno(), folder}
    for number in range(3, 256):
        if number not in kept:
            try:
                os.close(number)
            except OSError:
                continue
    Forwarder(listener, folder, name).run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
