"""The pages, in the order of the menu.

who_can    who may use a resource, from where, by which ACL
what_can   everything that a principal may do
why        why a request was denied, from a pasted line
task       may it do a task: always, sometimes, never
what_if    the decisions that change when ACLs are added and removed
review     a proposed file, as a pull request would show it
history    who could on a day, and who changed it since
matrix     who reaches what, as a picture
grants     unused and too wide grants, with their evidence
change     the plan that makes an address as wanted, and its confirmation
drift      which addresses differ from the wanted set
whoami     the principal of a certificate, a token or a name
broker     the configuration of a broker, checked
learn      the least ACLs of an application from its log
"""

from __future__ import annotations

from doorkeeper.console.pages import (
    broker,
    change,
    drift,
    grants,
    history,
    learn,
    matrix,
    review,
    task,
    what_can,
    what_if,
    who_can,
    whoami,
    why,
)

PAGES = (
    who_can.PAGE,
    what_can.PAGE,
    matrix.PAGE,
    why.PAGE,
    task.PAGE,
    what_if.PAGE,
    review.PAGE,
    history.PAGE,
    drift.PAGE,
    change.PAGE,
    grants.PAGE,
    whoami.PAGE,
    broker.PAGE,
    learn.PAGE,
)
