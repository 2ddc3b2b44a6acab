"""DescribeAcls responses of many ACLs, built from cached encoded rows."""
