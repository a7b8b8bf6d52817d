from setuptools import Extension, setup

setup(ext_modules=[Extension("fresh_rules", ["fresh_rules.pyx"])])
