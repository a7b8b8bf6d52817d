"""These are packages for tests/contract/test_plugins.py to install; there is nothing to collect."""

collect_ignore_glob = ["*"]
