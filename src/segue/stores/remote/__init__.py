"""A Segue server as a store: every method of the ports is one request.

``address`` where it is, and what may be shown of it · ``pool`` connections · ``client`` requests that are
tried again, and errors as the server meant them · ``wire`` what stands in them, for both sides ·
``journal``, ``runs``, ``memories`` the ports. The other side is ``services.portal``.
"""

from .address import Address, is_remote, shown
from .journal import RemoteJournal

__all__ = ["Address", "RemoteJournal", "is_remote", "shown"]
