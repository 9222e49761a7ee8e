"""The client's types are those of the API: what the script writes is what stands in the client."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[3] / "scripts/client_types.py"


def script() -> ModuleType:
    spec = spec_from_file_location("client_types", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["answers.py", "bodies.py"])
def test_the_clients_types_are_written_from_the_models_of_the_api(name: str) -> None:
    [(path, write)] = [one for one in script().FILES.items() if one[0].name == name]
    assert path.read_text() == write(), "run `make client-types`"
