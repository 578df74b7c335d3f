"""Jobs: progress, one end, cancel at once."""

import threading

from tests.waits import PATIENCE

from deltadyn.studio.log import CancelledError, Job, Tell


class Listener:
    def __init__(self) -> None:
        self.steps: list[tuple[float, str]] = []
        self.results: list[object] = []
        self.errors: list[BaseException] = []

    def job(self, work: object) -> Job:
        return Job(
            work,  # type: ignore[arg-type]
            tell=lambda share, text: self.steps.append((share, text)),
            done=self.results.append,
            failed=self.errors.append,
        )


def test_work_tells_its_steps_and_ends_once() -> None:
    heard = Listener()

    def work(tell: Tell) -> int:
        tell(0.5, "half")
        return 7

    job = heard.job(work)
    job.start()
    job.join(PATIENCE)
    assert heard.steps == [(0.5, "half")]
    assert heard.results == [7]
    assert heard.errors == []
    job.cancel()  # too late: nobody hears of it
    assert heard.errors == []
    assert not job.running


def test_an_error_is_reported() -> None:
    heard = Listener()

    def work(tell: Tell) -> None:
        raise ValueError("bad")

    job = heard.job(work)
    job.start()
    job.join(PATIENCE)
    assert [str(error) for error in heard.errors] == ["bad"]


def test_cancel_lets_go_at_once_and_drops_the_result() -> None:
    heard, go, seen = Listener(), threading.Event(), threading.Event()
    after: list[str] = []

    def work(tell: Tell) -> int:
        tell(0.1, "begin")
        seen.set()
        go.wait(PATIENCE)
        tell(0.9, "end")
        after.append("went on")
        return 1

    job = heard.job(work)
    job.start()
    assert seen.wait(PATIENCE)
    states = [job.running]
    job.cancel()
    states.append(job.running)
    assert states == [True, False]
    assert isinstance(heard.errors[0], CancelledError)
    go.set()
    job.join(PATIENCE)
    assert after == []  # the thread ended at its next step
    assert heard.results == []
    assert len(heard.errors) == 1
