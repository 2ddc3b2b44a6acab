"""Who may use the console, and as what.

    exposure  where it is served; an address that others reach needs TLS and a login
    sessions  people who have logged in, and the requests that need it (``Door``)
    users     names and passwords of files
    oidc      OpenID Connect: authorization code with PKCE
    routes    the pages of the login

On the loopback interface without a login everybody who reaches it is the operator.
"""
