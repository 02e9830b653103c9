"""A repository whose own configuration tries to run programs in every way that git has."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

HOOKS = (
    "applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg "
    "post-commit pre-rebase post-checkout post-merge pre-push pre-receive update proc-receive post-receive "
    "post-update reference-transaction push-to-checkout pre-auto-gc post-rewrite sendemail-validate "
    "fsmonitor-watchman post-index-change"
).split()


class HostileRepository:
    """A working tree with changes in it; whatever program of its own git runs leaves a canary."""

    def __init__(self, folder: Path, canaries: Path) -> None:
        self.folder, self.canaries = folder, canaries
        folder.mkdir(parents=True, exist_ok=True)
        canaries.mkdir(parents=True)
        self.programs = canaries.parent / f"{canaries.name}-programs"
        self.programs.mkdir()
        self._git("init", "-q", "-b", "main")
        self._write_files()
        self._git("add", "-A")
        self._git("commit", "-qm", "first")
        self._add_submodule()
        self._git("commit", "-qm", "second")
        self._arm(folder / ".git", "")
        self._arm(folder / ".git" / "modules" / "sub", "sub-")
        self._arm_embedded()
        self._change_files()

    def found(self) -> set[str]:
        """The names of the programs that were run since the last call."""
        names = {path.name for path in self.canaries.iterdir()}
        for path in self.canaries.iterdir():
            path.unlink()
        return names

    def touch(self) -> None:
        """Make git look at the content of every file again."""
        for path in self.folder.rglob("*"):
            if path.is_file() and ".git" not in path.parts:
                os.utime(path)

    def _git(self, *words: str, folder: Path | None = None) -> None:
        settings = ["-c", "user.name=M", "-c", "user.email=m@example.org", "-c", "protocol.file.allow=always"]
        command = ["git", "-C", str(folder or self.folder), *settings, *words]
        subprocess.run(command, check=True, capture_output=True)

    def _write_files(self) -> None:
        for number in range(6):
            (self.folder / f"file{number}.py").write_text(f"x = {number}\n")
        (self.folder / "data.bin").write_text("pointer\n")
        (self.folder / "deep").mkdir()
        (self.folder / "deep" / "inner.py").write_text("y = 1\n")

    def _add_submodule(self) -> None:
        other = self.programs / "other"
        other.mkdir()
        self._git("init", "-q", "-b", "main", folder=other)
        (other / "s.py").write_text("s = 1\n")
        (other / "touched.py").write_text("t = 1\n")
        self._git("add", "-A", folder=other)
        self._git("commit", "-qm", "sub", folder=other)
        self._git("submodule", "--quiet", "add", str(other), "sub")

    def program(self, name: str) -> str:
        """A program that leaves a canary of this name."""
        path = self.programs / name
        path.write_text(f"#!/bin/sh\necho \"$0 $*\" >> '{self.canaries}/{name}'\ncat 2>/dev/null\nexit 0\n")
        path.chmod(0o755)
        return str(path)

    def _arm(self, gitdir: Path, prefix: str) -> None:
        def trap(name: str) -> str:
            return self.program(prefix + name)

        hooks = gitdir / "hooks"
        hooks.mkdir(exist_ok=True)
        elsewhere = self.programs / f"{prefix}hooks"
        elsewhere.mkdir()
        for hook in HOOKS:
            for folder, kind in ((hooks, "hook"), (elsewhere, "hooks-path")):
                path = folder / hook
                path.write_text(f"#!/bin/sh\ntouch '{self.canaries}/{prefix}{kind}-{hook}'\n")
                path.chmod(0o755)
        included = self.programs / f"{prefix}included"
        included.write_text(f'[filter "hidden"]\n\tclean = {trap("hidden-clean")}\n\trequired = true\n')
        settings = f"""
[core]
	fsmonitor = {trap("fsmonitor")}
	hooksPath = {elsewhere}
	pager = {trap("pager")}
	editor = {trap("editor")}
	sshCommand = {trap("ssh")}
	askPass = {trap("askpass")}
	gitProxy = {trap("gitproxy")}
	alternateRefsCommand = {trap("alternates")}
[sequence]
	editor = {trap("sequence")}
[filter "evil"]
	clean = {trap("clean")}
	smudge = {trap("smudge")}
	required = true
[FILTER "Process.Two"]
	process = {trap("process")}
	clean = {trap("process-clean")}
[filter "lfs"]
	clean = {trap("lfs-clean")}
	process = {trap("lfs-process")}
[include]
	path = {included}
[diff]
	external = {trap("external")}
[diff "evil"]
	command = {trap("diff-command")}
	textconv = {trap("textconv")}
[merge "evil"]
	driver = {trap("merge")}
[log]
	showSignature = true
[gpg]
	program = {trap("gpg")}
[gpg "ssh"]
	program = {trap("gpg-ssh")}
	defaultKeyCommand = {trap("gpg-key")}
[credential]
	helper = {trap("credential")}
[alias]
	status = !{trap("alias")}
	log = !{trap("alias")}
[pager]
	status = {trap("pager-status")}
	log = {trap("pager-log")}
	diff = {trap("pager-diff")}
[interactive]
	diffFilter = {trap("diff-filter")}
[protocol "ext"]
	allow = always
[remote "origin"]
	url = ext::{trap("ext")} %S
	promisor = true
	uploadpack = {trap("uploadpack")}
	receivepack = {trap("receivepack")}
[lfs "extension.evil"]
	clean = {trap("lfs-extension")}
[status]
	submoduleSummary = true
[submodule]
	recurse = true
"""
        with open(gitdir / "config", "a") as config:
            config.write(settings)
        info = gitdir / "info"
        info.mkdir(exist_ok=True)
        (info / "attributes").write_text(
            "*.py filter=evil diff=evil merge=evil\nfile2.py filter=hidden\nfile3.py filter=Process.Two\n"
            "*.bin filter=lfs\n"
        )

    def _arm_embedded(self) -> None:
        """A repository inside this one that no `.gitmodules` names, though the index links to it."""
        inner = self.folder / "embedded"
        inner.mkdir()
        self._git("init", "-q", "-b", "main", folder=inner)
        (inner / "e.py").write_text("e = 1\n")
        (inner / "touched.py").write_text("t = 1\n")
        self._git("add", "-A", folder=inner)
        self._git("commit", "-qm", "embedded", folder=inner)
        head = subprocess.run(
            ["git", "-C", str(inner), "rev-parse", "HEAD"], check=True, capture_output=True, text=True
        ).stdout.strip()
        plain = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"]
        link = ["update-index", "--add", "--cacheinfo", f"160000,{head},embedded"]
        self._git(*plain, *link)
        self._arm(inner / ".git", "embedded-")

    def _change_files(self) -> None:
        (self.folder / "file0.py").write_text("x = 100\n")
        (self.folder / "new.py").write_text("n = 1\n")
        (self.folder / "sub" / "s.py").write_text("s = 200\n")
        (self.folder / "embedded" / "e.py").write_text("e = 200\n")
        self.touch()
        self.found()
