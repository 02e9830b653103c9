"""The host that a browser names is one of this machine, or the request is refused."""

from __future__ import annotations

import pytest

from segue.surfaces.http.web.local import HOST_HEADER


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "[::1]"])
@pytest.mark.parametrize("rest", ["", ":18931@evil", ":", ":1:2", ":0x10", ":18931/", ":18931 ", "@evil:1"])
def test_a_host_header_that_only_begins_like_this_machine_is_refused(name: str, rest: str) -> None:
    assert HOST_HEADER.fullmatch(f"{name}:18931") and not HOST_HEADER.fullmatch(name + rest)
