"""`tf.contrib.learn.preprocessing`: texts as rows of numbers."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("as_tensorflow")

TEXTS = ["The cat's here", "the cat sat, and sat", "HTMLParser"]


@pytest.fixture
def learn() -> Any:
    """Return the module."""
    return importlib.import_module("tensorflow.contrib.learn")


def test_words_get_numbers_in_the_order_in_which_they_come(learn: Any) -> None:
    """Rows have one length; a word that is not known is 0."""
    made = learn.preprocessing.VocabularyProcessor(4)
    rows = np.array(list(made.fit_transform(TEXTS)))

    assert rows.tolist() == [[1, 2, 3, 0], [4, 5, 6, 7], [8, 9, 0, 0]]
    assert next(made.transform(["a dog sat"])).tolist() == [0, 0, 6, 0]
    assert list(made.reverse(rows[:2])) == ["The cat's here <UNK>", "the cat sat and"]
    assert len(made.vocabulary_) == 10


def test_rare_words_are_left_out(learn: Any) -> None:
    """The frequent ones come first then; words of one count in the order of the alphabet."""
    made = learn.preprocessing.VocabularyProcessor(5, min_frequency=1)
    rows = list(made.fit_transform(["b a", "c b a", "b"]))

    assert [row.tolist()[:3] for row in rows] == [[1, 2, 0], [0, 1, 2], [1, 0, 0]]
    made.vocabulary_.freeze(False)
    assert made.vocabulary_.get("new") == 3
    made.vocabulary_.add("new", 5)
    made.vocabulary_.trim(0, max_frequency=5)
    assert made.vocabulary_.get("new") == 3
    with pytest.raises(ValueError, match="support_reverse"):
        type(made.vocabulary_)(support_reverse=False).reverse(0)


def test_a_processor_is_saved_and_restored(learn: Any, tmp_path: Path) -> None:
    """With words, counts and lengths; a pickle is refused, since it can run code."""
    made = learn.preprocessing.VocabularyProcessor(3)
    made.fit(TEXTS)
    made.save(str(tmp_path / "vocab"))
    found = learn.preprocessing.VocabularyProcessor.restore(str(tmp_path / "vocab"))
    (tmp_path / "old").write_bytes(b"ctensorflow.contrib.learn\nVocabularyProcessor\n.")

    assert next(found.transform(["sat dog"])).tolist() == [6, 0, 0]
    assert list(found.reverse([[6, 0]])) == ["sat <UNK>"]
    found.vocabulary_.trim(1)
    assert next(found.transform(["sat cat here"])).tolist() == [1, 0, 0]
    for other in ("old", "vocab2"):
        (tmp_path / "vocab2").write_text('{"vocabulary": {"words": []}}')
        with pytest.raises(ValueError, match="no vocabulary that tfnb saved"):
            learn.preprocessing.VocabularyProcessor.restore(str(tmp_path / other))


def test_texts_are_rows_of_bytes(learn: Any) -> None:
    """And back; what is no UTF-8 gives nothing."""
    made = learn.preprocessing.ByteProcessor(5)
    rows = list(made.fit_transform(["hé", b"other text"]))

    assert [row.tolist() for row in rows] == [[104, 195, 169, 0, 0], list(b"other")]
    assert list(made.reverse([*rows, np.array([255])])) == ["hé", "other", ""]


def test_what_is_not_there_says_what_came_in_its_place(learn: Any) -> None:
    """It is refused when it is used."""
    assert learn.ModeKeys.INFER == "infer"
    with pytest.raises(NotImplementedError, match=r"use LinearClassifier"):
        learn.LogisticRegressor(None)
    assert not hasattr(learn, "learn_runner_of_none")
