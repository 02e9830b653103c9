"""The quotas of projects, held on every write that a server does.

A project without a quota costs a look into a table in memory. One with a quota is charged before the write
from a share that this server holds (see ``core.server.quota``), and what was not written is given back. The
limits are read anew every few seconds, so that all servers know soon what an operator set.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress

import msgspec

from ...core.base.values import Value
from ...core.server.access import clean_project
from ...core.server.quota import KINDS, REQUESTS, WINDOW_SECONDS, Quota, clean_limit, share_of
from ...errors import OverQuota, RateLimited, SegueError, StoreUnavailable
from ...stores.base import Append, Pieces, ServerTables
from ...stores.memory_changes import MemoryChange
from ...stores.postgres import PostgresStore
from ...stores.postgres.usage import PostgresUsage
from ...stores.sqlite import SqliteStore
from ...stores.sqlite.upkeep import count_use
from ...stores.usage import Drawn, UsageCounter, Wish

Amounts = Mapping[str, int]
_COUNTED = "session/"
_NEVER_REFUSED = ("hold/", "ledger/", "spend/", "tree/", "once/")
_LOCAL_RECOUNT_SECONDS = 60.0
_NOTHING: AbstractContextManager[None] = nullcontext()


class QuotaUse(Value):
    """A limit of a project, and how much of it is used."""

    project: str
    kind: str
    limit: int
    used: int


def in_append(appends: tuple[Append, ...], pieces: Pieces | None, memories: MemoryChange | None) -> Amounts:
    """What an append adds. Holds and ledgers are Segue's own and never refused; of what is observed of runs,
    only the bytes count."""
    sessions = events = size = 0
    for wish in appends:
        if wish.stream.startswith(_NEVER_REFUSED):
            continue
        size += sum(len(draft.body) for draft in wish.drafts)
        if wish.drafts and wish.stream.startswith(_COUNTED):
            events += len(wish.drafts)
            sessions += not wish.expect
    size += sum(map(len, pieces.values())) if pieces else 0
    added = in_memories(memories) if memories is not None else {"memories": 0, "bytes": 0}
    return {
        "sessions": sessions, "events": events, "memories": added["memories"],
        "bytes": size + added["bytes"],
    }  # fmt: skip


def in_memories(change: MemoryChange) -> Amounts:
    """What a change of memories adds."""
    bodies = (msgspec.msgpack.encode(one.memory) for one in change.adds)
    return {"memories": len(change.adds), "bytes": sum(map(len, bodies))}


class _Share:
    """What this server may still spend of a limit without asking."""

    def __init__(self, project: str, kind: str) -> None:
        self.project, self.kind = project, kind
        self.lock = threading.Lock()
        self.left = self.in_flight = self.limit = self.held = 0
        """``held`` is what other servers count as ours."""
        self.until = 0.0
        self.spent_lately = False

    def covers(self, amount: int, limit: int) -> bool:
        return self.left >= amount and limit == self.limit and time.monotonic() < self.until


class Quotas:
    """The quotas of the projects of a server."""

    def __init__(
        self, tables: Callable[[], ServerTables], stores: Callable[[str], PostgresStore | SqliteStore]
    ) -> None:
        """``tables`` gives the server's own tables, ``stores`` the store of a project."""
        self._tables = tables
        self._stores = stores
        self._server = secrets.token_hex(8)
        self._known: dict[str, Quota] = {}
        self._shares: dict[tuple[str, str], _Share] = {}
        self._lock = threading.Lock()
        self._counter: UsageCounter | None = None
        self.refused: dict[tuple[str, str], int] = defaultdict(int)
        """How often a project was refused something here, by kind."""

    # -- what an operator sets -----------------------------------------------------------------

    def load(self) -> None:
        """Read the limits anew."""
        self._known = {quota.project: quota for quota in self._tables().quotas()}

    def set(self, project: str, limits: Amounts) -> Quota:
        """Change limits of a project; those that are not named stay, and 0 takes one away."""
        found = {quota.project: quota for quota in self._tables().quotas()}.get(clean_project(project))
        before = found.limits if found else {}
        made = Quota(project, **{kind: clean_limit(kind, n) for kind, n in {**before, **limits}.items()})
        self._tables().put_quota(made)
        self.load()
        return made

    def use(self, project: str = "") -> list[QuotaUse]:
        """Every limit, of one project or of all, with what is used of it, counted now."""
        self.load()
        return [
            QuotaUse(quota.project, kind, limit, self._used(quota.project, kind))
            for quota in self._known.values()
            if project in ("", quota.project)
            for kind, limit in quota.limits.items()
        ]

    def known_use(self, project: str = "") -> list[QuotaUse]:
        """The same from what is known without counting, for whoever looks often."""
        return [
            QuotaUse(quota.project, kind, limit, given.get(kind, 0))
            for quota in self._known.values()
            if project in ("", quota.project)
            for given in [self._usage.given(quota.project)]
            for kind, limit in quota.limits.items()
        ]

    def _used(self, project: str, kind: str) -> int:
        return self._usage.used(project, kind, self._namespace(project))

    # -- what is held to it --------------------------------------------------------------------

    def charged(self, project: str, amounts: Callable[[], Amounts]) -> AbstractContextManager[None]:
        """Within the block, this much is written. Raises OverQuota if it may not be; if the block fails,
        nothing was."""
        quota = self._known.get(project)
        return _NOTHING if quota is None else self._charged(quota, amounts())

    @contextmanager
    def _charged(self, quota: Quota, amounts: Amounts) -> Iterator[None]:
        taken: list[tuple[_Share, int]] = []
        kept = False
        try:
            for kind in KINDS:
                if (limit := quota.limit(kind)) and (amount := amounts.get(kind, 0)):
                    share = self._take(quota.project, kind, limit, amount)
                    taken.append((share, amount))
            yield
            kept = True
        except StoreUnavailable as fault:
            kept = fault.doubt  # it may be there
            raise
        finally:
            for share, amount in taken:
                with share.lock:
                    share.in_flight -= amount
                    share.left += 0 if kept else amount

    def count_request(self, project: str) -> Callable[[], None] | None:
        """Count a request. What is given must be called if there is no share left: it asks the store, and
        raises RateLimited."""
        quota = self._known.get(project)
        if quota is None or not quota.requests:
            return None
        share = self._share(project, REQUESTS)
        with share.lock:
            if share.covers(1, quota.requests):
                share.left -= 1
                return None
        return lambda: self._finish_request(self._take(project, REQUESTS, quota.requests, 1))

    def _finish_request(self, share: _Share) -> None:
        with share.lock:
            share.in_flight -= 1

    def _take(self, project: str, kind: str, limit: int, amount: int) -> _Share:
        share = self._share(project, kind)
        with share.lock:
            if not share.covers(amount, limit):
                self._refill(share, limit, amount)
            share.left -= amount
            share.in_flight += amount
            share.spent_lately = True
        return share

    def _refill(self, share: _Share, limit: int, need: int) -> None:
        drawn = self._draw(share, limit, need)
        if drawn.share:
            return
        self.refused[share.project, share.kind] += 1
        if share.kind == REQUESTS:
            told = f"the project {share.project} may send {limit:,} requests a minute"
            raise RateLimited(
                told, hint="try again when Retry-After says", retry_after_seconds=drawn.valid_seconds
            )
        raise OverQuota.of(share.project, share.kind, limit, drawn.used)

    def _draw(self, share: _Share, limit: int, need: int) -> Drawn:
        begun = time.monotonic()
        unspent = share.left if begun < share.until else 0
        namespace = self._namespace(share.project)
        wish = Wish(share.project, namespace, share.kind, self._server, limit, need, unspent, share.in_flight)
        drawn = self._usage.draw(wish)
        share.left, share.limit, share.held = drawn.share, limit, drawn.share + share.in_flight
        share.until = begun + drawn.valid_seconds
        return drawn

    def give_back(self, *, all_of_it: bool = False) -> None:
        """Give back shares that nobody has spent of lately, so that other servers have them."""
        with self._lock:
            shares = list(self._shares.values())
        for share in shares:
            with share.lock, suppress(SegueError):
                if share.held and (all_of_it or not share.spent_lately):
                    self._draw(share, share.limit, 0)
                share.spent_lately = False

    def _share(self, project: str, kind: str) -> _Share:
        found = self._shares.get((project, kind))
        if found is None:
            with self._lock:
                found = self._shares.setdefault((project, kind), _Share(project, kind))
        return found

    def _namespace(self, project: str) -> str:
        store = self._stores(project)
        return store.namespace if isinstance(store, PostgresStore) else ""

    @property
    def _usage(self) -> UsageCounter:
        if self._counter is None:
            main = self._stores("default")
            self._counter = (
                PostgresUsage(main.database) if isinstance(main, PostgresStore) else _LocalUsage(self._stores)
            )
        return self._counter


class _LocalUsage:
    """The same for embedded stores, which one server alone has: what was given out is in memory."""

    def __init__(self, stores: Callable[[str], PostgresStore | SqliteStore]) -> None:
        self._stores = stores
        self._given: dict[tuple[str, str], tuple[int, float]] = {}
        """What is used or given out, and when it was last counted; of requests, when the minute began."""
        self._lock = threading.Lock()

    def draw(self, wish: Wish) -> Drawn:
        name, now = (wish.project, wish.kind), time.monotonic()
        with self._lock:
            amount, at = self._given.get(name, (0, float("-inf")))
            amount = max(0, amount - wish.unspent)
            if wish.kind == REQUESTS:
                begun = now // WINDOW_SECONDS * WINDOW_SECONDS
                amount, at = (amount if at == begun else 0), begun
            elif wish.need and self._is_due(now - at, wish.limit - amount < wish.need):
                amount, at = self.used(wish.project, wish.kind, "") + wish.in_flight, now
            share = share_of(wish.limit - amount, wish.need, wish.kind) if wish.need else 0
            self._given[name] = (amount + share, at)
        valid = at + WINDOW_SECONDS - now if wish.kind == REQUESTS else _LOCAL_RECOUNT_SECONDS
        return Drawn(share, amount, valid)

    @staticmethod
    def _is_due(age_seconds: float, short: bool) -> bool:
        return age_seconds > _LOCAL_RECOUNT_SECONDS or (short and age_seconds > 1.0)

    def given(self, project: str) -> dict[str, int]:
        begun = time.monotonic() // WINDOW_SECONDS * WINDOW_SECONDS
        return {
            kind: amount
            for (whose, kind), (amount, at) in list(self._given.items())
            if whose == project and (kind != REQUESTS or at == begun)
        }

    def used(self, project: str, kind: str, namespace: str) -> int:
        if kind == REQUESTS:
            return self.given(project).get(REQUESTS, 0)
        store = self._stores(project)
        assert isinstance(store, SqliteStore)
        return count_use(store.database, kind)
