"""Transport: one POST through requests, held to a time and to a size. Imported where it is first needed."""

import re
import socket
import time
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from typing import Any

import requests
import urllib3
from requests.adapters import HTTPAdapter
from requests.exceptions import (
    ChunkedEncodingError,
    ContentDecodingError,
    ProxyError,
    RequestException,
    SSLError,
    Timeout,
)

from harness.answers import Answer
from harness.deadline import Watchdog
from harness.errors import ModelError, SettingsError
from harness.settings import Settings

CHUNK = 65_536  # bytes of an answer taken at once

_HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json",
    "Accept-Encoding": "identity",  # a reply is a few kB: nothing to gain, and tapes stay readable
    "User-Agent": "agent-harness-workshop",
}


class Transport:
    """Posts bodies to one URL over one kept connection. One request at a time."""

    def __init__(self, settings: Settings, *, connect_timeout: float, max_bytes: int) -> None:
        url, self._timeout = settings.chat_url, settings.timeout

        def bearer(request: requests.PreparedRequest) -> requests.PreparedRequest:
            request.headers["Authorization"] = f"Bearer {settings.api_key}"
            return request

        # Prepared by the Request, not by a Session: a Session looks into .netrc, and what it finds there
        # replaces the key (psf/requests#3929).
        auth = bearer if settings.api_key else None
        try:
            self._request = requests.Request("POST", url, headers=_HEADERS, data=b"", auth=auth).prepare()
        except (RequestException, ValueError) as error:
            raise SettingsError(f"the base URL makes no address to post to: {error}") from None
        # The environment (proxies, REQUESTS_CA_BUNDLE) is asked once. A Session asks it at each request.
        with requests.Session() as session:
            self._route = session.merge_environment_settings(url, {}, True, None, None)
        self._adapter = _OneHostAdapter()
        self._watchdog = Watchdog(self._adapter.cut)
        self._url = url.partition("?")[0]  # for messages: a query can hold a key
        self._connect_timeout = connect_timeout
        self._max_bytes = max_bytes

    def post(self, body: bytes, deadline: float) -> Answer:
        """Send a body, and take the whole answer, whatever its status.

        Args:
            body: the JSON to send.
            deadline: when ``time.monotonic()`` gets there, it is cut off. It may not move back from one
                request to the next.

        Raises:
            ModelError: no whole answer came, or it is too large.
        """
        left = deadline - time.monotonic()
        if left <= 0:
            raise self._too_late()
        self._request.body = body
        self._request.headers["Content-Length"] = str(len(body))
        timeout = (min(self._connect_timeout, left), left)
        try:
            with (
                self._watchdog.until(deadline),
                # The adapter and not a Session, which reads a redirect's body, of any size, by itself.
                self._adapter.send(self._request, timeout=timeout, **self._route) as response,
            ):
                content = self._read(response)
        except (RequestException, urllib3.exceptions.HTTPError, HTTPException, OSError) as error:
            if time.monotonic() >= deadline:
                raise self._too_late() from None
            raise self._explain(error) from None
        finally:
            self._request.body = None  # so that nobody holds the bytes when the client extends them
        if time.monotonic() >= deadline:  # a body that ends when its connection does looks whole after a cut
            raise self._too_late()
        headers = response.headers
        return Answer(
            url=self._url,
            status=response.status_code,
            reason=response.reason or "",
            content_type=headers.get("Content-Type", ""),
            location=headers.get("Location", ""),
            retry_after=_seconds(headers.get("Retry-After", "")),
            body=content,
        )

    def close(self) -> None:
        """Close the connection."""
        self._watchdog.close()
        self._adapter.close()

    def _read(self, response: requests.Response) -> bytes:
        """The body, unpacked, as long as it stays in bounds: 10 MB of gzip can unpack to 10 GB."""
        content = bytearray()
        for chunk in response.iter_content(CHUNK):
            content += chunk
            if len(content) > self._max_bytes:
                raise ModelError(f"{self._url} sent too much: more than {self._max_bytes:,} bytes")
        return bytes(content)

    def _too_late(self) -> ModelError:
        return ModelError(
            f"timeout: {self._url} gave no whole answer within {self._timeout:g} s. "
            "A slow model may need longer: set LLM_TIMEOUT, in seconds.",
            retryable=True,
        )

    def _explain(self, error: Exception) -> ModelError:
        """What an exception of requests or urllib3 means to the person in front of it."""
        url, why = self._url, _root_of(error)
        if isinstance(error, SSLError):
            return ModelError(
                f"{url}: TLS failed: {why}. For a certificate authority of your own, set REQUESTS_CA_BUNDLE "
                "to its file; a server without TLS needs http:// in the base URL."
            )
        if isinstance(error, ProxyError):
            return ModelError(
                f"the proxy for {url} failed: {why}. Check HTTPS_PROXY and NO_PROXY.", retryable=True
            )
        if isinstance(error, Timeout):  # not the deadline's, so still at the door
            return ModelError(
                f"timeout: no connection to {url} within {self._connect_timeout:g} s", retryable=True
            )
        if isinstance(error, ChunkedEncodingError):
            return ModelError(f"the answer of {url} was cut off: {why}", retryable=True)
        if isinstance(error, ContentDecodingError):
            return ModelError(f"the answer of {url} can't be unpacked: {why}")
        if isinstance(error, requests.ConnectionError):
            return ModelError(f"no connection to {url}: {why}. Is the server running?", retryable=True)
        return ModelError(f"the request to {url} failed: {why}")


class _OneHostAdapter(HTTPAdapter):
    """requests' adapter for a single URL: it looks for the pool once, and knows what is in use, to cut it."""

    def __init__(self) -> None:
        super().__init__()
        self._pool: Any = None
        self._connection: Any = None
        self._raw: Any = None

    def get_connection_with_tls_context(self, *args: Any, **options: Any) -> Any:
        """The pool of connections, which requests looks up by a dozen keys at each request."""
        if self._pool is None:
            pool: Any = super().get_connection_with_tls_context(*args, **options)

            def remember(timeout: float | None = None) -> Any:
                self._connection = type(pool)._get_conn(pool, timeout)  # by name: vcrpy replaces it there
                return self._connection

            pool._get_conn = remember
            self._pool = pool
        return self._pool

    def send(self, *args: Any, **options: Any) -> requests.Response:
        """As requests sends; the response is remembered, too."""
        self._raw = None
        response = super().send(*args, **options)
        self._raw = response.raw
        return response

    def close(self) -> None:
        """Close the connection. requests only forgets its pools, and ours is remembered here, too."""
        if self._pool is not None:
            self._pool.close()
        super().close()

    def cut(self) -> None:
        """End the transfer, from another thread: the one that waits for bytes finds the end of the stream."""
        with suppress(AttributeError, ValueError, OSError):  # nothing received yet; given back; closed
            self._raw.shutdown()  # also where "Connection: close" has parted connection and socket
        sock = getattr(self._connection, "sock", None)
        if isinstance(sock, socket.socket):  # not None while it connects, nor vcrpy's stand-in
            with suppress(OSError):
                socket.socket.shutdown(sock, socket.SHUT_RDWR)


def _seconds(retry_after: str) -> float:
    """A Retry-After header in seconds from now; 0 for one that can't be read, is past or negative."""
    if re.fullmatch(r"[0-9]+(\.[0-9]*)?", retry_after.strip()):
        return float(retry_after)
    with suppress(ValueError, TypeError, OverflowError):
        when = parsedate_to_datetime(retry_after)
        when = when if when.tzinfo else when.replace(tzinfo=UTC)
        return max(0.0, (when - datetime.now(UTC)).total_seconds())
    return 0.0


def _root_of(error: BaseException) -> str:
    """The words of the system's error under layers of requests and urllib3: "Connection refused"."""
    link: BaseException | None = error
    while link is not None:
        if isinstance(link, OSError | HTTPException) and not isinstance(link, RequestException):
            return getattr(link, "strerror", None) or str(link) or type(link).__name__
        link = link.__cause__ or link.__context__
    return str(error)
