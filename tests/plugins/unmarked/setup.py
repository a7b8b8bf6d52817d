from setuptools import Extension, setup

setup(ext_modules=[Extension("unmarked_rules", ["unmarked_rules.pyx"])])
