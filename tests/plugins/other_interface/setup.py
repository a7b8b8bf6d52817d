from setuptools import Extension, setup

extension = Extension("stale_rules", ["stale_rules.pyx"])
extension.cython_include_dirs = ["headers"]
setup(ext_modules=[extension])
