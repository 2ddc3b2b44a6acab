"""What keeps the newest decisions up to date while the audit trail is being written."""
