"""The command ``doorkeeper learn``: authorization requests of an application, and their least ACLs.

commands      the command
present       the ACLs in force, with which the result is compared
printing      ACLs with their reasons
server        the server in memory, and the command that it observes
authorizer    allows everything, so that an application runs to its end
recorder      records the requests of a server
requests      classifies requests: reported or not, wide or narrow
log_files     reads them from an audit log or kafka-authorizer.log
"""
