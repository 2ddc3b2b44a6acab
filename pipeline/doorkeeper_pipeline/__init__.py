"""From the record of decisions to access intelligence: unused grants, least privilege, more."""
