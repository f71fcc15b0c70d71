"""POSIX default ACLs, written in the kernel's own form so that no program is needed.

A default ACL gives new files of a shared folder its mode instead of the umask, so that members share while everybody's
umask stays 022 (ssh refuses configuration that others can write).
"""

import errno
import os
import struct

from bancada_hub.errors import HostError, told

ATTRIBUTE = "system.posix_acl_default"
_VERSION = struct.pack("<I", 2)
_NO_ID = 0xFFFFFFFF
_OWNER, _GROUP, _OTHERS = 0x01, 0x04, 0x20


def default_acl(owner: int, group: int, others: int) -> bytes:
    """Return a default ACL without named entries, as posix_acl_xattr of linux/posix_acl_xattr.h.

    Args:
        owner: Permission bits of the owner, 0 to 7.
        group: Those of the owning group.
        others: Those of everybody else.
    """
    entries = ((_OWNER, owner), (_GROUP, group), (_OTHERS, others))
    return _VERSION + b"".join(struct.pack("<HHI", tag, bits, _NO_ID) for tag, bits in entries)


def share_with_group(directory: int, path: str) -> None:
    """Make new files in a directory writable for its group and closed to everybody else.

    Args:
        directory: The directory's descriptor.
        path: Its path, for messages.

    Raises:
        HostError: The file system has no ACLs.
    """
    wanted = default_acl(7, 7, 0)
    try:
        if os.getxattr(directory, ATTRIBUTE) == wanted:
            return
    except OSError as error:
        if error.errno not in {errno.ENODATA, errno.ENOTSUP}:
            raise
    try:
        os.setxattr(directory, ATTRIBUTE, wanted)
    except OSError as error:
        if error.errno != errno.ENOTSUP:
            raise
        msg = told("The file system of %(path)s has no access control lists, which shared folders need.", path=path)
        fix = told("Mount it with the option acl, or move the data directory to one that has them.")
        raise HostError(msg, fix=fix) from None
