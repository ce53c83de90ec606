"""The stub of the compiled module names what the module has."""

import ast
import pathlib

from penstock import _native


def test_stub_names_what_the_module_has():
    stub = pathlib.Path(_native.__file__).with_name("_native.pyi")
    typed = {node.name for node in ast.parse(stub.read_text()).body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    assert typed == {name for name in dir(_native) if not name.startswith("__")}
