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

JAVA = "doorkeeper-java"
"""The name of the registered error handler: `bytes.decode("utf-8", JAVA)`."""

_REPLACEMENT = "\ufffd"


def replace_as_java(error: UnicodeError) -> tuple[str, int]:
    """Replace one malformed sequence; return the replacement and the offset to continue from.

    Raises:
        UnicodeError: the error itself, if it is not one of decoding.
    """
    if not isinstance(error, UnicodeDecodeError):
        raise error
    data, start = error.object, error.start
    lead_and_next = data[start : start + 2]
    if len(lead_and_next) < 2 or lead_and_next[0] != 0xED or not 0xA0 <= lead_and_next[1] <= 0xBF:
        return _REPLACEMENT, error.end
    third = data[start + 2 : start + 3]
    return _REPLACEMENT, start + (3 if third and 0x80 <= third[0] <= 0xBF else 2)


codecs.register_error(JAVA, replace_as_java)


def decode_text(data: bytes) -> str:
    """Decode bytes like Java; never fails."""
    return data.decode("utf-8", JAVA)
