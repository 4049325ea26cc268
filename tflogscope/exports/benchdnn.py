"""Primitives of a log as lines that oneDNN's benchdnn runs.

What differs by driver and by era of the verbose format is in grammars/onednn/benchdnn.toml, whose
head describes it. Each distinct problem is put into words once. What a log, or benchdnn, has no
words for gets a reason and no line: nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, BinaryIO

import polars as pl

from tflogscope.digits import whole
from tflogscope.grammar.load import packaged_toml

_FILE = "onednn/benchdnn.toml"
_PROBLEM = [
    "engine", "primitive", "prop_kind", "memory_descriptors", "attributes", "auxiliary", "problem",
]  # fmt: skip
_PLACE = re.compile(r"\{([^}]*)\}")
# What benchdnn's values are written with. Shells read the lines, too, and a log may hold anything.
_KNOWN = re.compile(r"[A-Za-z0-9_.:+-]*")
_UNKNOWN = re.compile(r"[^A-Za-z0-9_.:+ ,;()-]")
_LAYOUT = re.compile(r"[A-Za-z]\w*")
_MASKS = "masks by number"
_HOST = "host_scalar"
_WITH_LAYOUT = {"", "any", "blocked"}  # other kinds of layouts have no name


class _CantSayError(Exception):
    """Why there is no line for a problem."""


def benchdnn_cases(primitives: pl.DataFrame) -> pl.DataFrame:
    """The distinct problems that were executed, most costly first.

    Args:
        primitives: the table `primitives`, or some rows of it.

    Returns:
        line, primitive, problem, reason, count, time_us: `reason` is null where there is a line.
    """
    ran = primitives.filter(event="exec").drop_nulls("primitive")
    ran = ran.with_columns(pl.when(_takes_masks()).then(pl.lit("yes")).alias(_MASKS))
    problems = ran.group_by(*_PROBLEM, _MASKS, maintain_order=True).agg(
        count=pl.len(), time_us=pl.col("duration_us").sum()
    )
    pairs = [_said(problem) for problem in problems.select(*_PROBLEM, _MASKS).iter_rows(named=True)]
    cases = problems.with_columns(
        line=pl.Series([line for line, _ in pairs], dtype=pl.String),
        reason=pl.Series([reason for _, reason in pairs], dtype=pl.String),
    )
    names = ["line", "primitive", "problem", "reason"]
    cases = cases.group_by(names, maintain_order=True).agg(pl.col("count", "time_us").sum())
    return cases.sort("time_us", descending=True, maintain_order=True)


def write_benchdnn(cases: pl.DataFrame, stream: BinaryIO, made_by: str) -> None:
    """Write lines, each below a comment: how often, for how long, and why there is no line."""
    written = cases.drop_nulls("line")
    covered, total = (float(some["time_us"].sum()) for some in (written, cases))
    share = f"{covered / total:.1%}" if total else "none"
    head = (
        f"# {made_by}: {written.height:,} of {cases.height:,} problems, {share} of the time.\n"
        "# Each line is the arguments of one call of benchdnn.\n"
    )
    stream.write(head.encode())
    for row in cases.iter_rows(named=True):
        cost = f"# {row['count']:,} × in {row['time_us'] / 1000:,.3f} ms"
        what = f"{row['primitive']} {row['problem'] or ''}".strip()
        comment = _UNKNOWN.sub("?", f"{what}: {row['reason']}")
        text = f"{cost}\n{row['line']}" if row["line"] else f"{cost}: {comment}"
        stream.write(f"{text}\n".encode())


def _takes_masks() -> pl.Expr:
    """Whether benchdnn of a release takes masks as numbers: from 3.10 on."""
    release = (
        pl.col("onednn_version")
        .cast(pl.String)
        .str.extract_groups(r"^(?<major>\d+)\.(?<minor>\d+)")
        .struct
    )
    major, minor = (release.field(name).cast(pl.Int64) for name in ("major", "minor"))
    return ((major > 3) | ((major == 3) & (minor >= 10))).fill_null(value=False)


@cache
def _table() -> dict[str, Any]:
    return packaged_toml(_FILE)


@cache
def _drivers() -> dict[str, dict[str, Any]]:
    return {kind: driver for driver in _table()["driver"] for kind in driver["primitives"]}


def _said(row: Mapping[str, str | None]) -> tuple[str | None, str | None]:
    """The line for a problem, or the reason why there is none."""
    try:
        return _line({name: text or "" for name, text in row.items()}), None
    except _CantSayError as reason:
        return None, str(reason)


def _line(row: Mapping[str, str]) -> str:
    kind = row["primitive"].removesuffix("_v2")
    driver = _drivers().get(kind)
    if driver is None:
        raise _CantSayError(_table()["no_line"].get(kind, f"benchdnn has no driver for {kind}"))
    facts = _facts(row, driver)
    options = [
        text
        for option in [*_table()["head"], *driver["options"]]
        if (text := _option(option, facts, driver)) is not None
    ]
    attributes = _attributes(row["attributes"], {**driver, _MASKS: row[_MASKS]})
    return " ".join([f"--{driver['name']}", *options, *attributes, _problem(row, facts, driver)])


def _option(option: str, facts: Mapping[str, str], driver: Mapping[str, Any]) -> str | None:
    """An option with its facts; None if it is to be left out."""
    text = option.removeprefix("?")
    for place in _PLACE.findall(text):
        value = next((facts.get(name, name or None) for name in _known(place, facts)), None)
        if value is None and option != text:
            return None
        if value is None:
            raise _CantSayError(f"the line has no {place.split('|')[0]}")
        text = text.replace(f"{{{place}}}", value)
    name, is_set, value = text.removeprefix("--").partition("=")
    changed = _changed(value, driver.get("change", {}).get(name, ()))
    return None if changed is None else f"--{name}{is_set}{_checked(changed)}"


def _checked(value: str) -> str:
    """A value, if it has no more than benchdnn knows."""
    if not _KNOWN.fullmatch(value):
        raise _CantSayError(f"benchdnn does not read {value[:60]}")
    return value


def _known(place: str, facts: Mapping[str, str]) -> list[str]:
    """The names of a place that are known; the empty one always is."""
    return [name for name in place.split("|") if name in facts]


def _changed(value: str, changes: Any) -> str | None:
    for pattern, to in changes:
        if match := re.fullmatch(pattern, value):
            if to is False:
                return None
            return match[match.re.groups].upper() if to == "upper" else match.expand(to)
    return value


def _problem(row: Mapping[str, str], facts: Mapping[str, str], driver: Mapping[str, Any]) -> str:
    for pattern, to, *layout in driver["problem"]:
        match = re.fullmatch(pattern, row["problem"])
        if match and all(re.fullmatch(form, facts.get("tag.src", "")) for form in layout):
            problem = _checked(match.expand(to))
            if not problem.startswith("-"):  # it would be an option
                return problem
    raise _CantSayError("the driver does not read such a problem")


# ---- facts of a line -----------------------------------------------------------------------------


def _facts(row: Mapping[str, str], driver: Mapping[str, Any]) -> dict[str, str]:
    facts = {"": "", "engine": row["engine"] or _table()["defaults"]["engine"]}
    if row["prop_kind"] not in _table()["directions"]:
        raise _CantSayError(f"benchdnn has no direction {row['prop_kind']}")
    if direction := _table()["directions"][row["prop_kind"]]:
        facts["dir"] = direction
    for word in row["auxiliary"].split():
        name, _, value = word.partition(":")
        facts[f"aux.{name}"] = value
    for word in row["memory_descriptors"].split():
        _add_descriptor(facts, word, driver.get("strides", ()))
    return facts


def _add_descriptor(facts: dict[str, str], word: str, with_strides: Any) -> None:
    """Add what a descriptor says; an argument that comes twice has both values, with a colon."""
    parts = _parts(word)
    arg = parts.get("arg", "data")
    arg = _table()["arguments"].get(arg, arg)
    values = {"dt": parts.get("dt"), "mask": parts.get("mask")}
    if parts.get("dt") != "undef":
        values["tag"] = _layout(arg, parts)
        strides = parts.get("strides", "")
        if strides and arg not in with_strides and values["tag"] != "any":
            raise _CantSayError(f"the driver takes no strides of {arg}")
        # An option for layouts excludes one for strides, and blocks have no strides.
        if strides and values["tag"] != "any" and parts["tag"].islower():
            values["strides"], values["tag"] = strides, None
        kinds = _table()["compensation"]
        extra = re.findall(r":([a-z0-9]+m)(\d+)", parts.get("extra", ""))
        values["comp"] = "+".join(f"{kinds[k]}:{n}" for k, n in extra if k in kinds) or None
        # Drivers with one layout for all arguments refuse `any`: they are given what oneDNN chose.
        chosen = parts.get("tag") if values["tag"] == "any" else values["tag"]
        for name, value in (("dt", values["dt"]), ("tag", chosen)):
            if value:
                facts.setdefault(f"{name}.first", value)
    for name, value in values.items():
        if value is not None:
            before = facts.get(f"{name}.{arg}")
            facts[f"{name}.{arg}"] = value if before is None else f"{before}:{value}"


def _parts(word: str) -> dict[str, str]:
    for entry in _table()["descriptor"]:
        if match := re.fullmatch(entry["pattern"], word):
            return {name: value for name, value in match.groupdict().items() if value is not None}
    raise _CantSayError(f"the descriptor {word[:60]} is in an unknown format")


def _layout(arg: str, parts: Mapping[str, str]) -> str | None:
    """The name of a layout; `any` where oneDNN chose it, or where it has more than a name says."""
    if "a" in parts.get("props", "") or (arg == "wei" and parts.get("flags", "f0") != "f0"):
        return "any"
    if "tag" not in parts and "kind" not in parts:
        return None
    if parts.get("kind") == "sparse":
        kind = f"a {parts['tag'].upper()} {_table()['said'].get(arg, arg)}"
        raise _CantSayError(f"the number of non-zero values of {kind} is not in the log")
    if parts.get("kind", "") not in _WITH_LAYOUT or not _LAYOUT.fullmatch(parts["tag"]):
        raise _CantSayError(f"the layout of {arg} has no name")
    return parts["tag"]


# ---- attributes ----------------------------------------------------------------------------------


def _attributes(text: str, driver: Mapping[str, Any]) -> list[str]:
    """All attributes of a line as options."""
    attributes = _read_attributes(text)
    options = []
    for entry in _table()["attribute"]:
        name = next(
            (name for name in (entry["name"], *entry.get("also", ())) if name in attributes), ""
        )
        if not name and not entry.get("always"):
            continue
        parts = attributes.pop(name, [])
        if "post_ops" in entry:
            parts = [_post_op(part, driver) for part in parts]
        elif "quantized" in entry:
            parts = [_quantized(part, entry["quantized"], driver) for part in parts]
        value = _changed("+".join(parts), entry.get("change", ()))
        options.append(f"--{entry['name']}={_checked(value or '')}")
    if attributes:
        raise _CantSayError(f"benchdnn has nothing for {', '.join(sorted(attributes))}")
    return options


def _read_attributes(text: str) -> dict[str, list[str]]:
    """The attributes by the name that they have today, each a list of parts."""
    for era in _table()["attributes"]:
        if re.fullmatch(f"(?:{era['item'].replace('?P<', '?P<_')})*", text):
            attributes = {}
            for item in re.finditer(era["item"], text):
                name, value = item["name"], item.groupdict().get("quoted") or item["value"]
                separator = era.get("separators", {}).get(name, "+")
                parts = [part for part in (value or "").split(separator) if part]
                attributes[era.get("names", {}).get(name, name)] = parts
            return attributes
    raise _CantSayError("its attributes are in an unknown format")


def _post_op(text: str, driver: Mapping[str, Any]) -> str:
    name, *given = text.split(":")
    for entry in _table()["post_op"]:
        if match := re.fullmatch(entry["pattern"], name):
            name, *first = match.expand(entry.get("change", r"\g<0>")).split(":")
            values = _values([*first, *given], entry["parts"], text)
            if entry.get("mask"):
                return f"{name}:{_policy(values[0], driver)}" if values[0] else name
            while values and not entry.get("all") and values[-1] == entry["parts"][len(values) - 1]:
                values.pop()
            return ":".join([name, *map(str, values)]).removesuffix(":")
    raise _CantSayError(f"benchdnn has no post-op {name[:60]}")


def _values(given: list[str], otherwise: list[Any], text: str) -> list[Any]:
    """The parts of a text, those that are missing from `otherwise`, each of its type."""
    missing = otherwise[len(given) :]
    if len(given) > len(otherwise) or "!" in missing:
        raise _CantSayError(f"benchdnn does not read {text[:60]}")
    try:
        return [type(kind)(part) for part, kind in zip(given, otherwise, strict=False)] + missing
    except ValueError:
        raise _CantSayError(f"benchdnn does not read {text[:60]}") from None


def _quantized(text: str, otherwise: list[Any], driver: Mapping[str, Any]) -> str:
    """`src:0:f16:1x32` (3.4 and later) or `src:0:2.5*` as an argument of scales or zero points."""
    arg, mask, *rest = text.split(":")
    value, kind = otherwise
    if rest and re.fullmatch(r"[-+.\de]*\*?", rest[0]):
        value = rest.pop(0).removesuffix("*") or value
    kind_given, groups, *more = [*rest, "", ""][: max(2, len(rest))]
    if groups == _HOST:  # its value is a number of the program's, and has no mask
        return ":".join([arg, _HOST, str(value), *([kind_given] if kind_given != kind else [])])
    number = whole(mask)
    if more or number is None:
        raise _CantSayError(f"benchdnn does not read {text[:60]}")
    policy = mask if driver[_MASKS] else _policy(number, driver)
    parts = [arg, policy, *([str(value)] if policy in ("common", "0") else [])]
    if groups or kind_given not in ("", kind):
        parts.append(kind_given)
    return ":".join([*parts, *([groups] if groups else [])])


def _policy(mask: int, driver: Mapping[str, Any]) -> str:
    masks = driver.get("masks", _table()["masks"])
    policy = masks[mask] if mask < len(masks) else _table()["beyond"]
    assert isinstance(policy, str)  # noqa: S101  for mypy
    return policy
