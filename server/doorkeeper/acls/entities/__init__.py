"""Topics, SCRAM users and client quotas in files beside ACLs: values, owners, plans.

model      values of files and of clusters, and the names that a file owns
plan       the changes from present values to wanted ones

As for ACLs, only what a file owns is changed or removed.
"""
