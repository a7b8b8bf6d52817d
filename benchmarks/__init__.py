"""Benchmarks for asv, which follows them from commit to commit.

asv run --config benchmarks/asv.conf.json
"""
