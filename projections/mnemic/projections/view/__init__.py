"""Views: all queries on a space, evaluated at one point of its log."""

from __future__ import annotations

from mnemic.projections.view.point import Point, Products
from mnemic.projections.view.snapshot import Snapshot, publish
from mnemic.projections.view.view import View, as_of, live, published_version

__all__ = ["Point", "Products", "Snapshot", "View", "as_of", "live", "publish", "published_version"]
