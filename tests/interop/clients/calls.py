"""What the programs share that call everything of a client: a line for each call.

``call``, its name, ``works`` or ``refused``, and the result as text, parted by tabs.
"""

import enum
import sys
import time
from concurrent.futures import Future

LIMIT_S = 20


class Calls:
    """Calls in order; ``settled`` waits until a broker shows what was changed before."""

    def __init__(self, client, settled):
        self._client = client
        self._settled = settled
        self._called = set()
        self._refused = False

    def __getattr__(self, name):
        """Return a method of the client, and note that it is called."""
        self._called.add(name)
        return getattr(self._client, name)

    def change(self, name, call):
        """Make a call that may change something."""
        self.ask(name, call)
        self._settled()

    def ask(self, name, call):
        """Make a call and tell its result."""
        self._refused = False
        try:
            text = self._shown(call())
        except Exception as error:
            text = self._failure(error)
        for raw, escaped in (("\\", "\\\\"), ("\n", "\\n"), ("\t", "\\t")):
            text = text.replace(raw, escaped)
        tell("call", name, "refused" if self._refused else "works", text)

    def tell_missing(self):
        """Name the methods that were not called."""
        public = {
            name
            for name in dir(self._client)
            if not name.startswith("_") and callable(getattr(self._client, name))
        }
        tell("missing", " ".join(sorted(public - self._called)))

    def _failure(self, error):
        self._refused = True
        return f"!{type(error).__name__}: {error}"

    def _shown(self, value):
        text = repr(value)
        if isinstance(value, Future):
            try:
                text = self._shown(value.result(LIMIT_S))
            except Exception as error:
                text = self._failure(error)
        elif isinstance(value, enum.Enum):
            text = value.name
        elif isinstance(value, dict):
            rows = sorted((self._shown(key), self._shown(part)) for key, part in value.items())
            text = "{" + ", ".join(f"{key}: {part}" for key, part in rows) + "}"
        elif isinstance(value, (list, tuple, set, frozenset)):
            text = "[" + ", ".join(sorted(map(self._shown, value))) + "]"
        elif isinstance(value, BaseException):
            text = self._failure(value)
        elif hasattr(value, "__dict__") and not callable(value):
            text = type(value).__name__ + self._shown(vars(value))
        return text


def tell(*parts):
    """Write a line; its parts are parted by tabs."""
    sys.stdout.write("\t".join(parts) + "\n")
    sys.stdout.flush()


def until(reached):
    """Wait until something is so, as a broker shows it a little later."""
    deadline = time.monotonic() + LIMIT_S
    while not reached():
        if time.monotonic() > deadline:
            raise TimeoutError("the server does not show what it acknowledged")
        time.sleep(0.002)
