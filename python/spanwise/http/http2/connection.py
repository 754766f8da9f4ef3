"""One connection of an HTTP/2 client, and the ASGI requests on it.

A client may send `UNKNOWN_WINDOW_BYTES` of request bodies before the application reads a body. The application reads a
body only after it authorizes the caller. From then on, bytes are acknowledged as the application takes them.

Until the caller is authorized, all work for the connection counts against the budget of unknown callers. Requests are
parsed one by one, and other work of the event loop runs in between.

Source: RFC 9113.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    RemoteSettingsChanged,
    RequestReceived,
    StreamEnded,
    StreamReset,
    WindowUpdated,
)
from h2.exceptions import H2Error
from h2.settings import SettingCodes
from hyperframe.frame import GoAwayFrame

from spanwise.errors import UnavailableError
from spanwise.http.http2.frame_meter import MAX_HEADER_BYTES, FloodError, FrameMeter
from spanwise.http.http2.header_decoder import HeaderDecoder
from spanwise.http.http2.limits import (
    CLOSE_SECONDS,
    CONNECTION_WINDOW_BYTES,
    IDLE_SECONDS,
    MAX_FRAME_BYTES,
    MAX_STREAMS,
    STREAM_WINDOW_BYTES,
    UNKNOWN_WINDOW_BYTES,
)
from spanwise.http.http2.stream import Stream, scope_of
from spanwise.http.requests.caller import network_of

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from h2.events import Event
    from starlette.types import ASGIApp

    from spanwise.auth.processor_budget import ProcessorMeter
    from spanwise.http.http2.limits import ConnectionLimits
    from spanwise.http.http2.stream import Headers
    from spanwise.settings import Settings

_log = logging.getLogger(__name__)


_BEGINNING = b"PRI * HTTP/2"
_HTTP_1_TEXT = b"this port serves gRPC, which needs HTTP/2\n"
_HTTP_1_RESPONSE = (
    b"HTTP/1.1 505 HTTP Version Not Supported\r\nContent-Type: text/plain\r\nConnection: close\r\n"
    b"Content-Length: %d\r\n\r\n%s" % (len(_HTTP_1_TEXT), _HTTP_1_TEXT)
)


class _Engine(H2Connection):
    MAX_CLOSED_STREAMS = 1024  # the default of 65,536 remembered streams takes megabytes


class Connection(asyncio.Protocol):
    """One connection.

    Attributes:
        address: the address of its client; for IPv6, the network.
    """

    def __init__(self, application: ASGIApp, settings: Settings, limits: ConnectionLimits) -> None:
        """Creates a connection whose client has not connected yet.

        Args:
            application: responds to requests.
            settings: deadlines.
            limits: counts the connections.
        """
        self.address = ""
        self._application = application
        self._settings = settings
        self._limits = limits
        self._h2 = _Engine(H2Configuration(client_side=False, header_encoding=None))
        self._h2.decoder = HeaderDecoder(MAX_HEADER_BYTES)
        self._frames = FrameMeter()
        self._pieces: deque[bytes] = deque()
        self._is_parsing_later = False
        self._is_writable = True
        self._streams: dict[int, Stream] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._can_send = asyncio.Event()
        self._is_known = False
        self._is_draining = False
        self._requests = 0
        self._begun = b""

    def connection_made(self, transport: Any) -> None:  # noqa: ANN401  # the type differs between loops
        """Starts the deadline for the first request.

        The server's settings are sent only once the client speaks HTTP/2.
        """
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._client = transport.get_extra_info("peername") or ("", 0)
        self._server = transport.get_extra_info("sockname") or ("", 0)
        self.address = network_of(self._client[0])
        self._meter: ProcessorMeter = self._limits.meter(self)
        self._timer = self._loop.call_later(self._settings.header_deadline_seconds, self._end_unknown)
        try:
            with self._meter.measured():
                self._initiate()
        except UnavailableError as error:
            _log.debug("closed a connection of %s: %s", self.address, error)
            self._transport.abort()
        else:
            self._limits.enter(self)

    def _initiate(self) -> None:
        self._h2.initiate_connection()
        self._h2.update_settings(
            {
                SettingCodes.MAX_CONCURRENT_STREAMS: MAX_STREAMS,
                SettingCodes.INITIAL_WINDOW_SIZE: UNKNOWN_WINDOW_BYTES,
                SettingCodes.MAX_HEADER_LIST_SIZE: MAX_HEADER_BYTES,
                SettingCodes.MAX_FRAME_SIZE: MAX_FRAME_BYTES,
            }
        )
        # Larger frames may arrive in the same packet as the acknowledgement that allows them.
        self._h2.max_inbound_frame_size = MAX_FRAME_BYTES

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002  # required by the protocol
        """Ends the requests of a client that has disconnected. Request bodies received in full are still stored."""
        self._timer.cancel()
        self._limits.leave(self)
        for stream in self._streams.values():
            stream.close()
        self._can_send.set()

    def pause_writing(self) -> None:
        """Pauses reading while the client does not read."""
        self._is_writable = False
        self._pause_or_resume()

    def resume_writing(self) -> None:
        """Resumes reading."""
        self._is_writable = True
        self._pause_or_resume()

    def _pause_or_resume(self) -> None:
        if self._transport.is_closing():
            return
        if self._is_writable and not self._is_parsing_later:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()

    def data_received(self, data: bytes) -> None:
        """Handles data from the client. A client that violates the protocol is disconnected."""
        if self._transport.is_closing():
            return
        if not self._requests and not self._is_http2(data):
            return
        try:
            self._pieces.extend(self._frames.count(data))
        except FloodError as error:
            self._go_away(ErrorCodes.ENHANCE_YOUR_CALM, str(error))
        else:
            if not self._is_parsing_later:
                self._parse()

    def _parse(self) -> None:
        """Parses one piece of the received data. The next piece follows after other work of the event loop."""
        self._is_parsing_later = False
        if self._transport.is_closing() or not self._pieces:
            return
        try:
            with self._measured():
                self._receive(self._pieces.popleft())
        except UnavailableError as error:
            self.end(str(error))
        except H2Error as error:
            self._close(str(error))
        if self._pieces:
            self._is_parsing_later = True
            self._loop.call_soon(self._parse)
        self._pause_or_resume()

    def _measured(self) -> AbstractContextManager[None]:
        return nullcontext() if self._is_known else self._meter.measured()

    def _receive(self, data: bytes) -> None:
        for event in self._h2.receive_data(data):
            self._handle(event)
        self._flush()

    def _is_http2(self, data: bytes) -> bool:
        """Returns True if the connection starts with the HTTP/2 preface. Otherwise sends a hint and disconnects."""
        self._begun = (self._begun + data)[: len(_BEGINNING)]
        if _BEGINNING.startswith(self._begun):
            return True
        self._h2.clear_outbound_data_buffer()
        self._transport.write(_HTTP_1_RESPONSE)
        self._close("it is not HTTP/2")
        return False

    def _handle(self, event: Event) -> None:
        match event:
            case RequestReceived():
                self._begin(event)
            case DataReceived():
                self._receive_data(event)
            case StreamEnded():
                if (stream := self._streams.get(_id_of(event))) is not None:
                    stream.feed_end()
            case StreamReset():
                if (stream := self._streams.get(_id_of(event))) is not None:
                    stream.close()
                self._can_send.set()
            case WindowUpdated() | RemoteSettingsChanged():
                self._can_send.set()
            case ConnectionTerminated():
                self._close("the client closed it")

    def _begin(self, event: RequestReceived) -> None:
        stream_id = _id_of(event)
        # Requests that the client has reset are still running, so they count.
        if self._is_draining or len(self._tasks) >= MAX_STREAMS:
            self._reset(stream_id, ErrorCodes.REFUSED_STREAM)
            return
        self._requests += 1
        scope = scope_of(event.headers or [], self._client, self._server)
        stream = self._streams[stream_id] = Stream(stream_id, scope, self)
        task = self._loop.create_task(self._respond(stream))
        self._tasks.add(task)
        task.add_done_callback(self._forget)

    def _receive_data(self, event: DataReceived) -> None:
        stream_id, size = _id_of(event), event.flow_controlled_length or 0
        stream = self._streams.get(stream_id)
        if stream is None or stream.is_closed:
            self._h2.acknowledge_received_data(size, stream_id)
        else:
            stream.feed(event.data or b"", size)

    async def _respond(self, stream: Stream) -> None:
        try:
            await self._application(stream.scope, stream.receive, stream.send)
        finally:
            self._finish(stream)

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("the response to a request of %s failed", self.address, exc_info=error)

    def _finish(self, stream: Stream) -> None:
        """Forgets a request whose response was sent or cannot be sent."""
        del self._streams[stream.id]
        if self._transport.is_closing():
            return
        if self._is_known:
            self._frames.add_request()
        stream.release()
        if not stream.is_closed and not (stream.is_sent and stream.is_received):
            self._reset(stream.id, ErrorCodes.NO_ERROR if stream.is_sent else ErrorCodes.INTERNAL_ERROR)
        self._flush()
        if stream.scope["state"].get("ends_connection"):
            self.drain() if self._is_known else self.end("a request was rejected without reading its token")
        if self._is_draining and not self._streams:
            self._close("no more requests are accepted")

    def _reset(self, stream_id: int, code: ErrorCodes) -> None:
        # Another frame in the same data may have reset the stream or ended the connection.
        with suppress(H2Error):
            self._h2.reset_stream(stream_id, code)

    def acknowledge(self, stream_id: int, size: int) -> None:
        """Lets the client send the same number of body bytes again."""
        if not self._transport.is_closing():
            self._h2.acknowledge_received_data(size, stream_id)
            self._flush()

    def expect_body(self, stream_id: int, *, is_public: bool) -> None:
        """Lets the client send the whole body of an authorized request. Public routes keep the small window."""
        if is_public or self._streams[stream_id].is_closed or self._transport.is_closing():
            return
        if not self._is_known:
            self._is_known = True
            self._meter.give_back()
            self._limits.recognize(self)
            self._h2.increment_flow_control_window(CONNECTION_WINDOW_BYTES - UNKNOWN_WINDOW_BYTES)
            # This applies to the current request and all later ones, which then need no wait for their windows.
            self._h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: STREAM_WINDOW_BYTES})
            self._timer.cancel()
            self._timer = self._loop.call_later(IDLE_SECONDS, self._end_idle, self._requests)
            self._flush()

    def send_headers(self, stream_id: int, headers: Headers, *, is_last: bool) -> None:
        """Sends headers, or trailers."""
        if not self._transport.is_closing():
            self._h2.send_headers(stream_id, headers, end_stream=is_last)
            self._flush()

    async def send_data(self, stream_id: int, data: bytes, *, is_last: bool) -> None:
        """Sends data as the client's window allows, and resets the stream if the window stays closed too long."""
        while data and not (self._transport.is_closing() or self._streams[stream_id].is_closed):
            size = min(len(data), self._h2.local_flow_control_window(stream_id), self._h2.max_outbound_frame_size)
            if size > 0:
                self._h2.send_data(stream_id, data[:size], end_stream=is_last and size == len(data))
                data = data[size:]
                self._flush()
            else:
                await self._wait_for_window(stream_id)

    async def _wait_for_window(self, stream_id: int) -> None:
        self._can_send.clear()
        try:
            async with asyncio.timeout(self._settings.write_deadline_seconds):
                await self._can_send.wait()
        except TimeoutError:
            self._reset(stream_id, ErrorCodes.CANCEL)
            self._streams[stream_id].close()
            self._flush()

    def _flush(self) -> None:
        if (data := self._h2.data_to_send()) and not self._transport.is_closing():
            self._transport.write(data)

    def _end_unknown(self) -> None:
        if not self._is_known:
            self.end("no request was authorized in time")

    def _end_idle(self, requests: int) -> None:
        if self._requests == requests and not self._streams:
            self.end("it was idle")
        else:
            self._timer = self._loop.call_later(IDLE_SECONDS, self._end_idle, self._requests)

    def end(self, reason: str) -> None:
        """Closes the connection. Request bodies received in full are still stored."""
        self._go_away(ErrorCodes.NO_ERROR, reason)

    def drain(self) -> None:
        """Stops accepting requests, and closes the connection after the responses in progress."""
        if self._is_draining:
            return
        self._is_draining = True
        self._write_go_away(ErrorCodes.NO_ERROR)
        self._timer.cancel()
        if not self._streams:
            self._close("no more requests are accepted")

    def _go_away(self, code: ErrorCodes, reason: str) -> None:
        self._write_go_away(code)
        self._close(reason)

    def _write_go_away(self, code: ErrorCodes) -> None:
        """Writes GOAWAY directly, because the protocol engine sends nothing after it, not even responses."""
        frame = GoAwayFrame(0, last_stream_id=self._h2.highest_inbound_stream_id, error_code=code)
        if not self._transport.is_closing():
            self._transport.write(frame.serialize())

    def _close(self, reason: str) -> None:
        self._flush()
        if not self._transport.is_closing():
            _log.debug("closed a connection of %s: %s", self.address, reason)
            self._transport.close()
            self._loop.call_later(CLOSE_SECONDS, self._transport.abort)


def _id_of(event: Any) -> int:  # noqa: ANN401  # events of streams have no common base
    stream_id: int = event.stream_id
    return stream_id
