"""UTF-8 decoding like Java's: malformed sequences become U+FFFD.

Python's own replacement agrees with Java's but for encoded surrogates (ED A0 80 to ED BF BF). Java
reads the three bytes of one as one malformed sequence, Python as three. Java also takes the first
two bytes together if the third is missing or no continuation byte.

    ED A0 80          Java: one U+FFFD     Python's errors="replace": three
    ED A0 BD ED B8 80 Java: two            Python: six
    ED A0 28          Java: one and "("    Python: two and "("

Source: String.decodeUTF8 of the JDK; a running broker (a Metadata request for such names).
"""

import codecs
import re

JAVA = "doorkeeper-java"
"""The name of the registered error handler: `bytes.decode("utf-8", JAVA)`."""

# A surrogate, or the begin of one. ED is no continuation byte, so that it begins a sequence.
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")


def replace_as_java(error: UnicodeError) -> tuple[str, int]:
    """Decode all from the malformed sequence on; return it and the offset to continue from.

    At once, as a call for each sequence took a second for half a megabyte of them.

    Raises:
        UnicodeError: the error itself, if it is not one of decoding.
    """
    if not isinstance(error, UnicodeDecodeError):
        raise error
    data = _SURROGATE.sub(b"\xff", error.object[error.start :])
    return data.decode("utf-8", "replace"), len(error.object)


codecs.register_error(JAVA, replace_as_java)


def decode_text(data: bytes) -> str:
    """Decode bytes like Java; never fails."""
    return data.decode("utf-8", JAVA)
