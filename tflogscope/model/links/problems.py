"""What oneDNN's problem descriptors say of the tensors that a primitive worked on.

Three ways to compare them with a node's shapes: sizes of a matrix product (batch, M, K, N); a
tensor's dimensions without order and without ones, its *bag*, so that neither the layout (NHWC or
NCHW) nor added dimensions matter; and the number of elements.
Syntax by era: oneDNN src/common/verbose.cpp.
"""

from __future__ import annotations

import polars as pl

_GROUPED = ("convolution", "deconvolution")
_FIELDS = ("mb", "g", "ic", "oc", "id", "od", "kd", "ih", "oh", "kh", "iw", "ow", "kw")
KEY = ("primitive", "prop_kind", "problem")
MATRIX = ("b", "m", "k", "n")
BAGS = ("src", "wei", "dst")


def bag_of(dims: pl.Expr) -> pl.Expr:
    """The bag of a list of dimensions, as text: `[2, 1, 30, 8]` → `2x8x30`."""
    kept = dims.list.eval(pl.element().filter(pl.element() != 1)).list.sort()
    return pl.when(dims.is_not_null()).then(kept.cast(pl.List(pl.String)).list.join("x"))


def read_problems(primitives: pl.DataFrame) -> pl.DataFrame:
    """Return one row per distinct (primitive, prop_kind, problem) of `primitives`.

    Columns: those three, b, m, k, n (Int64, for matrix products), src, wei, dst (bags), count (of
    elements, for primitives whose problem is one tensor). Null: the descriptor does not say.
    """
    distinct = primitives.select(KEY).unique(maintain_order=True)
    text = pl.col("problem")
    named = {name: _field(text, name) for name in _FIELDS}
    sides = text.str.split(":").list.eval(
        pl.element().str.extract_all(r"\d+").cast(_DIMS, strict=False)
    )
    frame = distinct.with_columns(
        sides=pl.when(text.str.contains(r"^[\dx:]+$")).then(sides), **named
    )
    return pl.concat(
        [
            _matrix(frame.filter(pl.col("primitive").is_in(["gemm_api", "matmul"]))),
            _inner_product(frame.filter(pl.col("primitive") == "inner_product")),
            _convolution(frame.filter(pl.col("primitive").is_in(_GROUPED))),
            _pooling(frame.filter(pl.col("primitive") == "pooling")),
            _other(frame.filter(~pl.col("primitive").is_in(_KNOWN))),
        ],
        how="diagonal",
    ).select(
        *KEY,
        *[pl.col(name).cast(pl.Int64) for name in MATRIX],
        *[pl.col(name).cast(pl.String) for name in BAGS],
        pl.col("count").cast(pl.Int64),
    )


_DIMS = pl.List(pl.Int64)
_KNOWN = ("gemm_api", "matmul", "inner_product", "convolution", "deconvolution", "pooling")


def _field(text: pl.Expr, name: str) -> pl.Expr:
    # Some names end with others: `sic`, `dic` (of rnn) with `ic`.
    return text.str.extract(rf"(?:^|[_\d]){name}(\d+)", 1).cast(pl.Int64, strict=False)


def _bags(**operands: list[pl.Expr]) -> dict[str, pl.Expr]:
    """Bags of operands whose dimensions are named; a dimension that is missing counts as 1."""
    return {
        name: bag_of(pl.concat_list([part.fill_null(1) for part in parts]))
        for name, parts in operands.items()
    }


def _matrix(frame: pl.DataFrame) -> pl.DataFrame:
    """`MxK:KxN`, `BxMxK:BxKxN`; to oneDNN 3.1 with the output as third part."""
    side = [pl.col("sides").list.get(number, null_on_oob=True) for number in (0, 1)]
    batch = [part.list.slice(0, part.list.len() - 2) for part in side]
    lists = frame.with_columns(
        left=side[0], right=side[1], left_batch=batch[0], right_batch=batch[1]
    )
    count = [pl.col(name).list.eval(pl.element().product()).list.first() for name in _BATCHES]
    return lists.with_columns(
        b=pl.max_horizontal(count).fill_null(1),
        m=pl.col("left").list.get(-2, null_on_oob=True),
        k=pl.col("left").list.get(-1, null_on_oob=True),
        n=pl.col("right").list.get(-1, null_on_oob=True),
        src=bag_of(pl.col("left")),
        wei=bag_of(pl.col("right")),
    ).with_columns(
        dst=pl.when(pl.col("n").is_not_null()).then(
            bag_of(pl.col("left_batch").list.concat(pl.concat_list("m", "n")))
        )
    )


_BATCHES = ("left_batch", "right_batch")


def _inner_product(frame: pl.DataFrame) -> pl.DataFrame:
    inner = [pl.col("ic"), *[pl.col(name).fill_null(1) for name in ("id", "ih", "iw")]]
    bags = _bags(
        src=[pl.col("mb"), *inner], wei=[pl.col("oc"), *inner], dst=[pl.col("mb"), pl.col("oc")]
    )
    size = inner[0] * inner[1] * inner[2] * inner[3]
    return frame.with_columns(b=pl.lit(1, pl.Int64), m="mb", k=size, n="oc", **bags)


def _convolution(frame: pl.DataFrame) -> pl.DataFrame:
    groups = pl.col("g").fill_null(1)
    at = pl.col
    return frame.with_columns(
        **_bags(
            src=[at("mb"), at("ic"), at("id"), at("ih"), at("iw")],
            wei=[groups, at("oc") // groups, at("ic") // groups, at("kd"), at("kh"), at("kw")],
            dst=[at("mb"), at("oc"), at("od"), at("oh"), at("ow")],
        )
    )


def _pooling(frame: pl.DataFrame) -> pl.DataFrame:
    at = pl.col
    return frame.with_columns(
        **_bags(
            src=[at("mb"), at("ic"), at("id"), at("ih"), at("iw")],
            dst=[at("mb"), at("ic"), at("od"), at("oh"), at("ow")],
        )
    )


def _other(frame: pl.DataFrame) -> pl.DataFrame:
    """One tensor: `70x49`, or for batch normalization and lrn `mb8ic16ih5iw5`."""
    plain = pl.col("sides").list.first()
    at = pl.col
    named = pl.when(at("mb").is_not_null() & at("ic").is_not_null()).then(
        pl.concat_list([at(name).fill_null(1) for name in ("mb", "ic", "id", "ih", "iw")])
    )
    several = pl.col("sides").list.len() > 1
    dims = pl.when(plain.is_not_null() & ~several).then(plain).otherwise(named)
    return frame.with_columns(dims=dims).with_columns(
        src=bag_of(pl.col("dims")),
        dst=bag_of(pl.col("dims")),
        count=pl.col("dims").list.eval(pl.element().product()).list.first(),
    )
