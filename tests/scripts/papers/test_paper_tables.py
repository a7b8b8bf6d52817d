"""docs/papers.json and docs/papers.md: how they are measured, judged, written, and still reproduced."""

import json
import random

import numpy as np
import paper_page
import paper_readings
import paper_results
import paper_tables
import pytest
import runs
from noise_tolerance import Draws
from paper_results import APART, FEW_DRAWS, NOT_RUN, WITHIN, Results, Verdict, summary, together
from properties import SEED
from runs import IN_FILE_ORDER, NOISE, PUBLISHED, ROUNDING, Block, blocks_of, cells_of

SAMPLED = 10 if SEED else 3  # cells in a long run, and every day
QUICK_SECONDS = 1.2  # of a draw of all columns of a sampled cell
LARGEST_FILE = 300_000  # bytes


@pytest.fixture(scope="module")
def results():
    return Results()


def sampled(results):
    """Return cells that are drawn fast, chosen by the seed of the run: list of (cell, seed)."""
    generator = random.Random(SEED)
    quick = {block.key for block in blocks_of((3, 4)) if block.seconds(results) < QUICK_SECONDS}
    cells = [cell for table in (3, 4) for cell in cells_of(table) if cell.block in quick]
    chosen = generator.sample(cells, SAMPLED)
    return [(cell, generator.randrange(len(results.values(cell.block, cell.name)))) for cell in chosen]


def test_a_sample_of_the_committed_draws_is_reproduced(results):
    for cell, seed in sampled(results):
        data, column = cell.row
        drawn = Draws().draw(cell.table, data, seed, (column,))[cell.name]
        # The artificial data are integers, whose sums are exact on every machine; of others the last
        # bit of a mean can decide about a sample.
        tolerance = 0.01 if data.startswith(NOISE) else 1.0
        committed = results.values(cell.block, cell.name)[seed]
        assert drawn == pytest.approx(committed, abs=tolerance), (cell, seed)


def test_the_page_is_made_of_the_committed_results(results):
    assert paper_page.PAGE.read_text(encoding="utf-8") == paper_page.page(results)
    assert paper_results.FILE.stat().st_size < LARGEST_FILE


def test_readings_that_the_tables_are_drawn_with_are_among_those_reported(results):
    known = {what for readings in results.readings.values() for what in readings}
    assert known >= set(paper_page.DRAWN)


def test_every_printed_figure_has_a_separate_cell(results):
    expected = {2: 33, 3: 174, 4: 90, 5: 126, 6: 192, 7: 57}
    for table, number in expected.items():
        assert len({(cell.block, cell.name) for cell in cells_of(table)}) == number
    known = {cell.block for table in expected for cell in cells_of(table)}
    known |= {f"6: {data}, {order}" for data in PUBLISHED["svm"] for order in (IN_FILE_ORDER, "svm")}
    assert set(results.blocks) <= known


def test_a_figure_is_judged_by_the_interval_of_one_more_draw():
    values = [70.0, 71.0, 72.0, 73.0, 74.0]
    verdict = Verdict(75.9, values, ROUNDING)
    assert verdict.mean == 72 and verdict.spread == pytest.approx(2.5**0.5)
    # t_{4, 0.975} = 2.776
    assert verdict.half_width == pytest.approx(2.776 * 2.5**0.5 * (1 + 1 / 5) ** 0.5 + 0.05, abs=1e-3)
    assert verdict.word == WITHIN
    distant = Verdict(77.0, values, ROUNDING)
    assert distant.word == APART and distant.score == pytest.approx(5 / 2.5**0.5)
    assert (Verdict(74.0, values, ROUNDING).beyond, distant.beyond) == (0.4, 0)
    # Draws that all agree hold only their own figure.
    assert [Verdict(paper, [95.43] * 4, ROUNDING).word for paper in (95.4, 95.5)] == [WITHIN, APART]
    assert Verdict(95.5, [95.43] * 4, ROUNDING).score is None


def test_cells_that_share_their_draws_have_a_verdict_together():
    verdict = together([Verdict(70.0, [60.0, 62.0, 64.0], 0.05), Verdict(80.0, [70.0, 76.0], 0.05)])
    assert verdict.paper == 75 and verdict.values == [65, 69]


def test_few_draws_are_not_judged():
    verdicts = [Verdict(50.0, values, ROUNDING) for values in ([], [90.0], [49.0, 51.0, 52.0, 51.0])]
    assert [verdict.word for verdict in verdicts] == [NOT_RUN, FEW_DRAWS, WITHIN]
    text = summary(verdicts)
    assert text.startswith("Within: 1 of 1 cells (100 %); ours - paper is +0.75 on average. Few")
    assert text.endswith("ours - paper is +40.00 on average. Not run: 1.")


class Counting:
    """Draws without training: the seeds that were requested."""

    def __init__(self):
        self.seeds = []

    def draw(self, table, name, seed, columns):
        self.seeds.append((table, name, seed))
        return {f"{columns[0]}, last": 50 + seed}


def test_a_run_continues_with_the_draws_that_a_file_lacks(tmp_path):
    file, draws = tmp_path / "papers.json", []
    for n_draws in (2, 3):
        draws.append(Counting())
        blocks = [Block(4, "noise 0", ("tau",), n_draws)]
        paper_tables.draw(blocks, Results(file), draws[-1], np.inf, lambda _: None)
    assert draws[0].seeds == [(4, "noise 0", 0), (4, "noise 0", 1)]
    assert draws[1].seeds == [(4, "noise 0", 2)]
    assert json.loads(file.read_text())["blocks"]["4: noise 0"]["cells"] == {"tau, last": [50, 51, 52]}
    assert list(tmp_path.iterdir()) == [file]


def test_artificial_data_need_no_files(monkeypatch):
    monkeypatch.delenv("MARGINS_DATA", raising=False)
    assert {block.name for block in blocks_of((3, 4, 6, 7))} == set(PUBLISHED["4"])


def test_every_printed_cell_belongs_to_a_block(monkeypatch):
    monkeypatch.setattr(runs, "present", lambda name: True)
    blocks = {(block.key, column) for block in blocks_of(runs.TABLES) for column in block.columns}
    for table in (3, 4, 6, 7):
        for cell in cells_of(table):
            assert (cell.block, cell.row[1]) in blocks, cell
    n_draws = {block.name: block.n_draws for block in blocks_of((6,), n_draws=4)}
    assert n_draws["sonar, svm"] == n_draws["sonar"] == 4
    assert n_draws[f"sonar, {IN_FILE_ORDER}"] == 1  # which has no other draw


def test_readings_of_the_artificial_data_differ_in_what_they_say():
    X, y = paper_readings.halfspace(0.0, 0)
    assert X.shape == (600, 50) and set(y) == {-1, 1}
    fewer, _ = paper_readings.halfspace(0.0, 0, replaced=False)
    assert len(fewer) < 600 and np.array_equal(fewer, X[: len(fewer)])
    positive = [paper_readings.halfspace(0.0, 0, share=share)[1].mean() for share in (0.0, 0.5, 1.0)]
    assert positive == sorted(positive, reverse=True) and positive[1] == y.mean()
    assert paper_readings.halfspace(0.0, 0, sign=-1)[1].mean() > positive[0]
    assert paper_readings.halfspace(0.0, 0, by_attribute=True)[0].shape == (600, 50)
    with_missing = np.array([[1.0, 0.5], [1.5, 0.25], [2.0, 3.0]])
    zeros, _ = paper_readings.missing_as_zero(with_missing, y)
    assert zeros.tolist() == [[1, 0.5], [0, 0.25], [2, 3]]
    assert np.array_equal(paper_readings.swapped(X, y)[1], -y)


def test_updates_are_judged_by_those_of_other_orders_of_the_samples():
    row = {
        "table": 1,
        "algorithm": "pdm",
        "margin": 0.01009,
        "n_updates": 1_000_000,
        "updates": [1_000_000, 1_100_000] * 2,
        "seconds": 2.0,
        "paper": {"margin": 0.01, "n_updates": 1_040_000.0, "seconds": 1.0, "ratio": 4.0},
    }
    title, titles, lines = paper_page.comparisons({"[2]: a9a": [row]})[2]
    assert title == "[2], Table 1" and len(titles) == len(lines[0])
    (line,) = (line for line in lines if line[:2] == ["Adult", "pdm"])
    assert line[2:5] == ["100", "100.9", "within, +0.90 %"]
    assert line[5:8] == ["1.04", "1.05 ± 0.058", "within, +1.0 %"]
    assert len(lines) == 12 and sum(line[2] == NOT_RUN for line in lines) == 11
