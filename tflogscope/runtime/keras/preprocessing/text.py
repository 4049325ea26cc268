"""`tf.keras.preprocessing.text`: texts as lists of numbers. No tensor is involved.

Told about: `keras/src/preprocessing/text.py`.
"""

from __future__ import annotations

import json
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from tflogscope.runtime.api.missing import missing

__all__ = ["Tokenizer", "text_to_word_sequence", "tokenizer_from_json"]

_FILTERS = '!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n'


def text_to_word_sequence(
    input_text: str, filters: str = _FILTERS, lower: bool = True, split: str = " "
) -> list[str]:
    """The words of a text; the characters in `filters` separate them too."""
    text = input_text.lower() if lower else input_text
    words = text.translate({ord(each): split for each in filters}).split(split)
    return [word for word in words if word]


class Tokenizer:
    """Gives each word a number: the most frequent one is 1, or 2 if there is an `oov_token`."""

    def __init__(
        self,
        num_words: int | None = None,
        filters: str = _FILTERS,
        lower: bool = True,
        split: str = " ",
        char_level: bool = False,
        oov_token: str | None = None,
        analyzer: Callable[[str], list[str]] | None = None,
        **kwargs: Any,
    ) -> None:
        """Raises TypeError for options that there are not."""
        self.document_count = kwargs.pop("document_count", 0)
        if kwargs:
            raise TypeError("Unrecognized keyword arguments: " + str(kwargs))
        self.num_words, self.filters, self.lower, self.split = num_words, filters, lower, split
        self.char_level, self.oov_token, self.analyzer = char_level, oov_token, analyzer
        self.word_counts: dict[str, int] = OrderedDict()
        self.word_docs: dict[str, int] = defaultdict(int)
        self.index_docs: dict[int, int] = defaultdict(int)
        self.word_index: dict[str, int] = {}
        self.index_word: dict[int, str] = {}

    def _words(self, text: Any) -> Any:
        if self.char_level or isinstance(text, list):
            if not self.lower:
                return text
            return [each.lower() for each in text] if isinstance(text, list) else text.lower()
        if self.analyzer is not None:
            return self.analyzer(text)
        return text_to_word_sequence(text, self.filters, self.lower, self.split)

    def fit_on_texts(self, texts: Iterable[Any]) -> None:
        """Count the words, and number them."""
        for text in texts:
            self.document_count += 1
            words = self._words(text)
            for word in words:
                self.word_counts[word] = self.word_counts.get(word, 0) + 1
            for word in set(words):
                self.word_docs[word] += 1
        by_count = sorted(self.word_counts, key=lambda word: -self.word_counts[word])
        known = by_count if self.oov_token is None else [self.oov_token, *by_count]
        self.word_index = {word: number for number, word in enumerate(known, 1)}
        self.index_word = {number: word for word, number in self.word_index.items()}
        for word, count in self.word_docs.items():
            self.index_docs[self.word_index[word]] = count

    def fit_on_sequences(self, sequences: Any) -> None:
        """Count in how many of the lists each number is."""
        self.document_count += len(sequences)
        for numbers in sequences:
            for number in set(numbers):
                self.index_docs[number] += 1

    def _known(self, number: int | None) -> bool:
        return number is not None and not (self.num_words and number >= self.num_words)

    def texts_to_sequences(self, texts: Iterable[Any]) -> list[list[int]]:
        """The texts as numbers."""
        return list(self.texts_to_sequences_generator(texts))

    def texts_to_sequences_generator(self, texts: Iterable[Any]) -> Iterator[list[int]]:
        """The same, one by one. Words that are rare or unknown are left out, or `oov_token`."""
        unknown = None if self.oov_token is None else self.word_index.get(self.oov_token)
        for text in texts:
            found = (self.word_index.get(word) for word in self._words(text))
            numbers = (each if self._known(each) else unknown for each in found)
            yield [each for each in numbers if each is not None]

    def sequences_to_texts(self, sequences: Iterable[Any]) -> list[str]:
        """The reverse."""
        return list(self.sequences_to_texts_generator(sequences))

    def sequences_to_texts_generator(self, sequences: Iterable[Any]) -> Iterator[str]:
        """The reverse, one by one."""
        for numbers in sequences:
            found = (
                self.index_word[each] if each in self.index_word and self._known(each)
                else self.oov_token
                for each in numbers
            )  # fmt: skip
            yield " ".join(each for each in found if each is not None)

    def texts_to_matrix(self, texts: Iterable[Any], mode: str = "binary") -> Any:
        """A row for each text, a column for each word."""
        return self.sequences_to_matrix(self.texts_to_sequences(texts), mode)

    def sequences_to_matrix(self, sequences: Any, mode: str = "binary") -> Any:
        """A row for each list, a column for each number: whether it is there, how often, its share
        or its weight. Raises ValueError for another mode, or if nothing was counted.
        """
        if not self.num_words and not self.word_index:
            raise ValueError(
                "Specify a dimension (`num_words` argument), or fit on some text data first."
            )
        if mode == "tfidf" and not self.document_count:
            raise ValueError("Fit the Tokenizer on some data before using tfidf mode.")
        rows = np.zeros((len(sequences), self.num_words or len(self.word_index) + 1))
        for row, numbers in zip(rows, sequences, strict=True):
            for number, count in Counter(each for each in numbers if each < len(row)).items():
                row[number] = self._entry(number, count, len(numbers), mode)
        return rows

    def _entry(self, number: int, count: int, length: int, mode: str) -> float:
        if mode == "tfidf":
            documents = 1 + self.index_docs.get(number, 0)
            return float((1 + np.log(count)) * np.log(1 + self.document_count / documents))
        entries = {"count": count, "freq": count / length, "binary": 1}
        if mode not in entries:
            raise ValueError("Unknown vectorization mode:", mode)
        return entries[mode]

    def get_config(self) -> dict[str, Any]:
        """What it was made with and what it has counted, the latter as JSON."""
        options = (
            "num_words", "filters", "lower", "split", "char_level", "oov_token", "document_count",
        )  # fmt: skip
        counted = ("word_counts", "word_docs", "index_docs", "index_word", "word_index")
        return {name: getattr(self, name) for name in options} | {
            name: json.dumps(getattr(self, name)) for name in counted
        }

    def to_json(self, **kwargs: Any) -> str:
        """The configuration as text."""
        return json.dumps(
            {"class_name": type(self).__name__, "config": self.get_config()}, **kwargs
        )


def tokenizer_from_json(json_string: str) -> Tokenizer:
    """The tokenizer of `to_json`."""
    config = json.loads(json_string)["config"]
    words = {
        name: json.loads(config.pop(name)) for name in ("word_counts", "word_docs", "word_index")
    }
    numbers = {
        name: {int(key): value for key, value in json.loads(config.pop(name)).items()}
        for name in ("index_docs", "index_word")
    }
    tokenizer = Tokenizer(**config)
    vars(tokenizer).update(words | numbers)
    return tokenizer


__getattr__ = missing("tf.keras.preprocessing.text")
