"""The API of Aegis Memory 2.7.0, on Segue: its unmodified SDK works, and nothing is lost.

The shapes are theirs, and so are the meanings, where they are sane. Where they are not: what is completed is
kept in order whoever writes; a create that comes twice gives the same response; a status is one that there
is; that a feature passes is somebody's word with a name, or proven. Ids are a project's own. What does not
fit a route is 422 here. The file of a path has the name of what is in it, as in `../routes`.
"""
