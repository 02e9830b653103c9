"""The pages that people look at: `segue ui` on this machine, and the same on `segue serve`.

``page.py`` is how a page is declared, ``pages/`` and ``actions.py`` are what there is, ``local.py`` and
``keyed.py`` are the two doors: a one-time link, or a key of the server. Everything is rendered on the server
and works without JavaScript; nothing is loaded from another host.
"""
