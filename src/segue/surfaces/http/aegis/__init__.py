"""The API of Aegis Memory 2.7.0 on Segue: its SDK works unmodified.

Requests and responses have the shape of the original, and mean the same with these exceptions: completed
items keep their order whoever writes; a repeated create gives the same response; an unknown status is
refused; a feature passes only if it is proven or somebody attests it by name. Ids belong to a project. A
request that does not fit a route is 422 here. Files are named after paths, as in `../routes`.
"""
