"""Webordinary: write an e-mail, and a generic worker changes your site.

A lane is one project and user. Jobs wait in lanes; a small pool of workers claims lanes, serves each
in order, and lets go. The folders tell the story: docs/architecture.md is the map.
"""

__version__ = "0.1.0"
