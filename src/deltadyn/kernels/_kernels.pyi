from typing import Any

DIGEST: str

def run(number: int, friction: bool, par: Any, /, *arrays: Any) -> int: ...
