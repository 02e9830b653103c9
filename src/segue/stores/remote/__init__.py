"""A Segue server as a store: every method of the ports is one request.

``address`` where it is, and what may be shown of it · ``client`` requests that are tried again, and errors as
the server meant them · ``wire`` bytes · ``ports`` the methods, for both sides · ``memories`` what is looked
up after a doubt · ``store`` all of it. The other side is ``services.server.store_over_http``.
"""

from .address import Address, is_remote, shown
from .store import RemoteStore

__all__ = ["Address", "RemoteStore", "is_remote", "shown"]
