from setuptools import Extension, setup

setup(ext_modules=[Extension("careless_rules", ["careless_rules.pyx"])])
