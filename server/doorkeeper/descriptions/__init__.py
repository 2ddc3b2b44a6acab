"""DescribeAcls responses of many ACLs, built from rows that are kept encoded."""
