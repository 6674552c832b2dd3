"""``tf.contrib.learn.preprocessing``: texts as rows of numbers."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.client.public.api import tf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_WORD = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z][a-z]+(?=[A-Z])|['\w\-]+")


def tokenizer(iterator: Iterable[str]) -> Iterator[list[str]]:
    """Yield the words of each text."""
    for text in iterator:
        yield _WORD.findall(text)


class CategoricalVocabulary:
    """Numbers for words, in the order in which they come; 0 is for unknown words."""

    def __init__(self, unknown_token: str = "<UNK>", support_reverse: bool = True) -> None:
        self._unknown_token = unknown_token
        self._mapping: dict[Any, int] = {unknown_token: 0}
        self._support_reverse = support_reverse
        self._reverse_mapping: list[Any] = [unknown_token] if support_reverse else []
        self._freq: defaultdict[Any, int] = defaultdict(int)
        self._freeze = False

    def __len__(self) -> int:
        return len(self._mapping)

    def freeze(self, freeze: bool = True) -> None:
        """Give new words no number from now on; with ``freeze=False``, give them one again."""
        self._freeze = freeze

    def get(self, category: Any) -> int:
        """Return the number of a word; a new word gets one unless the vocabulary is frozen."""
        found = self._mapping.get(category)
        if found is not None:
            return found
        if self._freeze:
            return 0
        return self._append(category)

    def _append(self, category: Any) -> int:
        number = self._mapping[category] = len(self._mapping)
        if self._support_reverse:
            self._reverse_mapping.append(category)
        return number

    def add(self, category: Any, count: int = 1) -> None:
        """Count a word."""
        if self.get(category) > 0:
            self._freq[category] += count

    def trim(self, min_frequency: int, max_frequency: int = -1) -> None:
        """Keep words that were counted more often than ``min_frequency``, the frequent ones first.

        Args:
          min_frequency: words with this count or a smaller one are dropped.
          max_frequency: words with this count or a larger one are dropped, unless it is negative.
        """
        by_name = sorted(self._freq.items(), key=lambda one: (isinstance(one[0], str), one[0]))
        by_count = sorted(by_name, key=lambda one: -one[1])
        self._mapping = {self._unknown_token: 0}
        self._reverse_mapping = [self._unknown_token] if self._support_reverse else []
        kept: defaultdict[Any, int] = defaultdict(int)
        for category, count in by_count:
            if count > min_frequency and (max_frequency < 0 or count < max_frequency):
                self._append(category)
                kept[category] = count
        self._freq = kept

    def to_json(self) -> dict[str, Any]:
        """Return its words, in the order of their numbers, and their counts."""
        return {
            "words": list(self._mapping),
            "counts": [self._freq.get(word, 0) for word in self._mapping],
            "support_reverse": self._support_reverse,
            "is_frozen": self._freeze,
        }

    @classmethod
    def from_json(cls, given: dict[str, Any]) -> CategoricalVocabulary:
        """Return the vocabulary that ``to_json`` described."""
        unknown, *words = given["words"]
        made = cls(unknown, bool(given["support_reverse"]))
        for word, count in zip(words, given["counts"][1:], strict=True):
            made._append(word)
            if count:
                made._freq[word] = int(count)
        made.freeze(bool(given["is_frozen"]))
        return made

    def reverse(self, class_id: int) -> Any:
        """Return the word of a number.

        Raises:
          ValueError: the vocabulary was made without ``support_reverse``.
        """
        if not self._support_reverse:
            raise ValueError(
                "This vocabulary wasn't initialized with support_reverse to support reverse() "
                "function."
            )
        return self._reverse_mapping[class_id]


class VocabularyProcessor:
    """Turns texts into rows of the numbers of their words.

    >>> processor = VocabularyProcessor(4)
    >>> [row.tolist() for row in processor.fit_transform(["the cat", "the dog sat"])]
    [[1, 2, 0, 0], [1, 3, 4, 0]]
    """

    def __init__(
        self,
        max_document_length: int,
        min_frequency: int = 0,
        vocabulary: CategoricalVocabulary | None = None,
        tokenizer_fn: Callable[[Iterable[str]], Iterable[list[str]]] | None = None,
    ) -> None:
        """Make one.

        Args:
          max_document_length: the length of rows; longer texts are cut, shorter ones get zeros.
          min_frequency: words with this count or a smaller one count as unknown; 0 keeps all.
          vocabulary: a vocabulary to go on with.
          tokenizer_fn: yields the words of each text.
        """
        self.max_document_length = max_document_length
        self.min_frequency = min_frequency
        self.vocabulary_ = vocabulary or CategoricalVocabulary()
        self._tokenizer = tokenizer_fn or tokenizer

    def fit(self, raw_documents: Iterable[str], unused_y: Any = None) -> VocabularyProcessor:
        """Learn the words of texts; return the processor."""
        for words in self._tokenizer(raw_documents):
            for word in words:
                self.vocabulary_.add(word)
        if self.min_frequency > 0:
            self.vocabulary_.trim(self.min_frequency)
        self.vocabulary_.freeze()
        return self

    def fit_transform(
        self, raw_documents: Iterable[str], unused_y: Any = None
    ) -> Iterator[np.ndarray[Any, Any]]:
        """Learn the words of texts; return their rows."""
        self.fit(raw_documents)
        return self.transform(raw_documents)

    def transform(self, raw_documents: Iterable[str]) -> Iterator[np.ndarray[Any, Any]]:
        """Yield the row of each text."""
        for words in self._tokenizer(raw_documents):
            row = np.zeros(self.max_document_length, np.int64)
            for place, word in enumerate(words[: self.max_document_length]):
                row[place] = self.vocabulary_.get(word)
            yield row

    def reverse(self, documents: Iterable[Iterable[int]]) -> Iterator[str]:
        """Yield the text of each row."""
        for row in documents:
            yield " ".join(self.vocabulary_.reverse(number) for number in row)

    def save(self, filename: str) -> None:
        """Write lengths and words to a file, as JSON; the tokenizer is not written."""
        given = {
            "max_document_length": self.max_document_length,
            "min_frequency": self.min_frequency,
            "vocabulary": self.vocabulary_.to_json(),
        }
        with tf.gfile.GFile(filename, "wb") as file:
            file.write(json.dumps(given).encode())

    @classmethod
    def restore(cls, filename: str) -> VocabularyProcessor:
        """Read a processor, with the default tokenizer, from a file of ``save``.

        Raises:
          ValueError: the file is no such file. TensorFlow's are pickles, which can run code, and
            are not read.
        """
        with tf.gfile.GFile(filename, "rb") as file:
            data = file.read()
        try:
            given = json.loads(data)
            vocabulary = CategoricalVocabulary.from_json(given["vocabulary"])
            return cls(int(given["max_document_length"]), int(given["min_frequency"]), vocabulary)
        except (ValueError, KeyError, TypeError):
            raise ValueError(
                f"'{filename}' is no vocabulary that tfnb saved. Files of TensorFlow are pickles, "
                "which can run code: fit the processor again, and save it."
            ) from None


class ByteProcessor:
    """Turns texts into rows of their bytes."""

    def __init__(self, max_document_length: int) -> None:
        self.max_document_length = max_document_length

    def fit(self, x: Iterable[str | bytes]) -> None:
        """Do nothing: bytes need no vocabulary."""

    def fit_transform(self, x: Iterable[str | bytes]) -> Iterator[np.ndarray[Any, Any]]:
        """Yield the row of each text."""
        return self.transform(x)

    def transform(self, x: Iterable[str | bytes]) -> Iterator[np.ndarray[Any, Any]]:
        """Yield the row of each text."""
        for text in x:
            data = text.encode() if isinstance(text, str) else text
            row = np.zeros(self.max_document_length, np.uint8)
            given = np.frombuffer(data[: self.max_document_length], np.uint8)
            row[: len(given)] = given
            yield row

    def reverse(self, x: Iterable[np.ndarray[Any, Any]]) -> Iterator[str]:
        """Yield the text of each row; that of bytes that are no UTF-8 is empty."""
        for row in x:
            data = np.trim_zeros(np.asarray(row).astype(np.uint8), trim="b").tobytes()
            try:
                yield data.decode()
            except UnicodeDecodeError:
                yield ""
