"""What oneDNN's problem descriptors say of the tensors that a primitive worked on.

Three ways to compare them with a node's shapes: sizes of a matrix product (batch, M, K, N); a
tensor's dimensions without order and without ones, its *bag*, so that neither the layout (NHWC or
NCHW) nor added dimensions matter; and the number of elements.
Syntax by era: oneDNN src/common/verbose.cpp.
"""

from __future__ import annotations

import polars as pl

KEY = ("primitive", "prop_kind", "problem")
MATRIX = ("b", "m", "k", "n")
BAGS = ("src", "wei", "dst")

_FIELDS = ("mb", "g", "ic", "oc", "id", "od", "kd", "ih", "oh", "kh", "iw", "ow", "kw")
_SPACE = ("d", "h", "w")
_DIMS = pl.List(pl.Int64)


def bag_of(dims: pl.Expr) -> pl.Expr:
    """The bag of a list of dimensions, as text: `[2, 1, 30, 8]` → `2x8x30`."""
    kept = dims.list.eval(pl.element().filter(pl.element() != 1)).list.sort()
    return pl.when(dims.is_not_null()).then(kept.cast(pl.List(pl.String)).list.join("x"))


def product_of(dims: pl.Expr) -> pl.Expr:
    """The number of elements of a tensor with these dimensions."""
    return dims.list.eval(pl.element().product()).list.first()


def read_problems(problems: pl.DataFrame) -> pl.DataFrame:
    """Return for each problem, a row of KEY, what it says of the operands.

    Columns: KEY, b, m, k, n (Int64, for matrix products), src, wei, dst (bags), count (elements of
    src). Null: the descriptor does not say.
    """
    text = pl.col("problem")
    # Some names end with others: `sic`, `dic` (of rnn) with `ic`.
    named = {
        name: text.str.extract(rf"(?:^|[_\d]){name}(\d+)", 1).cast(pl.Int64, strict=False)
        for name in _FIELDS
    }
    sides = text.str.split(":").list.eval(
        pl.element().str.extract_all(r"\d+").cast(_DIMS, strict=False)
    )
    plain = pl.when(text.str.contains(r"^[\dx:]+$")).then(sides)
    left, right = (plain.list.get(number, null_on_oob=True) for number in (0, 1))
    fields = problems.select(*KEY, left=left, right=right, **named)
    sized = fields.with_columns(**_sizes(), **_dims())
    bags = {role: bag_of(pl.col(role)) for role in BAGS}
    return sized.select(*KEY, *MATRIX, **bags, count=product_of(pl.col("src")))


_IS_PRODUCT = pl.col("primitive").is_in(["gemm_api", "matmul"])


def _sizes() -> dict[str, pl.Expr]:
    """Of a product: `MxK:KxN`, `BxMxK:BxKxN`; to oneDNN 3.1 with the output as third part."""
    at = pl.col
    left, right = at("left"), at("right")
    stacks = [product_of(side.list.head(side.list.len() - 2)) for side in (left, right)]
    product = {
        "b": pl.max_horizontal(stacks).fill_null(1),
        "m": left.list.get(-2, null_on_oob=True),
        "k": left.list.get(-1, null_on_oob=True),
        "n": right.list.get(-1, null_on_oob=True),
    }
    inputs = at("ic") * at("id").fill_null(1) * at("ih").fill_null(1) * at("iw").fill_null(1)
    layer = {"b": pl.lit(1), "m": at("mb"), "k": inputs, "n": at("oc")}
    is_layer = at("primitive") == "inner_product"
    return {
        name: pl.when(_IS_PRODUCT).then(product[name]).when(is_layer).then(layer[name])
        for name in MATRIX
    }


def _dims() -> dict[str, pl.Expr]:
    """Dimensions of src, wei and dst: of a product, of one tensor (`70x49`), or named.

    `mb8ic16ih5iw5` puts out what it takes in where it has no other sizes. An inner product is a
    convolution whose filters are as large as its input.
    """
    at = pl.col
    left, right, groups = at("left"), at("right"), at("g").fill_null(1)
    single = left.is_not_null() & right.is_null()
    named, filtered = (at(name).is_not_null() & at("mb").is_not_null() for name in ("ic", "oc"))
    inputs, outputs, filters = ([f"{end}{name}" for name in _SPACE] for end in "iok")
    same = [pl.when(~filtered).then(name) for name in inputs]
    src = [at("mb"), at("ic"), *map(at, inputs)]
    wei = [groups, at("oc") // groups, at("ic") // groups, *map(pl.coalesce, filters, inputs)]
    out = _list([at("mb"), pl.coalesce("oc", "ic"), *map(pl.coalesce, outputs, same)])
    outer = left.list.head(left.list.len() - 1).list.concat(right.list.tail(1))
    return {
        "src": pl.when(_IS_PRODUCT | single).then(left).when(named).then(_list(src)),
        "wei": pl.when(_IS_PRODUCT).then(right).when(filtered).then(_list(wei)),
        "dst": pl.when(_IS_PRODUCT).then(outer).when(single).then(left).when(named).then(out),
    }


def _list(sizes: list[pl.Expr]) -> pl.Expr:
    """Sizes as a list of dimensions; one that is missing counts as 1."""
    return pl.concat_list([size.fill_null(1) for size in sizes])
