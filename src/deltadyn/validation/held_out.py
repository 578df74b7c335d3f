"""Keep the data of a fit out of its validation."""

from __future__ import annotations

from collections.abc import Iterable

from deltadyn.errors import InputError
from deltadyn.identification.fit import fingerprint
from deltadyn.recording.recording import Recording


def trained_on(fit: object) -> frozenset[str]:
    """The fingerprints of the recordings in `fit.data`, which the fit was made from."""
    data = getattr(fit, "data", ())
    items = data if isinstance(data, Iterable) else ()
    texts = (getattr(item, "sha256", None) for item in items)
    return frozenset(text for text in texts if isinstance(text, str))


def refuse_training_data(
    name: str, trained: frozenset[str], recordings: Iterable[Recording]
) -> None:
    """Refuse recordings that the model was fitted to."""
    for number, recording in enumerate(recordings):
        file = recording.provenance  # a fit from a file knows the file's digest
        whole = file.sha256 is not None and not file.edits and file.sha256 in trained
        if whole or fingerprint(recording) in trained:
            raise InputError(
                f"recording {number}",
                recording.name,
                f"one that {name!r} was not fitted to: on its own data a model looks better than "
                "it is. Record another motion, or pass training=True to see the fit itself",
            )
