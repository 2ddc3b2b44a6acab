"""Is the server in this container alive? The status is 0 or 1; a line says why not.

It asks /livez of the operations port, DOORKEEPER_HEALTH_URL where that is given. Its certificate is
not looked at: who answers on this container's own loopback is this container.
"""

from __future__ import annotations

import os
import ssl
import sys
import urllib.error
import urllib.request

URL = "http://127.0.0.1:9404/livez"
PATIENCE_S = 4.0


def problem_of(url: str) -> str | None:
    """Return why a server is not alive; None where it is."""
    if not url.startswith(("http://", "https://")):
        return f"DOORKEEPER_HEALTH_URL: found {url!r}; allowed: http:// or https://"
    unverified = ssl._create_unverified_context()  # noqa: S323, SLF001  see above
    # Proxies are for others: this is the container itself.
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=unverified)
    )
    try:
        with opener.open(url, timeout=PATIENCE_S):
            return None
    except urllib.error.HTTPError as error:
        return f"{url}: status {error.code}"
    except (OSError, ValueError) as error:
        return f"{url}: {error}"


if __name__ == "__main__":
    problem = problem_of(os.environ.get("DOORKEEPER_HEALTH_URL", URL))
    if problem is not None:
        sys.exit(problem)
