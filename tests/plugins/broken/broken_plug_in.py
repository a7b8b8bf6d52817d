"""A plug-in that cannot be imported."""

raise RuntimeError("this plug-in is broken")
