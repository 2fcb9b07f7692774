"""The confinement of a process's files by Landlock, a feature of Linux that needs no privilege."""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Iterable

# Of linux/landlock.h and the table of system calls, which is the same for all architectures here.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG, _PATH_BENEATH = 1, 1
_SET_NO_NEW_PRIVILEGES = 38  # of prctl(2)
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_RIGHTS_BY_VERSION = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1}
_TRUNCATE = 1 << 14
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE


class _Ruleset(ctypes.Structure):
    _fields_ = (("handled", ctypes.c_uint64),)


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def confine(readable: Iterable[str], writable: Iterable[str]) -> bool:
    """Keep this process and its children from all files outside some folders.

    Args:
        readable: paths below which files can be read.
        writable: paths below which files can be changed, too.

    Returns:
        Whether the system has Landlock; without it, nothing is confined.
    """
    library = ctypes.CDLL(None, use_errno=True)
    version = library.syscall(_CREATE_RULESET, None, 0, _VERSION_FLAG)
    if version < 1:
        return False
    handled = _RIGHTS_BY_VERSION[min(version, max(_RIGHTS_BY_VERSION))]
    ruleset = _Ruleset(handled)
    descriptor = library.syscall(_CREATE_RULESET, ctypes.byref(ruleset), ctypes.sizeof(ruleset), 0)
    if descriptor < 0:
        return False
    for paths, rights in ((readable, _READ), (writable, handled)):
        for path in paths:
            _allow(library, descriptor, path, rights & handled)
    library.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    confined: bool = library.syscall(_RESTRICT_SELF, descriptor, 0) == 0
    os.close(descriptor)
    return confined


def _allow(library: ctypes.CDLL, ruleset: int, path: str, rights: int) -> None:
    """Allow rights below a path; a path that does not exist is skipped."""
    try:
        folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(folder).st_mode):
            rights &= _OF_FILES
        rule = _PathBeneath(rights, folder)
        library.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(folder)
