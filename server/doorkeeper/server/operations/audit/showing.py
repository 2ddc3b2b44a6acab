"""Formatting of an event as a line of text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Paint = Callable[[str, str], str]

_GOOD: Final = {"ALLOWED", "SUCCEEDED"}


def format_event(event: Mapping[str, Any], paint: Paint) -> str:
    """Return an event's line; ``paint`` adds a colour to a text.

    Names from clients are not escaped here; the caller must do that before printing.
    """
    how = _FORMATS.get(str(event.get("kind")), _other)
    return f"{paint(str(event.get('time', '')), 'bright_black')} {how(event, paint)}"


def _decision(event: Mapping[str, Any], paint: Paint) -> str:
    what = f"{event['operation']} {event['resource_type']}:{event['resource_name']}"
    rule = event["rule"] or "a plug-in"
    if event["binding"] is not None:
        rule += f" {_acl(event['binding'])}"
    probe = " (probe)" if event["purpose"] == "probe" else ""
    head = f"{_outcome(event, paint)} {_who(event)}"
    return f"{head} {what} by {rule}{probe}{_request(event)}{_times(event)}"


def _login(event: Mapping[str, Any], paint: Paint) -> str:
    how = event["mechanism"] or "no mechanism"
    again = " again" if event["reauthentication"] else ""
    reason = f": {event['reason']}" if event["reason"] else ""
    return f"{_outcome(event, paint)} login{again} {_who(event)} by {how}{reason}{_times(event)}"


def _change(event: Mapping[str, Any], paint: Paint) -> str:
    parts = [
        *(f"+ {_acl(acl)}" for acl in event["added"]),
        *(f"- {_acl(acl)}" for acl in event["removed"]),
        *(
            f"{item['action']} {item['name']}" + (f" ({item['detail']})" if item["detail"] else "")
            for item in event["items"]
        ),
    ]
    revision = "" if event["revision"] is None else f" revision {event['revision']}"
    head = paint(f"CHANGED {event['subject']}", "yellow")
    return f"{head} {_who(event)}{revision}: {'; '.join(parts)}{_request(event)}"


def _loss(event: Mapping[str, Any], paint: Paint) -> str:
    text = f"DROPPED {event['count']} ({event['changes']} changes): {event['reason']}"
    return paint(text, "red")


def _other(event: Mapping[str, Any], paint: Paint) -> str:
    left = {"kind", "seq", "node", "ts_ns", "time"}
    fields = " ".join(f"{name}={value}" for name, value in event.items() if name not in left)
    return f"{paint(str(event.get('kind', '?')).upper(), 'cyan')} {fields}".rstrip()


_FORMATS: Final = {
    "decision": _decision,
    "login": _login,
    "change": _change,
    "dropped": _loss,
}


def _outcome(event: Mapping[str, Any], paint: Paint) -> str:
    outcome = str(event["outcome"])
    return paint(f"{outcome:<9}", "green" if outcome in _GOOD else "red")


def _who(event: Mapping[str, Any]) -> str:
    return f"{event['principal'] or 'somebody'} from {event['host'] or 'this machine'}"


def _request(event: Mapping[str, Any]) -> str:
    if event.get("api") is None:
        return ""
    return f" [{event['api']} {event['correlation_id']} of {event['client_id']}]"


def _times(event: Mapping[str, Any]) -> str:
    return "" if event["count"] == 1 else f" x{event['count']}"


def _acl(acl: Mapping[str, Any]) -> str:
    prefixed = "*" if acl["pattern_type"] == "PREFIXED" else ""
    return (
        f"{acl['permission']} {acl['operation']} {acl['resource_type']}:{acl['resource_name']}"
        f"{prefixed} for {acl['principal']} from {acl['host']}"
    )
