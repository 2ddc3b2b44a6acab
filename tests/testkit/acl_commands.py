"""The command of one binding: the reference for ``literals.commands_of``."""

from doorkeeper.acls.formats.commands import KAFKA_ACLS, options_of
from doorkeeper.acls.model import AclBinding, AclPermissionType
from doorkeeper_pipeline.bindings import BOOTSTRAP, word


def command_of(binding: AclBinding, *, remove: bool = False) -> str:
    """Return the kafka-acls.sh command that adds or removes a binding, or '' where none can."""
    options = options_of(binding)
    words = None if options is None else [word(option) for option in options]
    if words is None or None in words:
        return ""
    verbs = ["--remove"] if remove else ["--add"]
    if remove and binding.entry.permission_type is AclPermissionType.ALLOW:
        verbs.append("--force")
    head = [KAFKA_ACLS, "--bootstrap-server", BOOTSTRAP]
    return " ".join([*head, *verbs, *filter(None, words)])
