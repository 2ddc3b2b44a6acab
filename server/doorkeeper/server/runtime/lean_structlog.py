"""structlog without rich and greenlet; all modules import it from here.

structlog imports them where they are installed, for tracebacks in colours and for other event
loops. The server uses neither, and rich would be a fifth of its start.
"""

from __future__ import annotations

import sys

_hidden = [name for name in ("rich", "greenlet") if name not in sys.modules]
for _name in _hidden:
    sys.modules[_name] = None  # type: ignore[assignment]
import structlog  # noqa: E402, TID253
import structlog.dev  # noqa: E402, TID253

for _name in _hidden:
    del sys.modules[_name]

__all__ = ["structlog"]
