"""What takes its time, made in a thread of its own while a page says that it is under way."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

T = TypeVar("T")
WAIT_SECONDS = 0.7


class Prepared(Generic[T]):
    """Something that is made when it is asked for, and made again once it is some seconds old."""

    def __init__(self, make: Callable[[], T], kept_seconds: float) -> None:
        self._make = make
        self._kept_seconds = kept_seconds
        self._lock = threading.Lock()
        self._under_way: Future[T] | None = None
        self._good_until = 0.0

    def get(self) -> T | None:
        """It; None while it is still being made. Raises what making it raised."""
        with self._lock:
            is_old = self._under_way is not None and self._under_way.done()
            if self._under_way is None or (is_old and time.monotonic() > self._good_until):
                self._under_way = Future()
                threading.Thread(target=self._prepare, args=(self._under_way,), daemon=True).start()
            under_way = self._under_way
        try:
            return under_way.result(WAIT_SECONDS)
        except TimeoutError:
            return None

    def _prepare(self, wanted: Future[T]) -> None:
        try:
            made = self._make()
        except Exception as fault:
            self._good_until = time.monotonic() + self._kept_seconds
            wanted.set_exception(fault)
        else:
            self._good_until = time.monotonic() + self._kept_seconds
            wanted.set_result(made)
