"""Which files an import means, by the paths of the files that there are.

No build file is read. A relative import is followed from the file; any other one is looked up by the end of
paths, and of several files the nearest one counts: the one that shares most folders with the importer.
"""

from __future__ import annotations

from .symbols import FileSymbols, Import

FAMILIES = {"typescript": "javascript", "tsx": "javascript", "c": "cpp"}
"""Languages that use each other's definitions under one name."""
FILES_OF_PACKAGE_MAX = 60
_STANDS_FOR_FOLDER = frozenset({"__init__", "mod", "index"})
_SCRIPT = (".ts", ".tsx", ".js", ".jsx", ".mts", ".cts", ".mjs", ".cjs", ".d.ts")
_ENDINGS = {
    "python": (".py", ".pyi", "/__init__.py"),
    "javascript": ("", *_SCRIPT, *(f"/index{one}" for one in _SCRIPT)),
    "rust": (".rs", "/mod.rs"),
    "java": (".java",),
    "cpp": ("",),
    "ruby": (".rb", ""),
}


def family_of(language: str) -> str:
    """The family of a language."""
    return FAMILIES.get(language, language)


class ImportResolver:
    """Finds the files of a project that imports mean."""

    def __init__(self, files: dict[str, FileSymbols]) -> None:
        self._files = files
        self._by_end: dict[str, list[str]] = {}
        self._folders: dict[str, list[str]] = {}
        self._namespaces: dict[str, list[str]] = {}
        for path, symbols in files.items():
            if not symbols.language:
                continue
            folder, _, name = _stem(path).rpartition("/")
            self._by_end.setdefault(name, []).append(path)
            if name in _STANDS_FOR_FOLDER:
                self._by_end.setdefault(folder.rpartition("/")[2], []).append(path)
            self._folders.setdefault(path.rpartition("/")[0], []).append(path)
            if symbols.language == "c_sharp":
                for one in symbols.definitions:
                    if one.kind == "module":
                        self._namespaces.setdefault(one.name, []).append(path)

    def folder(self, path: str) -> list[str]:
        """The parsed files in the folder of a file, with it."""
        return self._folders.get(path.rpartition("/")[0], [])

    def files_of(self, path: str, one: Import) -> list[str]:
        """The files of the project that an import of a file means; none if it is of something else."""
        family = family_of(self._files[path].language)
        module = one.module
        if family == "python":
            return self._python(path, one)
        if family == "go":
            return self._package(module, path)
        if family == "c_sharp":
            return self._namespaces.get(module, [])[:FILES_OF_PACKAGE_MAX]
        if family == "rust":
            return self._rust(path, module)
        if family == "javascript":
            return self._script(path, module)
        if family == "java":
            found = self._ending(path, module.replace(".", "/"), family)
            return found or self._ending(path, module.rpartition(".")[0].replace(".", "/"), family)
        here = self._relative(path, module, family)
        return here or self._ending(path, module.removeprefix("./"), family)

    def _python(self, path: str, one: Import) -> list[str]:
        dots = len(one.module) - len(one.module.lstrip("."))
        rest = one.module.lstrip(".").replace(".", "/")
        if dots:
            base = path.rpartition("/")[0]
            for _ in range(dots - 1):
                base = base.rpartition("/")[0]
            stem = "/".join(filter(None, (base, rest)))
            found = self._there(stem, "python") or self._there(f"{stem}/__init__" if stem else "__init__", "")
            inner = [
                self._there(f"{stem}/{name}" if stem else name, "python") for name, _ in one.names if name
            ]
        else:
            found = self._ending(path, rest, "python")
            inner = [self._ending(path, f"{rest}/{name}", "python") for name, _ in one.names if name]
        return list(dict.fromkeys([*(file for files in inner for file in files), *found]))

    def _script(self, path: str, module: str) -> list[str]:
        if module.startswith("."):
            found = self._relative(path, module, "javascript")
            stem, dot, ending = module.rpartition(".")
            if not found and dot and ending in ("js", "jsx", "mjs", "cjs"):
                found = self._relative(path, stem, "javascript")
            return found
        if module.startswith(("@/", "~/", "#/", "$lib/", "src/")):
            return self._ending(path, module.partition("/")[2], "javascript")
        if module.startswith("@"):  # a package of a workspace: its folder has the name without the scope
            name = module.partition("/")[2]
            for inner in ("src/index", "index", "src/main"):
                if name and (found := self._ending(path, f"{name}/{inner}", "javascript")):
                    return found
        return []

    def _rust(self, path: str, module: str) -> list[str]:
        parts = module.split("::")
        folder = path.rpartition("/")[0]
        own = path.rpartition("/")[2] in ("mod.rs", "lib.rs", "main.rs")
        inner = folder if own else _stem(path)
        if parts[0] == "self":
            stem = "/".join(filter(None, (inner, *parts[1:])))
            return self._there(stem, "rust") or self._there(stem.rpartition("/")[0], "rust")
        while parts and parts[0] in ("crate", "super"):
            del parts[0]
        for length in range(len(parts), 0, -1):
            if found := self._ending(path, "/".join(parts[:length]), "rust"):
                return found
        return []

    def _package(self, module: str, path: str) -> list[str]:
        """The files of the folder that a path of packages ends in."""
        parts = module.split("/")
        for first in range(len(parts)):
            wanted = "/".join(parts[first:])
            if first and first > len(parts) - 2 and len(parts) > 2 and "." in parts[0]:
                break  # one last name alone says too little of a path that begins with a host
            found = [one for one in self._folders if one == wanted or one.endswith(f"/{wanted}")]
            if found and "." in parts[0]:
                return self._folders[_nearest(found, path)][:FILES_OF_PACKAGE_MAX]
        return []

    def _relative(self, path: str, module: str, family: str) -> list[str]:
        parts = path.split("/")[:-1]
        for piece in module.split("/"):
            if piece == "..":
                if not parts:
                    return []
                parts.pop()
            elif piece not in ("", "."):
                parts.append(piece)
        return self._there("/".join(parts), family)

    def _there(self, stem: str, family: str) -> list[str]:
        for ending in _ENDINGS.get(family, (".py", ".rb", "")):
            if (name := f"{stem}{ending}") in self._files and self._files[name].language:
                return [name]
        return []

    def _ending(self, path: str, wanted: str, family: str) -> list[str]:
        """The nearest file whose path ends like this, without its ending."""
        if not wanted:
            return []
        last = (_stem(wanted) if family == "cpp" else wanted).rpartition("/")[2]
        if family == "java" and wanted.endswith("/*"):
            found = [one for one in self._folders if f"/{one}".endswith(f"/{wanted[:-2]}")]
            return self._folders[_nearest(found, path)][:FILES_OF_PACKAGE_MAX] if found else []
        found = [
            one
            for one in self._by_end.get(last, ())
            if family_of(self._files[one].language) == family
            and (f"/{one}".endswith(f"/{wanted}") if family == "cpp" else _ends(one, wanted))
        ]
        return [_nearest(found, path)] if found else []


def _ends(path: str, wanted: str) -> bool:
    stem = f"/{_stem(path)}"
    folder, _, name = stem.rpartition("/")
    return stem.endswith(f"/{wanted}") or (name in _STANDS_FOR_FOLDER and folder.endswith(f"/{wanted}"))


def _stem(path: str) -> str:
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}{name.partition('.')[0] or name}"


def _nearest(paths: list[str], to: str) -> str:
    """The path that shares most folders with another; of equals the shorter, then the first by name."""
    if len(paths) == 1:
        return paths[0]
    parts = to.split("/")

    def far(path: str) -> tuple[int, int, str]:
        shared = 0
        for one, other in zip(path.split("/"), parts, strict=False):
            if one != other:
                break
            shared += 1
        return -shared, len(path), path

    return min(paths, key=far)
