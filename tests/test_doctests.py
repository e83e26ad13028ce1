"""Examples in docstrings are true."""

import doctest
import importlib
import pkgutil

import pytest

import warpdraft.core

MODULES = sorted(m.name for m in pkgutil.walk_packages(warpdraft.core.__path__, "warpdraft.core."))


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0
