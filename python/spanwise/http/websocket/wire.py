"""Implements the WebSocket protocol after the handshake, with limits on memory and processor time.

The HTTP server collects messages of up to 64 MiB before the application sees them, and has no setting for this. It
reads only while the application waits for a message. It therefore does only the handshake, and this module reads the
frames from a duplicate of its file descriptor. See `docs/decisions/2026-11-22-grpc-and-websockets.md`.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import deque
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, cast

from websockets.frames import CloseCode, Frame, Opcode
from websockets.protocol import Protocol, Side, State

from spanwise.errors import UnavailableError
from spanwise.http.websocket.protocol import (
    MAX_MESSAGE_BYTES,
    MAX_UNKNOWN_MESSAGE_BYTES,
    MESSAGE_TOO_BIG,
    TRY_AGAIN_LATER,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import Message

    from spanwise.auth.processor_budget import ProcessorMeter

READ_BYTES = 16 * 1024
"""Bytes per read."""
PIECE_BYTES = 1024
"""Bytes that are parsed and measured at once. They hold up to 170 frames, which take 2 ms."""
MAX_FRAMES_AT_ONCE = 32
"""After a piece with more frames, other work of the event loop runs before the next piece."""
PAUSE_SECONDS = 0.02
"""How long reading pauses for a known caller over its share of the processor time."""
WRITE_BYTES = 64 * 1024
"""Bytes that may wait to be sent. Above this, senders wait and reading stops."""
DISCARD_BYTES = 4 * MAX_MESSAGE_BYTES
"""Bytes that a client may send after the close frame, because it may not have read that frame yet. A client cut off in
the middle of an oversized message would not learn the reason."""
MAX_HEADER_BYTES = 14
CLOSE_SECONDS = 1.0
"""How long a client may take to confirm a close."""

_log = logging.getLogger(__name__)
_logger_of_library = logging.getLogger(f"{__name__}.frames")
_logger_of_library.setLevel(logging.WARNING)


class Wire(asyncio.BufferedProtocol):
    """The frames of one connection, as ASGI messages.

    It holds at most one message of `max_message_bytes`, and reads on only after that message is taken.

    Attributes:
        max_message_bytes: the current size limit of a message.
        meter: measures the processor time for frames. An unknown caller over its share is disconnected; reading from a
            known one pauses briefly.
        on_buffered: called with the number of held bytes whenever it changes; it may raise to end the connection.
    """

    def __init__(self) -> None:
        """Prepares for a connection with an unknown client.

        Buffers are allocated at the start, because the connection may be rejected.
        """
        self.max_message_bytes = MAX_UNKNOWN_MESSAGE_BYTES
        self.meter: ProcessorMeter | None = None
        self.on_buffered: Callable[[int], None] = lambda _: None
        self._fragments = bytearray()
        self._is_text = True
        self._discarded = 0
        self._has_ended = False
        self._is_disconnected = False
        self._unparsed = b""
        self._is_parsing_later = False
        self._messages: deque[Message] = deque()
        self._message_bytes = 0
        self._arrived = asyncio.Event()
        self._writable = asyncio.Event()
        self._lost = asyncio.Event()
        self._writable.set()
        self._transport: asyncio.Transport | None = None

    async def start(self, connection: socket.socket) -> None:
        """Takes over a connection whose handshake has been answered."""
        self._frames = Protocol(Side.SERVER, max_size=MAX_MESSAGE_BYTES, logger=_logger_of_library)
        self._read_buffer = bytearray(READ_BYTES)
        self._socket = connection.dup()
        await asyncio.get_running_loop().connect_accepted_socket(lambda: self, connection)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begins to read."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's transport does not declare this type
        self._transport.set_write_buffer_limits(high=WRITE_BYTES)

    def get_buffer(self, sizehint: int) -> bytearray:  # noqa: ARG002  # required by the protocol
        """Returns the buffer for the next read."""
        return self._read_buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Processes the bytes of a read."""
        if self._frames.state is not State.OPEN:
            self._discarded += nbytes
        if self._discarded > DISCARD_BYTES:
            self._cut()
            return
        self._unparsed += self._read_buffer[:nbytes]
        if not self._is_parsing_later:
            self._parse()

    def _parse(self) -> None:
        """Parses the received bytes up to the first piece of a long series of frames. Reading waits for the rest."""
        self._is_parsing_later = False
        while self._unparsed and not self._is_parsing_later and self._can_parse():
            piece = self._unparsed[:PIECE_BYTES]
            try:
                with self.meter.measured() if self.meter else nullcontext():
                    self._frames.receive_data(piece)
                    count = self._take_frames()
            except UnavailableError as error:
                self._reject_or_wait(error)
                break
            self._unparsed = self._unparsed[PIECE_BYTES:]
            if count > MAX_FRAMES_AT_ONCE:
                self._parse_later(0)
        self._pause_or_resume()

    def _can_parse(self) -> bool:
        return self._frames.state is not State.CLOSED and not self._lost.is_set()

    def _reject_or_wait(self, error: UnavailableError) -> None:
        if self._is_known:
            self._parse_later(PAUSE_SECONDS)
        elif self._frames.state is State.OPEN:
            self._unparsed = b""
            self._fail(TRY_AGAIN_LATER, str(error))
            self._flush()
        else:
            self._cut()

    def _parse_later(self, seconds: float) -> None:
        self._is_parsing_later = True
        asyncio.get_running_loop().call_later(seconds, self._parse)

    @property
    def _is_known(self) -> bool:
        return self.max_message_bytes > MAX_UNKNOWN_MESSAGE_BYTES

    def eof_received(self) -> None:
        """Handles the end of the client's data."""
        self._frames.receive_eof()
        self._take_frames()

    def connection_lost(self, error: Exception | None) -> None:
        """Ends the connection.

        After a reset, data received earlier is processed first, because the transport skips it.
        """
        self._lost.set()
        if error is not None:
            self._take_the_rest()
        self._writable.set()
        self._put_disconnect()

    def pause_writing(self) -> None:
        """Stops reading too. A client that does not read would otherwise get unlimited responses to its pings."""
        self._writable.clear()
        self._pause_or_resume()

    def resume_writing(self) -> None:
        """Resumes reading."""
        self._writable.set()
        self._pause_or_resume()

    def _take_the_rest(self) -> None:
        """Processes the remaining received data while the caller is within its share."""
        with suppress(OSError, UnavailableError):
            for _ in range(DISCARD_BYTES // READ_BYTES):
                data, self._unparsed = self._unparsed or self._socket.recv(READ_BYTES), b""
                for start in range(0, len(data), PIECE_BYTES):
                    with self.meter.measured() if self.meter else nullcontext():
                        self._frames.receive_data(data[start : start + PIECE_BYTES])
                        self._take_frames()
                if not data or self._frames.state is not State.OPEN:
                    return

    async def receive(self) -> Message:
        """Returns the next ASGI message of the client; the last one is `websocket.disconnect`."""
        while not self._messages:
            self._arrived.clear()
            await self._arrived.wait()
        message = self._messages.popleft()
        self._message_bytes -= _size_of(message)
        if message["type"] == "websocket.disconnect":
            self._is_disconnected = True
            await asyncio.sleep(0)  # the action of the previous message starts even if the client has disconnected
        self._account()
        self._pause_or_resume()
        return message

    async def send(self, message: Message) -> None:
        """Sends one message after the client has read most of the previous data.

        Raises:
            OSError: the connection is closed, and `receive` has reported it.
        """
        await self._writable.wait()
        if self._lost.is_set() or self._frames.state is not State.OPEN:
            if self._is_disconnected:
                raise OSError("the connection is closed")
            return  # data sent before the client disconnected is received first
        if message.get("text") is not None:
            self._frames.send_text(message["text"].encode())
        else:
            self._frames.send_binary(message["bytes"])
        self._flush()

    def close(self, code: int, reason: str) -> None:
        """Starts to close the connection."""
        if self._frames.state is State.OPEN and not self._lost.is_set():
            self._frames.send_close(code, reason)
            self._flush()
            self._pause_or_resume()

    async def finish(self) -> None:
        """Gives the client a moment to confirm a close, then ends the connection."""
        if self._transport is None:
            return
        if self._frames.state is not State.OPEN:
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_SECONDS):
                    await self._lost.wait()
        self._cut()
        self._socket.close()

    def _cut(self) -> None:
        """Shuts the connection down.

        Closing this descriptor is not enough because the HTTP server holds another one.
        """
        if self._transport is not None and not self._lost.is_set():
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            self._transport.abort()

    def _take_frames(self) -> int:
        """Processes the received frames, and returns their number."""
        frames = self._frames.events_received()
        for frame in frames:
            if isinstance(frame, Frame):
                self._take_frame(frame)
        if self._frames.parser_exc is not None:  # the parser has already sent a close frame
            self._put_disconnect()
        self._account()
        if self._held() > self.max_message_bytes + MAX_HEADER_BYTES:
            self._fail(MESSAGE_TOO_BIG, f"expected a message of at most {self.max_message_bytes} bytes")
        self._flush()
        self._pause_or_resume()
        return len(frames)

    def _take_frame(self, frame: Frame) -> None:
        if frame.opcode is Opcode.CLOSE:
            self._put_disconnect()
        if frame.opcode not in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
            return
        if frame.opcode is not Opcode.CONT:
            self._is_text = frame.opcode is Opcode.TEXT
        self._fragments += frame.data
        if not frame.fin:
            return
        data, self._fragments = bytes(self._fragments), bytearray()
        if len(data) > self.max_message_bytes:
            self._fail(MESSAGE_TOO_BIG, f"expected a message of at most {self.max_message_bytes} bytes")
        elif self._is_text:
            try:
                self._put({"type": "websocket.receive", "text": data.decode()})
            except UnicodeDecodeError:
                self._fail(CloseCode.INVALID_DATA, "expected text in UTF-8")
        else:
            self._put({"type": "websocket.receive", "bytes": data})

    def _fail(self, code: int, reason: str) -> None:
        if self._frames.state is State.OPEN:
            self._frames.fail(code, reason)
            self._put_disconnect()

    def _put(self, message: Message) -> None:
        self._messages.append(message)
        self._message_bytes += _size_of(message)
        self._arrived.set()

    def _put_disconnect(self) -> None:
        if self._has_ended:
            return
        self._has_ended = True
        code = self._frames.close_rcvd.code if self._frames.close_rcvd else CloseCode.ABNORMAL_CLOSURE
        self._put({"type": "websocket.disconnect", "code": int(code)})

    def _held(self) -> int:
        """Returns the bytes of the incomplete message."""
        return len(self._frames.reader.buffer) + len(self._fragments)

    def _account(self) -> None:
        try:
            self.on_buffered(self._message_bytes + self._held())
        except UnavailableError as error:
            self._fail(TRY_AGAIN_LATER, str(error))

    def _pause_or_resume(self) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        is_waiting = bool(self._messages) and self._frames.state is State.OPEN
        if is_waiting or self._is_parsing_later or not self._writable.is_set():
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def _flush(self) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        for data in self._frames.data_to_send():
            if data:
                self._transport.write(data)
            else:
                self._transport.write_eof()


def _size_of(message: Message) -> int:
    return len(message.get("text") or message.get("bytes") or "")
