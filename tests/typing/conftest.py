"""The files that mypy reads are run by test_types.py, not collected."""

collect_ignore = ["typed_plugin.py", "user_script.py", "wrong_code.py"]
