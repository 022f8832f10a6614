from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given, strategies as st

from calibration.figures.charts import Bar, Point, heat_map, interval_bars, scatter
from calibration.figures.drawing import LINE_UNITS, Scale, axis, number, round_ticks, shortened, units, wrapped
from calibration.figures.spreads import RangeRow, Span, ranges

SVG = "{http://www.w3.org/2000/svg}"


def drawn(svg):
    """The figure as a tree, after checking that a strict content policy has nothing to refuse in it."""
    tree = ElementTree.fromstring(svg)
    for node in tree.iter():
        assert node.tag in {SVG + name for name in ("svg", "g", "rect", "line", "path", "text", "title", "desc")}
        assert not {"style", "id", "href"} & set(node.attrib)
        assert not any(name.startswith("on") for name in node.attrib)
    assert "url(" not in svg
    assert tree.get("role") == "img"
    assert tree.get("width") == "100%"
    return tree


def test_bars_start_at_zero_and_keep_their_order_and_proportions():
    tree = drawn(interval_bars([Bar("b", 10), Bar("a", 40), Bar("c", 20)], title="Weights", x_title="Share"))
    rects = list(tree.iter(SVG + "rect"))
    widths = [float(node.get("width").rstrip("%")) for node in rects]
    # The axis runs 0 to 40 over the first 84 % of the width.
    assert widths == pytest.approx([21.0, 84.0, 42.0])
    assert {node.get("x") for node in rects} == {"0.00%"}
    labels = [node.text for node in tree.iter(SVG + "text")]
    assert [label for label in labels if label in "abc"] == ["b", "a", "c"]


def test_an_interval_is_drawn_from_its_low_to_its_high_end_with_ticks():
    tree = drawn(interval_bars([Bar("a", 20, 10, 40)], title="t", x_title="x"))
    strokes = [node for node in tree.iter(SVG + "line") if node.get("stroke-width") == "1.5"]
    assert [(node.get("x1"), node.get("x2")) for node in strokes] == [
        ("21.00%", "84.00%"),
        ("21.00%", "21.00%"),
        ("84.00%", "84.00%"),
    ]


def test_negative_values_reach_left_of_zero():
    tree = drawn(interval_bars([Bar("a", -50), Bar("b", 50)], title="t", x_title="x"))
    left, right = [
        (float(node.get("x").rstrip("%")), float(node.get("width").rstrip("%"))) for node in tree.iter(SVG + "rect")
    ]
    assert left[0] + left[1] == pytest.approx(right[0], abs=0.02)
    assert "−50" in "".join(tree.itertext())


def test_the_figure_is_named_and_described_with_its_numbers():
    svg = interval_bars(
        [Bar("Fluent", 31.25, 28, 34)],
        title="Weights of the items",
        x_title="Share",
        reference=[Bar("Fluent", 29.5)],
        series=("ours", "printed"),
    )
    tree = drawn(svg)
    assert tree.find(SVG + "title").text == "Weights of the items"
    assert tree.find(SVG + "desc").text == "Share. Fluent: 31.2 (28.0 – 34.0) | 29.5"
    assert {"ours", "printed"} <= {node.text for node in tree.iter(SVG + "text")}


def test_words_from_data_cannot_become_elements():
    svg = interval_bars([Bar("<script>alert(1)</script>&", 1)], title="</title><b>", x_title='"x" <y>')
    tree = drawn(svg)
    assert "<script>alert(1)</script>&" in [node.text for node in tree.iter(SVG + "text")]
    svg = scatter([Point(1, 1, "<b>"), Point(2, 3, "x")], title="<", x_title="&", y_title=">")
    drawn(svg)
    drawn(heat_map(["<i>", "&"], [[1, 0.5], [0.5, 1]], title="<"))


def test_a_rule_is_drawn_on_every_bar_and_named():
    tree = drawn(interval_bars([Bar("a", 0.8), Bar("b", 0.5)], title="t", x_title="x", rule=0.25, rule_label="chance"))
    rules = [node for node in tree.iter(SVG + "line") if node.get("stroke-dasharray")]
    assert len(rules) == 2
    assert {node.get("x1") for node in rules} == {"26.25%"}  # 0.25/0.8 of 84 %
    assert "chance" in [node.text for node in tree.iter(SVG + "text")]


def test_groups_head_their_bars_once():
    bars = [Bar("a", 1, group="Writing"), Bar("b", 2, group="Writing"), Bar("c", 3, group="Chat")]
    tree = drawn(interval_bars(bars, title="t", x_title="x"))
    heads = [node.text for node in tree.iter(SVG + "text") if node.get("font-weight")]
    assert heads == ["Writing", "Chat"]


def test_scatter_places_points_on_both_axes_and_shapes_tell_groups_apart():
    points = [Point(0, 0, "low", "people"), Point(100, 10, "high", "judges"), Point(50, 5, "mid", "people")]
    tree = drawn(scatter(points, title="t", x_title="Judge", y_title="People", height=200))
    named = [(node, node.find(f"{SVG}path/{SVG}title")) for node in tree.iter(SVG + "svg")]
    marks = {name.text: node for node, name in named if name is not None}
    low, high, mid = (marks[name] for name in ("low (0.00, 0.00)", "high (100.00, 10.00)", "mid (50.00, 5.00)"))
    assert float(mid.get("x").rstrip("%")) == pytest.approx(
        (float(low.get("x").rstrip("%")) + float(high.get("x").rstrip("%"))) / 2, abs=0.01
    )
    assert float(low.get("y")) - float(high.get("y")) == pytest.approx(200)
    assert low.find(SVG + "path").get("d") != high.find(SVG + "path").get("d")
    assert low.find(SVG + "path").get("fill") != high.find(SVG + "path").get("fill")


def test_a_diagonal_gives_both_axes_the_same_ends():
    tree = drawn(scatter([Point(0, 90), Point(40, 10)], title="t", x_title="x", y_title="y", diagonal=True))
    printed = [node.text for node in tree.iter(SVG + "text")]
    assert printed.count("0") == 2
    assert printed.count("100") == 2
    assert len([node for node in tree.iter(SVG + "line") if node.get("stroke-dasharray")]) == 1


def test_a_crowd_of_points_is_drawn_without_labels():
    tree = drawn(scatter([Point(i, i, f"model {i}") for i in range(200)], title="t", x_title="x", y_title="y"))
    assert not [node for node in tree.iter(SVG + "text") if (node.text or "").startswith("model")]


def test_heat_map_prints_values_and_leaves_unknown_cells_empty():
    tree = drawn(heat_map(["Anna", "Bo"], [[1.0, None], [None, 1.0]], title="t"))
    assert len(list(tree.iter(SVG + "rect"))) == 2
    assert [node.text for node in tree.iter(SVG + "text")].count("·") == 2


def test_heat_map_shows_sign_by_colour_and_size_by_strength():
    tree = drawn(heat_map(["a", "b"], [[1.0, -0.2], [-0.2, 1.0]], title="t"))
    cells = [(node.get("fill"), float(node.get("fill-opacity"))) for node in tree.iter(SVG + "rect")]
    assert cells[0][0] != cells[1][0]
    assert cells[0][1] > cells[1][1]


def test_a_large_heat_map_keeps_its_height_and_prints_no_cells():
    tree = drawn(heat_map([f"r{i}" for i in range(60)], [[0.5] * 60] * 60, title="t"))
    assert float(tree.get("height")) < 700
    assert len(list(tree.iter(SVG + "text"))) == 12  # every fifth name


@pytest.mark.parametrize(
    "make",
    [
        lambda: interval_bars([], title="t", x_title="x"),
        lambda: scatter([], title="t", x_title="x", y_title="y"),
        lambda: heat_map([], [], title="t"),
    ],
)
def test_a_figure_of_nothing_is_refused(make):
    with pytest.raises(ValueError, match="at least one"):
        make()


@given(st.lists(st.floats(-1e6, 1e6, allow_nan=False), min_size=1, max_size=8))
def test_every_bar_lies_inside_the_figure(values):
    tree = drawn(interval_bars([Bar(f"b{i}", value) for i, value in enumerate(values)], title="t", x_title="x"))
    for node in tree.iter(SVG + "rect"):
        start, width = float(node.get("x").rstrip("%")), float(node.get("width").rstrip("%"))
        assert start >= 0
        assert start + width <= 84.02


@given(st.floats(-1e5, 1e5), st.floats(0.0, 1e5))
def test_ticks_enclose_their_range_in_round_steps(low, span):
    ticks, step = round_ticks(low, low + span)
    assert ticks[0] <= low + step * 1e-6
    assert ticks[-1] >= low + span - step * 1e-6
    assert 2 <= len(ticks) <= 12
    assert f"{step:.1e}"[:3] in ("1.0", "2.0", "2.5", "5.0")


@given(st.text(min_size=1, max_size=200))
def test_a_label_never_takes_more_than_two_lines(words):
    lines = wrapped(words)
    assert 1 <= len(lines) <= 2
    assert all(units(row) <= LINE_UNITS for row in lines)


def test_chinese_labels_break_between_characters():
    words = "回答是否完整地回应了用户提出的全部问题" * 2
    lines = wrapped(words)
    assert len(lines) == 2
    assert "".join(lines) == words
    assert shortened("全部问题", 5) == "全部…"


def test_numbers_have_a_true_minus_and_no_negative_zero():
    assert number(-12.345, 0.1) == "−12.3"
    assert number(-0.001, 0.01) == "0.00"
    assert number(7.5, 10) == "8"


@pytest.mark.parametrize("low", [-150.0, 0.0, 0.925])
def test_the_figures_of_an_axis_stand_whole_and_apart_on_a_phone(low):
    """At 320 pixels, with 7 pixels a character."""
    ticks = [low + 25 * n for n in range(6)]
    svg = axis(ticks, Scale(low - 4, low + 129, 0.0, 1.0), 0.001, 100, "points")
    end = 0.0
    for one in ElementTree.fromstring(f"<g>{svg}</g>"):
        if one.text == "points":
            continue
        wide = 7 * len(one.text)
        left = float(one.get("x").rstrip("%")) * 3.2
        left -= {"start": 0, "middle": wide / 2, "end": wide}[one.get("text-anchor", "start")]
        assert end <= left and left + wide <= 320, one.text
        end = left + wide
    assert end > 0


def test_no_line_of_the_grid_strikes_out_a_label():
    svg = ranges(
        [RangeRow(name, [Span(5.0, 4.0, 6.0)]) for name in ("Overall", "Stories")],
        title="t",
        x_title="x",
        series=["difference"],
        rule=0.0,
    )
    tree = drawn(svg)
    labels = [float(node.get("y")) for node in tree.iter(SVG + "text") if node.text in ("Overall", "Stories")]
    upright = [node for node in tree.iter(SVG + "line") if node.get("x1") == node.get("x2")]
    assert len(labels) == 2
    assert sum(node.get("stroke-dasharray") is not None for node in upright) == 2
    for baseline in labels:
        for node in upright:
            top, bottom = float(node.get("y1")), float(node.get("y2"))
            assert bottom <= baseline - 10 or top >= baseline


def test_no_line_begins_with_closing_punctuation_or_ends_with_opening():
    for words in (
        "回答是否切合指令，并且“语气”自然（不生硬）？全文如何",
        "GPT-4，《论语》、「孟子」；（甲）：乙！丙。丁",
        "Does it say “it’s fine”, or not (at all)?",
    ):
        for width in range(6, 40):
            lines = wrapped(words, width, 50)
            assert "".join(lines).replace(" ", "") == words.replace(" ", "") or any("…" in line for line in lines)
            for before, after in pairwise(lines):
                assert after[0] not in "，。、；：？！）」』》”’", (width, lines)
                assert before[-1] not in "（「『《“‘", (width, lines)


def test_no_line_ends_with_an_ascii_bracket_before_chinese():
    words = "是否有新意，例如独到的想法？ (有序)"
    for width in range(8, 40):
        lines = wrapped(words, width, 50)
        assert not any(row.endswith("(") for row in lines), width
