"""`segue serve`: the operations of the library over HTTP, for teams.

`app.py` puts the routes into a Starlette application. Every request passes the pipeline
(`server/pipeline.py`: host, size, key, rate, repeats), then comes to the function that was declared for its
path (`server/route.py` says how), which works on the store of the key's project. The file of a path has its
name: what is under `/v1/sessions/{id}/hold` is `routes/holds.py`. What a route answers is what the command of
the same name prints with ``--json``, and it is sent after the commit, never before.
"""
