"""Disks that are full or read-only, and users for whom the modes of files hold. Each in a fork, which takes them along."""

import ctypes
import os
import resource
import struct
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.forks import in_fork

# From <linux/capability.h>, <linux/sched.h> and <linux/mount.h>.
_CAPABILITY_VERSION = 0x20080522
_NEW_USER, _NEW_MOUNTS = 0x10000000, 0x00020000
_READ_ONLY, _REMOUNT = 0x1, 0x20

_NOT_PERMITTED = "not permitted"

Work = Callable[[], object]


def as_a_user(work: Work) -> object:
    """What `work` returns in a fork for which the modes of files hold, as they do not for root."""

    def powerless() -> object:
        if os.geteuid() == 0:
            header = struct.pack("Ii", _CAPABILITY_VERSION, 0)
            assert ctypes.CDLL(None).capset(header, bytes(24)) == 0
        return work()

    if os.geteuid() == 0 and sys.platform != "linux":
        pytest.skip("the user who runs the tests may write to all files")
    return in_fork(powerless)


class Disk:
    """A file system of its own, in memory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def make_read_only(self) -> None:
        _mount(self.folder, _REMOUNT | _READ_ONLY, "")

    def fill(self) -> Path:
        """Fill it to the last byte; returns the file that takes the room."""
        path = self.folder / "filler"
        with path.open("wb", buffering=0) as file:
            for size in (1 << 16, 1):
                try:
                    while file.write(bytes(size)):
                        pass
                except OSError:
                    pass
        return path


def on_a_disk(folder: Path, work: Callable[[Disk], object]) -> object:
    """What `work` returns in a fork that has a disk of 1 MB at `folder`. Skips the test where the system does not permit it."""
    if sys.platform != "linux":
        pytest.skip("mounts a file system in a namespace of Linux")

    def mounted() -> object:
        try:
            _leave_for_own_mounts()
        except OSError:
            return _NOT_PERMITTED
        if not _mount(folder, 0, "size=1m,mode=700"):
            return _NOT_PERMITTED
        return work(Disk(folder))

    told = in_fork(mounted)
    if told == _NOT_PERMITTED:
        pytest.skip("the system does not let a process mount a file system for itself")
    return told


def _leave_for_own_mounts() -> None:
    """Have mounts that nobody else sees: as root of a namespace, which everybody may make where the system permits it."""
    user, group = os.geteuid(), os.getegid()
    if ctypes.CDLL(None).unshare(_NEW_USER | _NEW_MOUNTS) != 0:
        raise PermissionError
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
        Path("/proc/self", name).write_text(text)


def _mount(folder: Path, flags: int, options: str) -> bool:
    mount = ctypes.CDLL(None).mount
    kind = b"tmpfs"
    return bool(mount(kind, os.fsencode(folder), kind, ctypes.c_ulong(flags), options.encode()) == 0)


@contextmanager
def no_file_grows_beyond(size_bytes: int) -> Generator[None]:
    """The system refuses what a file is to have beyond that size. For a fork."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
