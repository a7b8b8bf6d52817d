from setuptools import Extension, setup

names = ["careless_rules", "unmarked_rules"]
setup(ext_modules=[Extension(name, [f"{name}.pyx"]) for name in names])
