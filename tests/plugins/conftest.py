"""These are packages for tests of tests/contract to install; there is nothing to collect."""

collect_ignore_glob = ["*"]
