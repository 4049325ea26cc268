"""The same log with the program's own names replaced by keyed pseudonyms.

What stays is TensorFlow's and oneDNN's vocabulary (grammars/redact.toml says what that is), and the
numbers of records that are understood. All other words are replaced, each by the same pseudonym
wherever it is, so that all tables are the same up to the names. What is not understood is dropped
and counted. Lines stay lines, and times stay.

A block is cut into pieces where a record begins; pieces become columns, and only distinct texts
are looked at word by word.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import secrets
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, partial

import polars as pl

from tflogscope.errors import GrammarError
from tflogscope.grammar.fast import extract, match_messages
from tflogscope.grammar.load import load_grammar, packaged_file, packaged_toml
from tflogscope.grammar.model import FileGrammar, Grammar
from tflogscope.grammar.rewriters import REWRITERS
from tflogscope.grammar.template import pattern_of
from tflogscope.model.calls.python_functions import KERAS_STEPS, OWN_FUNCTIONS
from tflogscope.model.common.origin import RECORD_MARK, TENSORFLOW_PACKAGES
from tflogscope.model.executions.failures import NOT_FED
from tflogscope.sources.source import Source

DROPPED = "redacted"
MARK = RECORD_MARK.decode()
_FILE, _WORDS, _ONEDNN_WORDS = "redact.toml", "tensorflow/words.txt", "onednn/words.txt"
_CUT = "\x1f"  # a control character; those of the log are escaped or dropped
_WORD = re.compile(r"\w+")
_FIELD = re.compile(
    r"\$\{\w+(?::\w+)?\}|\$\{\w+:|\$\[\?\w+:|\$."
)  # of a template: all but its texts
_SETTING = r"\d{1,4}|true|false|on|off|yes|no|all|none"
_PACKAGES = {
    "python",
    "keras",
    "numpy",
    *TENSORFLOW_PACKAGES,
    *(rewriter.package for rewriter in REWRITERS),
}
_NO_ASCII = re.compile(r"[^\x00-\x7f]")
_INDEX = 3  # digits, and fewer
_LENGTH = 6  # bytes of a pseudonym: one collision is likely only among ten million names


def _fitting(value: object, form: re.Pattern[str]) -> object:
    """A value of the header, or the items of it, that have the form."""
    if isinstance(value, dict):
        items = {name: _fitting(part, form) for name, part in value.items() if name in _PACKAGES}
        return {name: part for name, part in items.items() if isinstance(part, str)}
    if isinstance(value, list):
        return [part for part in value if isinstance(part, str) and form.fullmatch(part)]
    fits = not isinstance(value, bool) and form.fullmatch(str(value))
    return value if isinstance(value, str | int) and fits else None


def _is_layout(word: str) -> bool:
    """Whether this is a layout's name: each of the first letters once, and then blocks of them."""
    match = re.fullmatch(r"([A-Za-z]{1,12})(?:\d{1,3}[a-l])*", word)
    return match is not None and sorted(match[1].lower()) == [*"abcdefghijkl"[: len(match[1])]]


class Redactor:
    """Replaces names; one for all the logs that are to fit together.

    Args:
        key: what pseudonyms depend on; a new one by default.
        keep: further words that stay.
        grammar: what is known about log texts; the packaged grammar by default.
    """

    def __init__(
        self,
        key: bytes | None = None,
        keep: Iterable[str] = (),
        grammar: Grammar | None = None,
    ) -> None:
        self.key = secrets.token_bytes(16) if key is None else key
        self.names: dict[str, str] = {}
        """Of each pseudonym, what it is for."""
        self.dropped = 0
        """Records and lines that were not understood, so that they were not passed on."""
        self.understood = 0
        """Records and lines that were."""
        self.grammar = grammar or load_grammar()
        self._facts = packaged_toml(_FILE)
        try:
            words, onednn = (packaged_file(f).read_text("utf-8") for f in (_WORDS, _ONEDNN_WORDS))
        except (OSError, ValueError) as error:
            raise GrammarError(f"can't be read: {error}", _WORDS) from error
        vocabulary = [*self._facts["words"].split(), *words.split(), *self._own_words(), DROPPED]
        # What the model knows by its words.
        vocabulary += [*OWN_FUNCTIONS, *KERAS_STEPS, *_WORD.findall(NOT_FED)]
        for rewriter in REWRITERS:
            vocabulary += [*rewriter.kernel_ops, *rewriter.alone]
        # The underscores before a name are an affix.
        self.vocabulary = {*vocabulary, *(word.lstrip("_") for word in vocabulary), *keep}
        self._affixes = [re.compile(affix["pattern"]) for affix in self._facts["affix"]]
        self._onednn_words = set(onednn.split())
        self._onednn_form = re.compile("|".join(self._facts["onednn_forms"]))
        self._number = re.compile(self._facts["number"])
        self._renamed: dict[tuple[str, bool], str] = {}

    def _own_words(self) -> Iterator[str]:
        """The words of the grammar: literal texts of messages, and names of files."""
        for message in self.grammar.by_id.values():
            yield from _WORD.findall(_FIELD.sub(" ", message.template))
        for file in self.grammar.files.values():
            yield from _WORD.findall(f"{file.file} {file.source}")

    # ---- words -----------------------------------------------------------------------------------

    def pseudonym(self, name: str) -> str:
        """The pseudonym of a name: a word of small letters and digits."""
        digest = hashlib.blake2b(name.encode(), key=self.key, digest_size=_LENGTH).digest()
        pseudonym = "x" + base64.b32encode(digest).decode().rstrip("=").lower()
        self.names[pseudonym] = name
        return pseudonym

    def word(self, token: str, *, free: bool = False) -> str:
        """What is written for a word; in free text, numbers are replaced as well."""
        if (token, free) not in self._renamed:
            self._renamed[token, free] = self._rename(token, free)
        return self._renamed[token, free]

    def _rename(self, token: str, free: bool) -> str:
        if token[0] == '"' or token.startswith("/job:"):
            return self._string(token)
        if not _WORD.match(token) or self._is_known(token):
            return _NO_ASCII.sub("?", token)
        return self._name(token, free)

    def _name(self, token: str, free: bool) -> str:
        """What is written for a word of the program's, or a number."""
        if match := re.fullmatch(r"values: (.*)(>.?)", token, re.DOTALL):
            return f"values: {self.pseudonym(match[1])}{match[2]}"
        if self._number.fullmatch(token):
            return self.pseudonym(token) if free else token
        if re.fullmatch(r"0x[0-9a-f]+", token):
            address = f"0x{self.pseudonym(token[2:]).encode().hex()[-12:]}"
            self.names[address] = token
            return address
        for affix in self._affixes:
            if match := affix.fullmatch(token):
                before, name, after = match.groups()
                if not self.vocabulary.issuperset(re.findall(r"_([A-Za-z_]*[A-Za-z])_\d+", after)):
                    break
                return token if self._is_known(name) else f"{before}{self.pseudonym(name)}{after}"
        return self.pseudonym(token)

    def _string(self, token: str) -> str:
        """A string of the program's, or a device, which TensorFlow writes in quotes as well."""
        text = token.strip('"')
        device = re.fullmatch(self._facts["device"], text)
        is_name = re.fullmatch(self._facts["name"], text)

        def new(part: str) -> str:
            if not _WORD.match(part):
                return _NO_ASCII.sub("?", part)
            if not device and re.search(self._facts["long"], part):
                return self.pseudonym(part)
            index = is_name and re.fullmatch(self._facts["index"], part)
            return self.word(part, free=not device and not index)

        return "".join(map(new, re.findall(r"\w+|\W+", token)))

    def _onednn_word(self, word: str) -> str:
        """A word of a verbose line: it stays if oneDNN prints it."""
        stem = word.rstrip("0123456789")  # `src0`, `mask2`
        candidates = {word, stem if len(word) - len(stem) < _INDEX else word} & self._onednn_words
        if candidates or not word.isalnum() or self._onednn_form.fullmatch(word):
            return word
        return word if _is_layout(word) else self.pseudonym(word)

    def _is_known(self, word: str) -> bool:
        """Whether a word stays: the kernels of a plug-in are named after ops."""
        kernels = (
            (name, re.match(rewriter.pattern, name))
            for name in (word, f"_{word}")
            for rewriter in REWRITERS
        )
        return word in self.vocabulary or any(
            match and name[match.end() :] in self.vocabulary for name, match in kernels
        )

    def texts(
        self,
        texts: pl.Series,
        *,
        free: bool = False,
        by: Callable[[str], str] | None = None,
        token: str | None = None,
    ) -> pl.Series:
        """Texts with their words replaced, each distinct text and word once.

        Args:
            texts: any texts.
            free: whether numbers are replaced, too.
            by: what replaces a word, if not `word`.
            token: what a word is, if not what redact.toml says.
        """
        some = texts.drop_nulls().unique(maintain_order=True)
        tokens = pl.DataFrame({"token": some.str.extract_all(token or self._facts["token"])})
        tokens = tokens.with_row_index("row").explode("token").drop_nulls()
        words = tokens["token"].unique()
        change = by or partial(self.word, free=free)
        new = pl.Series([change(word) for word in words], dtype=pl.String)
        tokens = tokens.with_columns(pl.col("token").replace_strict(words, new))
        joined = tokens.group_by("row", maintain_order=True).agg(pl.col("token").str.join())
        index = pl.DataFrame({"row": pl.arange(0, len(some), dtype=pl.UInt32, eager=True)})
        replaced = index.join(joined, "row", "left", maintain_order="left")["token"].fill_null("")
        return texts.replace_strict(some, replaced, return_dtype=pl.String, default=None)

    # ---- lines -----------------------------------------------------------------------------------

    def blocks(self, source: Source) -> Iterator[tuple[bytes, int]]:
        """The log of a source, block by block, and how many bytes on disk were read for it."""
        for block in source.blocks():
            lines = pl.Series("text", [block.text.decode()]).str.split("\n").explode()
            yield self._block(lines.head(-1)), block.position

    def _block(self, lines: pl.Series) -> bytes:
        cut = lines.str.replace_all(_CUT, "", literal=True)
        cut = cut.str.replace_all(f"({self._stamps}|{self._markers})", f"{_CUT}$1")
        pieces = pl.DataFrame({"piece": cut.str.split(_CUT)}).with_row_index("line")
        pieces = pieces.explode("piece").with_row_index("at")
        some = pieces.select(pl.col("piece").unique(maintain_order=True))
        new = self._pieces(some["piece"])
        pieces = pieces.join(some.with_columns(new=new), "piece", "left", maintain_order="left")
        full = pieces["new"].filter(pieces["new"] != "")
        dropped = int(full.str.ends_with(DROPPED).sum())
        self.dropped += dropped
        self.understood += len(full) - dropped
        whole = pieces.group_by("line", maintain_order=True).agg(pl.col("new").str.join())
        return ("\n".join(whole["new"].to_list()) + "\n").encode()

    @cached_property
    def _stamps(self) -> str:
        """How a record begins, in any dialect: time and severity."""
        patterns = []
        for prefix in self.grammar.prefixes.values():
            site = pattern_of(prefix.tokens)[1:-1]
            patterns.append(re.sub(r"\(\?P<\w+>", "(?:", prefix.pattern[1:].removesuffix(site)))
        return "|".join(patterns)

    @cached_property
    def _markers(self) -> str:
        return "|".join(map(re.escape, self.grammar.markers.literals))

    def _pieces(self, pieces: pl.Series) -> pl.Series:
        """What is written for each of some distinct pieces of lines."""
        parts = pieces.str.extract_groups(
            rf"^(?P<stamp>{self._stamps})(?P<site> *(?:\d+ )?[^\s\]]+:\d+\] ?)?(?P<text>.*)$"
        ).struct.unnest()
        parts = parts.with_columns(piece=pieces).with_row_index("row")
        stamped = parts.filter(pl.col("stamp").is_not_null())
        others = parts.filter(pl.col("stamp").is_null())
        file = pl.col("site").str.extract(r"([^/\\\s]+):\d+\] ?$", 1)
        texts = self._messages(stamped.select("text", file=file))
        site = self.texts(stamped["site"]).fill_null("")
        new = pl.concat(
            [
                stamped.select("row", new=stamped["stamp"] + site + texts),
                others.select("row", new=self._unstamped(others["piece"])),
            ]
        )
        return new.sort("row")["new"]

    def _messages(self, records: pl.DataFrame) -> pl.Series:
        """What is written for messages (file, text), each of a record."""
        redacted = self._hot(records["text"])
        left = records.with_row_index("row").filter(redacted.is_null() & (pl.col("text") != ""))
        for (file,), some in left.group_by("file"):
            grammar = self.grammar.files.get(str(file))
            new = self._cold(some["text"].unique(), grammar) if grammar else {}
            texts = some["text"].replace_strict(new, default=DROPPED, return_dtype=pl.String)
            redacted = redacted.scatter(some["row"], texts)
        return redacted.fill_null("")

    def _cold(self, texts: pl.Series, file: FileGrammar) -> dict[str, str]:
        """What is written for distinct messages of a file, as far as they are messages of it."""
        ids = match_messages(texts, file)
        new: dict[str, str] = {}
        for message in file.messages:
            of_it = texts.filter((ids == message.id).fill_null(value=False))
            if of_it.is_empty():
                continue
            last = next(reversed(message.fields.items()), ("", ""))
            rest = pl.Series([None] * len(of_it), dtype=pl.String)
            if last[1] == "rest" and last[0] in self._facts["free"]:
                rest = extract(of_it, message)[last[0]]
            pair = pl.DataFrame({"text": of_it, "rest": rest.fill_null("")})
            head = pair.select(pl.col("text").str.strip_suffix(pl.col("rest"))).to_series()
            renamed = self.texts(head) + self.texts(pair["rest"], free=True)
            new |= dict(zip(of_it, renamed, strict=True))
        return new

    def _unstamped(self, pieces: pl.Series) -> pl.Series:
        """What is written for pieces that don't begin with a time."""
        new = pieces.set(pieces != "", None)
        for understood in (self._onednn, self._hot, self._loggers, self._failure, self._header):
            left = new.is_null()
            if left.any():
                new = new.scatter(left.arg_true(), understood(pieces.filter(left)))
        return new.fill_null(DROPPED)

    def _onednn(self, pieces: pl.Series) -> pl.Series:
        """Verbose lines: as they are, but for what follows, and what is in an unknown format."""
        fields = pieces.str.extract_groups(self._facts["onednn"]).struct.unnest()
        rest = pl.when(pl.col("2") == "").then(pl.lit("")).otherwise(pl.lit(DROPPED))
        marker = pieces.str.extract(f"^({self._markers})", 1)
        words = self.texts(fields["1"], by=self._onednn_word, token=self._facts["onednn_token"])
        return fields.select(pl.coalesce(words + rest, marker + DROPPED)).to_series()

    def _hot(self, pieces: pl.Series) -> pl.Series:
        """Messages of the executor; of some the prefix is in another line."""
        hot = pieces.str.extract_groups(self._facts["hot"]).struct.unnest()
        return hot["1"] + self._definitions(hot["2"])

    def _definitions(self, texts: pl.Series) -> pl.Series:
        """Definitions of nodes. What a tensor of strings holds may look like its end."""
        strings = texts.str.contains("type: string", literal=True).fill_null(value=False)
        free = self.texts(texts.set(~strings, None), free=True)
        return self.texts(texts.set(strings, None)).zip_with(~strings, free)

    def _loggers(self, pieces: pl.Series) -> pl.Series:
        """Lines of Python's loggers, and of plug-ins."""
        texts = pieces.filter(self._begin_with(pieces, "texts"))
        new: dict[str, str] = {}
        for file in {
            marker.file for marker in self.grammar.markers.markers if marker.table == "texts"
        }:
            new |= self._cold(texts, self.grammar.files[file])
        return pieces.replace_strict(new, default=None, return_dtype=pl.String)

    def _failure(self, pieces: pl.Series) -> pl.Series:
        """Lines of a status: which node failed."""
        return self.texts(pieces.set(~self._begin_with(pieces, "failures"), None), free=True)

    def _begin_with(self, pieces: pl.Series, table: str) -> pl.Series:
        literals = [
            marker.literal for marker in self.grammar.markers.markers if marker.table == table
        ]
        return pieces.str.contains(f"^(?:{'|'.join(map(re.escape, literals))})")

    def _header(self, pieces: pl.Series) -> pl.Series:
        """The line that `tflogscope record` wrote, without what says who and where."""
        return pieces.set(~pieces.str.starts_with(MARK), None).map_elements(
            self._without_names, return_dtype=pl.String
        )

    def _without_names(self, line: str) -> str | None:
        try:
            facts = json.loads(line.removeprefix(MARK))
            forms = self._facts["header"]
            kept = {
                name: kept
                for name, form in forms.items()
                if (kept := _fitting(facts.get(name), re.compile(form, re.ASCII)))
                not in (None, {}, [])
            }
            if "environment" in facts:
                kept["environment"] = {
                    name: value
                    for name, value in facts["environment"].items()
                    if name in self._facts["environment"] and re.fullmatch(_SETTING, value)
                }
        except (ValueError, TypeError, AttributeError):
            return None
        return MARK + json.dumps(kept, separators=(",", ":"))
