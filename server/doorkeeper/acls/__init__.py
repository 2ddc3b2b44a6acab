"""The ACL domain: values, matching, validation and the index that decides. No IO, no wire."""
