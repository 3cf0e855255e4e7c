import copy
import pickle

import pytest

from engine_intelligence import Err, Ok, Result


def told_apart(result: Result[int, str]) -> str:
    match result:
        case Ok(value):
            return f"value {value}"
        case Err(error):
            return f"error {error}"


@pytest.mark.spec("D4")
def test_an_ok_tells_that_it_is_one() -> None:
    assert Ok(1).ok is True


@pytest.mark.spec("D4")
def test_an_err_tells_that_it_is_one() -> None:
    assert Err("no").ok is False


@pytest.mark.spec("D4")
@pytest.mark.parametrize(
    ("result", "expected"), [(Ok(1), "value 1"), (Err("no"), "error no")], ids=["ok", "err"]
)
def test_a_result_is_told_apart_in_match(result: Result[int, str], expected: str) -> None:
    assert told_apart(result) == expected


@pytest.mark.spec("D4")
@pytest.mark.parametrize("result", [Ok(None), Ok(0), Err("no"), Err(None)], ids=repr)
def test_asking_whether_a_result_is_true_is_an_error(result: Result[object, object]) -> None:
    with pytest.raises(TypeError, match=r"\.ok"):
        bool(result)


@pytest.mark.spec("D5")
@pytest.mark.parametrize("result", [Ok(("a", 1)), Err("no")], ids=repr)
def test_a_result_pickles_copies_compares_and_hashes(result: Result[object, object]) -> None:
    for other in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result)):
        assert other == result
        assert hash(other) == hash(result)
        assert other.ok is result.ok


@pytest.mark.spec("D5")
def test_an_ok_and_an_err_of_the_same_value_differ() -> None:
    results: list[Result[str, str]] = [Ok("x"), Err("x")]
    assert results[0] != results[1]
