"""No vendor's SDK is loaded before its provider is named, nor by reading its options."""

import subprocess
import sys

import pytest

SDKS = ("anthropic", "openai", "pydantic_ai", "pydantic", "httpx2", "tenacity")


@pytest.mark.parametrize("kind", ["anthropic", "openai", "pydantic_ai"])
def test_the_module_of_a_kind_loads_no_sdk(kind: str) -> None:
    look = (
        f"import sys, engine_intelligence.host.kinds, engine_intelligence.providers.{kind} as kind; kind.Options; "
        f"print([name for name in {SDKS} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
