"""What operators read: the audit log, log lines, the HTTP port.

audit  decisions, changes and logins as lines in files
logs   events of the server, and the authorizer's log, on stdout
http   liveness, readiness, metrics, history
"""
