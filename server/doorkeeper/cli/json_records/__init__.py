"""The JSON that commands print with ``--output json``: one object, described by a type.

questions  ACLs, explain, who-can, what-can, lint, assert, whoami
sets       diff, plan, apply, import, undo, add, remove, learn
stores     stores, their history and clusters, audit logs, users, configurations, examples

``vocabulary.json_output`` has the option, and makes the schema. A builder of such an object returns
its type, so that mypy compares both. The reference of JSON output, ``tools/pages/json_output.py``,
is made from the types.
"""
