"""The pages, in the order of the menu."""

from __future__ import annotations

from doorkeeper.console.pages import what_can, who_can, why

PAGES = (who_can.PAGE, why.PAGE, what_can.PAGE)
