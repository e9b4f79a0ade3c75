"""The explorer: a page over the HTTP interface that shows what a memory knew, and when.

``page`` holds the page, plain modules without a build step; ``vendor`` the libraries it uses. This
package reads both; the HTTP interface serves them under ``/explore/``.
"""

from __future__ import annotations

from mnemic.adapters.explorer.files import PageFile, files, security_headers

__all__ = ["PageFile", "files", "security_headers"]
