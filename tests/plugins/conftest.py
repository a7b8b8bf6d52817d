"""The folders are packages for the tests here to install; there is nothing to collect in them."""

collect_ignore_glob = ["*/*"]
