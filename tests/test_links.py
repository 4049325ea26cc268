"""Which execution a oneDNN line belongs to, in small logs that are made to be hard."""

from __future__ import annotations

import pytest

from tests.conftest import Open
from tests.makelog import Log, Node
from tests.samples import run_of
from tflogscope import Run

STEP = -7748365561995536539
_MEMORY = "tensorflow/core/framework/log_memory.cc"


def product(id_: int, name: str, a: str = "x", b: str = "y") -> Node:
    return Node(id_, name, "_MklMatMul", a, b)


def put_out(log: Log, name: str, *dims: int, step: int = STEP) -> int:
    shape = "".join(f"dim {{ size: {dim} }} " for dim in dims)
    tensor = f"tensor {{ dtype: DT_FLOAT shape {{ {shape}}} allocation_description {{ }} }}"
    head = f"MemoryLogTensorOutput {{ step_id: {step} kernel_name: "
    return log.record(_MEMORY, 34, f'__LOG_MEMORY__ {head}"{name}" {tensor} }}')


def gemm(log: Log, problem: str, ms: float = 0.01) -> int:
    tags = "src_f32::blocked:ab:f0 wei_f32::blocked:ab:f0 dst_f32::blocked:ab:f0"
    return log.raw(f"onednn_verbose,primitive,exec,cpu,gemm_api,,undef,{tags},,,{problem},{ms}")


def old_gemm(log: Log, problem: str) -> int:
    """As oneDNN 2.7 prints it."""
    tags = "src_f32::blocked:ab:f0 wei_f32::blocked:ab:f0 dst_f32::blocked:ab:f0"
    return log.raw(f"onednn_verbose,exec,cpu,gemm_api,,undef,{tags},,{problem},0.01")


def primitive(log: Log, text: str, event: str = "exec") -> int:
    return log.raw(f"onednn_verbose,primitive,{event},cpu,{text},0.01")


def links(run: Run) -> list[tuple[int, int | None, str]]:
    rows = run.primitives.filter(run.primitives["event"] == "exec")
    return rows.select("line", "timeline_line", "link").rows()


def test_the_only_open_kernel_has_the_line(opened: Open) -> None:
    log = Log()
    node = product(3, "a")
    start = log.start(node, STEP)
    line = gemm(log, "2x3:3x4")
    log.done(node, STEP)
    assert links(opened(log)) == [(line, start, "certain")]


def test_a_creation_belongs_to_the_execution_that_then_runs_it(opened: Open) -> None:
    log = Log()
    node = product(3, "a")
    inner = "inner_product,gemm:jit,forward_training,src:f32::blocked:ab::f0,,,mb32ic128oc10,0.03"
    before = log.raw(f"onednn_verbose,v1,primitive,create:cache_miss,cpu,{inner}")
    start = log.start(node, STEP)
    inside = log.raw(f"onednn_verbose,v1,primitive,create:cache_miss,cpu,{inner}")
    line = log.raw(f"onednn_verbose,v1,primitive,exec,cpu,{inner}")
    log.done(node, STEP)
    rows = opened(log).primitives.select("line", "timeline_line").rows()
    assert rows == [(before, None), (inside, start), (line, start)]


def test_the_shapes_that_agree_come_before_unknown_ones(opened: Open) -> None:
    log = Log()
    unknown, known = product(3, "a"), product(4, "b")
    first, second = log.start(unknown, STEP), log.start(known, STEP)
    of_known, of_unknown = gemm(log, "2x3:3x4"), gemm(log, "7x3:3x4")
    log.done(unknown, STEP)
    put_out(log, "b", 2, 4)
    log.done(known, STEP)
    expected = [(of_known, second, "inferred"), (of_unknown, first, "certain")]
    assert links(opened(log)) == expected


def test_a_line_outside_all_executions_belongs_to_none(opened: Open) -> None:
    log = Log()
    log.run(product(3, "a"), STEP)
    line = gemm(log, "2x3:3x4")
    assert links(opened(log)) == [(line, None, "none")]


def test_a_kernel_that_cannot_run_it_does_not_get_it(opened: Open) -> None:
    log = Log()
    a, relu = product(3, "a"), Node(4, "relu", "Relu", "z")
    softmax = Node(5, "soft", "_MklSoftmax", "z")
    start = log.start(a, STEP)
    log.start(softmax, STEP)
    log.start(relu, STEP)  # the last that was begun
    line = gemm(log, "2x3:3x4")
    for node in (relu, softmax, a):
        log.done(node, STEP)
    assert links(opened(log)) == [(line, start, "certain")]


def test_a_dead_kernel_runs_nothing(opened: Open) -> None:
    log = Log()
    node = product(3, "a").killed()
    log.start(node, STEP)
    line = gemm(log, "2x3:3x4")
    log.done(node, STEP)
    assert links(opened(log)) == [(line, None, "none")]


def test_the_shapes_say_which_of_several_it_is(opened: Open) -> None:
    log = Log()
    a, b = product(3, "a"), product(4, "b")
    first, second = log.start(a, STEP), log.start(b, STEP)
    of_a = gemm(log, "2x3:3x4")
    of_b = gemm(log, "5x3:3x4")
    put_out(log, "b", 5, 4)
    log.done(b, STEP)
    put_out(log, "a", 2, 4)
    log.done(a, STEP)
    assert links(opened(log)) == [(of_a, first, "certain"), (of_b, second, "certain")]


def test_what_goes_in_counts_where_the_outputs_are_alike(opened: Open) -> None:
    log = Log()
    for name, dims in (("x", (2, 3)), ("y", (3, 4)), ("v", (2, 7)), ("w", (7, 4))):
        put_out(log, name, *dims)
    a, b = product(3, "a", "x", "y"), product(4, "b", "v", "w")
    first, second = log.start(a, STEP), log.start(b, STEP)
    of_b, of_a = gemm(log, "2x7:7x4"), gemm(log, "2x3:3x4")
    for node in (a, b):
        put_out(log, node.name, 2, 4)
        log.done(node, STEP)
    assert links(opened(log)) == [(of_b, second, "certain"), (of_a, first, "certain")]


def test_what_goes_in_is_unknown_where_a_loop_changes_its_shape(opened: Open) -> None:
    log = Log()
    for name, dims in (("x", (2, 3)), ("x", (2, 5)), ("v", (2, 7))):
        put_out(log, name, *dims)
    a, b = product(3, "a", "x", "y"), product(4, "b", "v", "w")
    first, _ = log.start(a, STEP), log.start(b, STEP)
    line = gemm(log, "2x5:5x4")
    for node in (a, b):
        put_out(log, node.name, 2, 4)
        log.done(node, STEP)
    assert links(opened(log)) == [(line, first, "certain")]


def test_what_an_earlier_run_of_a_loop_put_out_is_not_what_this_one_did(opened: Open) -> None:
    log = Log()
    a, b = product(3, "a"), product(4, "b")
    log.start(a, STEP)
    put_out(log, "a", 2, 4)
    log.done(a, STEP)
    second, _ = log.start(a, STEP), log.start(b, STEP)
    line = gemm(log, "5x3:3x4")
    put_out(log, "b", 2, 4)
    for node in (a, b):
        log.done(node, STEP)
    assert links(opened(log)) == [(line, second, "certain")]


def test_a_shape_that_fits_nothing_is_linked_to_nothing(opened: Open) -> None:
    log = Log()
    for step in range(40):  # enough lines that fit, so that shapes are trusted
        node = product(3, "a")
        log.start(node, step)
        gemm(log, "2x3:3x4")
        put_out(log, "a", 2, 4, step=step)
        log.done(node, step)
    log.start(node, 99)
    log.start(node, 98)
    line = gemm(log, "9x9:9x9")
    put_out(log, "a", 2, 4, step=99)
    put_out(log, "a", 2, 4, step=98)
    log.done(node, 99)
    log.done(node, 98)
    assert links(opened(log))[-1] == (line, None, "none")


def test_the_only_execution_open_ran_the_line_whatever_its_kernel(opened: Open) -> None:
    log = Log()
    unlisted = Node(3, "a", "NoSuchKernel")
    alone = log.start(unlisted, STEP)
    line = gemm(log, "9x9:9x9")
    log.done(unlisted, STEP)
    assert links(opened(log)) == [(line, alone, "certain")]


def test_of_two_open_executions_the_one_with_an_unlisted_kernel_is_not_assumed(
    opened: Open,
) -> None:
    log = Log()
    unlisted, product_ = Node(3, "a", "NoSuchKernel"), product(4, "b")
    log.start(unlisted, STEP)
    known = log.start(product_, STEP)
    line = gemm(log, "9x9:9x9")
    log.done(unlisted, STEP)
    log.done(product_, STEP)
    assert [found[:2] for found in links(opened(log))] == [(line, known)]


def test_each_kernel_gets_one_and_who_ends_first_comes_first(opened: Open) -> None:
    log = Log()
    a, b = product(3, "a"), product(4, "b")
    first, second = log.start(a, STEP), log.start(b, STEP)
    one = gemm(log, "2x3:3x4")
    log.done(b, STEP)  # so the first line was of b
    two = gemm(log, "2x3:3x4")
    log.done(a, STEP)
    assert links(opened(log)) == [(one, second, "inferred"), (two, first, "certain")]


def test_two_alike_at_the_same_time_can_not_be_told_apart(opened: Open) -> None:
    log = Log()
    a, b = product(3, "a"), product(4, "b")
    starts = {log.start(a, STEP), log.start(b, STEP)}
    lines = [gemm(log, "2x3:3x4"), gemm(log, "2x3:3x4")]
    log.done(a, STEP)
    log.done(b, STEP)
    found = links(opened(log))
    assert [line for line, _, _ in found] == lines
    assert {start for _, start, _ in found} == starts
    assert {link for _, _, link in found} == {"ambiguous"}


def test_other_steps_tell_which_problem_is_a_node_s_own(opened: Open) -> None:
    log = Log()
    a, b = product(3, "a"), product(4, "b")
    for step in range(4):
        for node, problem in ((a, "2x3:3x4"), (b, "5x6:6x7")):
            log.start(node, step)
            gemm(log, problem)
            log.done(node, step)
    first, second = log.start(a, 9), log.start(b, 9)
    of_b, of_a = gemm(log, "5x6:6x7"), gemm(log, "2x3:3x4")
    log.done(a, 9)
    log.done(b, 9)
    expected = [(of_b, second, "inferred"), (of_a, first, "inferred")]
    assert links(opened(log))[-2:] == expected


def test_a_long_primitive_does_not_fit_into_a_short_execution(opened: Open) -> None:
    log = Log()
    a, b = product(3, "a"), product(4, "b")
    first = log.start(a, STEP)
    log.wait(50_000)
    log.start(b, STEP)
    line = gemm(log, "2x3:3x4", ms=45)
    log.done(b, STEP)
    log.done(a, STEP)
    assert links(opened(log)) == [(line, first, "inferred")]


def test_a_reorder_goes_with_the_primitive_that_uses_its_layout(opened: Open) -> None:
    log = Log()
    size = "mb2_ic8oc16_ih12oh10kh3sh1dh0ph0_iw12ow10kw3sw1dw0pw0"
    data, weights = "src_f32::blocked:acdb::f0", "wei_f32:a:blocked:Acdb16a::f0"
    inner = f"{data} {weights} dst_f32::blocked:acdb::f0,,alg:convolution_direct,{size}"
    of_input = Node(3, "in", "_MklNativeConv2DBackpropInput", "s", "w", "g")
    of_filter = Node(4, "filter", "_MklNativeConv2DBackpropFilter", "i", "s", "g")
    starts = [log.start(of_filter, STEP), log.start(of_input, STEP)]
    primitive(log, f"convolution,jit,backward_weights,{inner}")
    from_blocks = "src_f32::blocked:Acdb16a::f0 dst_f32::blocked:cdba::f0,,,16x8x3x3"
    to_blocks = "src_f32::blocked:cdba::f0 dst_f32::blocked:Acdb16a::f0,,,16x8x3x3"
    before = primitive(log, f"reorder,jit:uni,undef,{to_blocks}")
    after = primitive(log, f"reorder,jit:uni,undef,{from_blocks}")
    primitive(log, f"convolution,jit,backward_data,{inner}")
    log.done(of_filter, STEP)
    log.done(of_input, STEP)
    found = {line: start for line, start, _ in links(opened(log))}
    assert found[before] == starts[1]
    assert found[after] == starts[0]


def test_eager_kernels_have_their_primitives(opened: Open) -> None:
    log = Log()
    log.eager_input("_MklMatMul")
    start = log.executing("_MklMatMul")
    line = gemm(log, "2x3:3x4")
    log.ran_alone()
    assert links(opened(log)) == [(line, start, "certain")]


@pytest.mark.parametrize("node", ["MatMul", "_FusedMatMul", "Conv2D", "Conv2DBackpropFilter"])
def test_kernels_of_eigen_run_several_gemms(opened: Open, node: str) -> None:
    log = Log()
    start = log.start(Node(3, "a", node, "x", "y", "z"), STEP)
    lines = [gemm(log, "2x3:3x4"), gemm(log, "2x3:3x4"), gemm(log, "1x3:3x4")]
    log.done(Node(3, "a", node, "x", "y", "z"), STEP)
    assert links(opened(log)) == [(line, start, "certain") for line in lines]


@pytest.mark.parametrize("op", [None, "PyFunc", "Const"])
def test_compiled_code_belongs_to_the_call(opened: Open, op: str | None) -> None:
    """Whatever else runs beside it."""
    log, beside = Log(), op and Node(3, "beside", op)
    cluster = Node(3, "cluster", "_XlaRun", "x", "k")
    log.instantiate("__inference_f_7", 1)
    call = log.executing("__inference_f_7")
    log.running("__inference_f_7", 2)
    log.make_executor("__inference_f_7", cluster)
    log.start(cluster, STEP)
    if beside:
        log.start(beside, 99)
    line = gemm(log, "2x3:3x4")
    if beside:
        log.done(beside, 99)
    log.done(cluster, STEP)
    log.ran("__inference_f_7", 2)
    assert links(opened(log)) == [(line, call, "certain")]


def test_what_compiled_code_and_a_product_may_both_have_run_is_not_certain(opened: Open) -> None:
    log, beside = Log(), product(3, "a")
    cluster = Node(3, "cluster", "_XlaRun", "x", "k")
    log.instantiate("__inference_f_7", 1)
    log.executing("__inference_f_7")
    log.running("__inference_f_7", 2)
    log.make_executor("__inference_f_7", cluster)
    log.start(cluster, STEP)
    log.start(beside, 99)
    gemm(log, "2x3:3x4")
    log.done(beside, 99)
    log.done(cluster, STEP)
    log.ran("__inference_f_7", 2)
    assert [link for *_, link in links(opened(log))] == ["ambiguous"]


@pytest.mark.parametrize("op", ["PyFunc", "EagerPyFunc", "Const", "Identity"])
def test_an_op_that_computes_nothing_runs_no_primitive(opened: Open, op: str) -> None:
    log, idle = Log(), Node(3, "a", op)
    log.start(idle, STEP)
    line = gemm(log, "2x3:3x4")
    log.done(idle, STEP)
    assert links(opened(log)) == [(line, None, "none")]


@pytest.mark.parametrize("name", ["function_mlp__tf2.8.4__vlog2", "eager_basics__tf2.13.1__vlog2"])
def test_an_eager_op_is_not_compiled_code(name: str) -> None:  # 2.8 says of no op that it is run
    assert not run_of(name).executions["compiled"].any()


def test_where_no_end_is_printed_the_next_node_bounds_a_kernel(opened: Open) -> None:
    log = Log()
    a, use = product(3, "a"), Node(4, "use", "Relu", "a")
    b = product(5, "b")
    first = log.start(a, STEP)
    one = gemm(log, "2x3:3x4")
    log.start(use, STEP)  # takes what a put out
    second = log.start(b, STEP)
    two = gemm(log, "2x3:3x4")
    assert links(opened(log)) == [(one, first, "certain"), (two, second, "certain")]


def test_where_no_end_is_printed_a_kernel_ends_with_its_call(opened: Open) -> None:
    log = Log()
    a = product(3, "a")
    log.instantiate("__inference_f_7", 1)
    log.executing("__inference_f_7")
    log.running("__inference_f_7", 2)
    log.make_executor("__inference_f_7", a)
    start = log.start(a, STEP)
    inside = gemm(log, "2x3:3x4")
    log.ran("__inference_f_7", 2)
    after = gemm(log, "2x3:3x4")
    assert links(opened(log)) == [(inside, start, "certain"), (after, None, "none")]


def test_where_no_end_is_printed_lines_behind_all_nodes_prove_nothing(opened: Open) -> None:
    log = Log()
    log.start(Node(3, "a", "_MklSoftmax", "x"), STEP)
    log.start(Node(4, "use", "Relu", "a"), STEP)
    last = log.start(product(5, "b"), STEP)
    soft = primitive(log, "softmax_v2,jit,forward_inference,,,,2x3")
    one = primitive(log, "matmul,brg,undef,,,,2x3:3x4")
    assert links(opened(log)) == [(soft, None, "none"), (one, last, "ambiguous")]


def test_late_lines_go_to_the_executions_that_were_done(opened: Open) -> None:
    log = Log()
    log.raw("onednn_verbose,info,oneDNN v2.7.3 (commit N/A)")
    sizes = [(2, 4), (5, 4), (2, 4), (6, 4), (2, 4)]
    starts = []
    put_out(log, "y", 3, 4)
    for id_, (m, n) in enumerate(sizes):
        node = product(id_ + 3, f"n{id_}")
        starts.append(log.start(node, STEP))
        put_out(log, node.name, m, n)
        log.done(node, STEP)
    other = product(20, "other")
    log.start(other, STEP)  # open when the block surfaces, of another size
    lines = [old_gemm(log, f"{m}x3:3x{n}") for m, n in sizes]
    put_out(log, "other", 9, 9)
    log.done(other, STEP)
    expected = [(line, start, "inferred") for line, start in zip(lines, starts, strict=True)]
    assert links(opened(log)) == expected


def test_lines_that_are_flushed_at_once_are_never_taken_for_late(opened: Open) -> None:
    log = Log()
    log.raw("onednn_verbose,primitive,info,oneDNN v3.3.4 (commit N/A)")
    log.run(product(3, "a"), STEP)
    line = gemm(log, "2x3:3x4")
    assert links(opened(log)) == [(line, None, "none")]


def test_log_of_onednn_alone_has_no_links(opened: Open) -> None:
    log = Log()
    line = gemm(log, "2x3:3x4")
    assert links(opened(log)) == [(line, None, "none")]
