"""Makes source from the schemas. A development tool: `python -m doorkeeper_schemas`.

From the schema files to the source that is checked in:

    schemas/messages/*.yaml  --structs-->  readers, writers (by blocks)
        --modules-->         doorkeeper_wire/messages/<api>.py  a class for each struct
    schemas/apis.yaml        --apis-->        doorkeeper_wire/api_keys.py
    schemas/apis.yaml        --operations-->  server/api/operations.py
    schemas/state/*.yaml     --states-->      server/schema/declared.py
    schemas/records/audit_event.json  --records, events-->  server/operations/audit/events.py
"""
