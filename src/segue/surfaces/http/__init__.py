"""`segue serve`: the operations of the library over HTTP, for teams.

`app.py` puts the routes into a Starlette application. Every request passes the pipeline
(`server/pipeline.py`: host, size, key, rate, repeats), then comes to the function that is declared for its
path (see `server/route.py`), which works on the store of the key's project. Files are named after paths:
`/v1/sessions/{id}/hold` is in `routes/holds.py`. A route returns what the command of the same name prints
with ``--json``, and its response is sent after the commit, never before.
"""
