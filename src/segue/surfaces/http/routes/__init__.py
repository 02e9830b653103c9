"""Our own routes, in a file by what is under a path: `/v1/sessions/{id}/hold/renew` is in `holds.py`.

A module only translates: it says what comes in, calls the library, and says what goes out. Whatever a module
here declares is served. What every request passes is in `../server`.
"""
