"""The picture of the front page: which numbers it takes from the page of benchmarks."""

import draw_hero


def test_the_page_of_benchmarks_has_the_ratios_that_are_drawn():
    rows = draw_hero.ROW.findall(draw_hero.BENCHMARKS.read_text(encoding="utf-8"))
    assert [name.split(" ")[0] for name, *_ in rows] == ["LIBLINEAR", "LIBSVM", "Intel's", "Snap"]
    for _, _, median, smallest, largest in rows:
        assert float(smallest) < float(median) < float(largest)
