from setuptools import Extension, setup

diag = Extension("stale_rules", ["stale_rules.pyx"])
diag.cython_include_dirs = ["headers"]
setup(ext_modules=[diag])
