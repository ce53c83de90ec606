"""One attempt at one request, through obstore: bytes, what describes an object, and names.

Stores are made when first needed and shared by all threads; their connections are kept. A store's own retries are off:
attempts are counted, and waited between, in one place (requests.py). obstore works in threads of its own, which do not
live on in a forked child, so there it is refused instead of waited for without end.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol

from penstock.errors import ForkedError, InvalidArgumentError, MissingDependencyError
from penstock.storage.fault import Fault, Kind, fault_of
from penstock.storage.url import address_of, plain_key, scrubbed, shown

_MOST_STORES = 64
_CONNECT_SECONDS = 10.0
_NO_HEAD = (400, 403, 405, 501)
_PAST_END = 416


@dataclass(frozen=True, slots=True)
class ObjectFacts:
    """What tells an object from what it was before. size: bytes; modified_s: since 1970, 0 where it is not told."""

    size: int
    etag: str | None = None
    modified_s: float = 0.0

    @property
    def identity(self) -> str | None:
        """The same as long as the object is; None where nothing tells."""
        if self.etag:
            return f"{self.etag} {self.size}"
        return f"{self.modified_s} {self.size}" if self.modified_s else None

    def check(self, seen: ObjectFacts) -> None:
        """Raises: Fault: `seen` is of another object than this was."""
        for name, before, now in (
            ("size", self.size, seen.size),
            ("ETag", self.etag, seen.etag),
            ("time of change", self.modified_s or None, seen.modified_s or None),
        ):
            if before is not None and now is not None and before != now:
                if name == "time of change" and self.etag is not None and self.etag == seen.etag:
                    continue  # written anew with the same content
                raise Fault(Kind.CHANGED, f"{name} {now}, it was {before}")


@dataclass(frozen=True, slots=True)
class Listed:
    """A name in a store, and its size in bytes."""

    key: str
    size: int


class Client(Protocol):
    """One attempt each; whatever goes wrong is a Fault. A test puts its own in its place."""

    def get(
        self, url: str, start: int, stop: int | None, pinned: ObjectFacts | None, *, tells: bool
    ) -> tuple[bytes, ObjectFacts | None]:
        """The bytes from `start` to `stop` (None: the end), all of them; if it `tells`, what describes the object."""

    def head(self, url: str) -> ObjectFacts:
        """What describes an object."""

    def names(self, root: str, prefix: str, *, deep: bool) -> Iterator[Listed]:
        """The objects in folder `prefix` of the store at `root`; `deep`: and in folders within."""


class ObstoreClient:
    """The client that all of a process share, by time limit."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._stores: OrderedDict[str, Any] = OrderedDict()
        self._lock = threading.Lock()
        self._last: tuple[str, Any, Any] = ("\n", None, None)  # begin of URLs, module and store

    def get(
        self, url: str, start: int, stop: int | None, pinned: ObjectFacts | None, *, tells: bool
    ) -> tuple[bytes, ObjectFacts | None]:
        obs, store, key = self._reach(url)
        options: dict[str, Any] = {}
        if stop is not None and stop <= start:
            return self._nothing(url, start, pinned)
        if stop is not None:
            options["range"] = (start, stop)
        elif start:
            options["range"] = {"offset": start}
        if pinned is not None and pinned.etag and not pinned.etag.startswith("W/"):
            options["if_match"] = pinned.etag  # a weak one matches nothing, by the standard
        try:
            answer = obs.get(store, key, options=options)
            first, end = answer.range
            facts = None  # of a whole object that nobody asks about, its range says enough; the rest takes 10 us
            if tells or options:
                facts = _facts(answer.meta)
            if pinned is not None and facts is not None:
                pinned.check(facts)
            data: bytes = answer.bytes().to_bytes()
        except Fault:
            raise
        except Exception as error:  # noqa: BLE001  # obstore's errors share no base
            fault = _told(error)
            if fault.status == _PAST_END:
                return self._nothing(url, start if stop is None else stop, pinned)
            raise fault from None
        size = end if facts is None else facts.size
        wanted = (size if stop is None else min(stop, size)) - start
        if first != start or len(data) != wanted or end - first != wanted:
            raise Fault(Kind.CONNECTION, f"{len(data)} bytes came where {wanted} were promised")
        if stop is not None and stop > size:
            raise _short(size, stop)
        return data, facts

    def _nothing(self, url: str, stop: int, pinned: ObjectFacts | None) -> tuple[bytes, ObjectFacts]:
        """No bytes, before place `stop` of an object that has to be there and so long."""
        facts = self.head(url)
        if pinned is not None:
            pinned.check(facts)
        if stop > facts.size:
            raise _short(facts.size, stop)
        return b"", facts

    def head(self, url: str) -> ObjectFacts:
        obs, store, key = self._reach(url)
        try:
            return _facts(obs.head(store, key))
        except Exception as error:  # noqa: BLE001  # obstore's errors share no base
            fault = _told(error)
            if not url.startswith("http") or fault.status not in _NO_HEAD:
                raise fault from None
        try:  # a server, or a signed URL, that allows GET alone
            return _facts(obs.get(store, key, options={"range": (0, 1)}).meta)
        except Exception as error:  # noqa: BLE001  # obstore's errors share no base
            raise _told(error) from None

    def names(self, root: str, prefix: str, *, deep: bool) -> Iterator[Listed]:
        obs, store, _ = self._reach(f"{root}/")
        try:
            if deep:
                for page in obs.list(store, prefix or None):
                    yield from (Listed(item["path"], item["size"]) for item in page)
            else:
                page = obs.list_with_delimiter(store, prefix or None)["objects"]
                yield from (Listed(item["path"], item["size"]) for item in page)
        except Exception as error:  # noqa: BLE001  # obstore's errors share no base
            raise _told(error) from None

    def _reach(self, url: str) -> tuple[Any, Any, str]:
        begin, obs, store = self._last  # most URLs are of one store: nothing else is asked then
        if url.startswith(begin) and _first_use.pid == os.getpid() and (key := plain_key(url, len(begin))) is not None:
            return obs, store, key
        obs = _obstore(url)
        address = address_of(url)
        with self._lock:
            store = self._stores.get(address.root)
            if store is None:
                store = self._stores[address.root] = self._store(address.root, url)
                if len(self._stores) > _MOST_STORES:
                    self._stores.popitem(last=False)
            else:
                self._stores.move_to_end(address.root)
            if address.key:
                self._last = (f"{address.root}/", obs, store)
        return obs, store, address.key

    def _store(self, root: str, url: str) -> Any:
        from obstore.store import from_url

        client: dict[str, Any] = {
            "timeout": timedelta(seconds=self._timeout_s),
            "connect_timeout": timedelta(seconds=min(self._timeout_s, _CONNECT_SECONDS)),
        }
        client |= _from_environment(root)
        try:
            return from_url(root, client_options=client, retry_config={"max_retries": 0})
        except Exception as error:  # noqa: BLE001  # obstore's errors share no base
            raise InvalidArgumentError(
                "no store at this URL", got=scrubbed(str(error).partition("Debug source")[0].strip(), url),
                where=shown(url),
                remedy="docs/howto/remote-data.md says what each store takes from the environment",
            ) from None  # fmt: skip


def _from_environment(root: str) -> dict[str, Any]:
    """What the environment says of connections: obstore forgets it where it is given options of its own."""
    if root.startswith("http"):
        return {"allow_http": True} if root.startswith("http://") else {}
    prefix = {"s3": "AWS", "gs": "GOOGLE", "az": "AZURE"}[root.partition("://")[0]]
    said: dict[str, Any] = {}
    for name in ("proxy_url", "proxy_ca_certificate", "proxy_excludes"):
        if text := os.environ.get(f"{prefix}_{name.upper()}"):
            said[name] = text
    for name in ("allow_http", "allow_invalid_certificates"):
        if os.environ.get(f"{prefix}_{name.upper()}", "").lower() in ("1", "true", "yes", "on"):
            said[name] = True
    return said


def _facts(meta: Any) -> ObjectFacts:
    return ObjectFacts(meta["size"], meta["e_tag"], meta["last_modified"].timestamp())


def _short(size: int, stop: int) -> Fault:
    return Fault(Kind.SHORT, f"{size} bytes, expected at least {stop}")


def _told(error: Exception) -> Fault:
    if isinstance(error, ValueError):
        return Fault(Kind.OTHER, str(error).partition("Debug source")[0].strip())
    return fault_of(error)


def _obstore(url: str) -> Any:
    """The module. Raises: MissingDependencyError; ForkedError."""
    try:
        import obstore
    except ImportError as error:
        raise MissingDependencyError(
            "reading URLs needs obstore", where=shown(url), remedy="pip install 'penstock[cloud]'"
        ) from error
    if _first_use.pid is None:
        _first_use.pid = os.getpid()
    if _first_use.pid != os.getpid():
        raise ForkedError(
            "this process was forked from one that has read URLs; what reads them stayed there",
            got=f"process {os.getpid()}, forked from {_first_use.pid}", where=shown(url),
            remedy="start it with the spawn or forkserver method",
        )  # fmt: skip
    return obstore


class _FirstUse:
    """In which process obstore was first used: its threads live there."""

    pid: int | None = None


_first_use = _FirstUse()
