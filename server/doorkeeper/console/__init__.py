"""The console: questions about ACLs in a browser (``doorkeeper console``).

It decides nothing. A page makes the words of a command (``acls who-can ... --output json``), runs
that command in this process, and shows its JSON as a page. The command line that a page shows is
the one that was run, ``.json`` is its output, and ``.md`` its text in Markdown.

    GET  /                    the sets of ACLs, and a list of the pages
    GET  /NAME?set=ADDRESS&.. a page: form, and the answer if the question is complete
    GET  /NAME.json?..        what the command prints with --output json (&part=1: the second one)
    GET  /NAME.md?..          the command lines with what they print as text
    POST /NAME                a form with a long or secret text; redirects to its GET
    POST /read-again          reads a set anew
    POST /change, /accept     with --allow-changes: applies the plan of /change, accepts a finding
    /login, /logout, /login/provider, /login/callback, /static/FILE

request -> guard (Host, Origin, headers) -> login.sessions (who it is) -> app (routes)
        -> page.commands(asked) -> runs.run -> page.show(asked, answers) -> templates/NAME.html

``serving`` starts the HTTP server of ``app`` (routes, errors). ``sets`` reads the ACLs of the
addresses in the background, and again when they change. ``texts`` gives long texts of forms (logs,
certificates) to commands as files. ``changes`` has who may change something; ``advice`` the
pipeline's tables about grants; ``rendering`` names of strangers as text; ``pictures`` SVG.

To add a page: a module in ``pages`` that ends with ``PAGE = Page(...)``, its name in
``pages.PAGES``, and ``templates/NAME.html``, which extends ``layout.html`` and fills the blocks
``fields`` (of the form) and ``answer``. ``commands`` returns the words of each command, none while
the question is incomplete; ``show`` returns what the template needs besides ``answers``. Macros in
``macros.html``: fields, name, binding, verdict, table, pager. Addresses are those of the command
line only: ``asked.set_words()`` has them, with the options of the policy. Text that a request
brings becomes a file by ``asked.file(name)`` and an option as ``--option=value``.

A module of ``pages`` imports ``doorkeeper.console`` and ``doorkeeper.acls``, and nothing of
``doorkeeper.cli``. What a page lacks in the JSON of a command is added to the command.
"""
