"""Authorization requests of an application, from a running server or from logs.

authorizer  allows everything, so that an application runs to its end
requests    classifies requests: reported or not, wide or narrow
recorder    records the requests of a server
reasons     the requests behind an ACL, in words
internal_names  recognises names of Kafka Streams and Connect
alternatives    prefixes that could stand for several literal ACLs
log_files   reads them from an audit log or kafka-authorizer.log
"""
