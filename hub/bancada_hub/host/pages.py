"""Whether the site's pages answer, asked from this machine."""

import ssl
from http.client import HTTPConnection, HTTPException, HTTPSConnection

from bancada_hub.site import Site


def answer(site: Site, path: str, timeout_s: float = 5.0) -> int | None:
    """Return the HTTP status that a page of the site answers with, or None when nothing answers."""
    host = "127.0.0.1" if site.bind in {"0.0.0.0", "::"} else site.bind  # noqa: S104 - only compared with
    if site.tls_certificate:
        # The certificate names the public host; this asks the machine itself whether its pages answer.
        context = ssl._create_unverified_context()  # noqa: S323, SLF001
        connection: HTTPConnection = HTTPSConnection(host, site.port, timeout=timeout_s, context=context)
    else:
        connection = HTTPConnection(host, site.port, timeout=timeout_s)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    except (OSError, HTTPException):
        return None
    finally:
        connection.close()
