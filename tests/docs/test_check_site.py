"""What `scripts/check_site.py` finds in a site of a few pages."""

import shutil

import check_site
import pytest

THEME = "<script>document.documentElement.dataset.theme = localStorage.theme</script>"
PAGE = "<!doctype html><html>" + THEME + '<h1 id="{}">x</h1><a href="{}">y</a></html>'
GOOD = PAGE.format("top", "other.html#there")
OTHER = PAGE.format("there", "#there")
FAULTS = {
    "broken link": GOOD.replace("other.html", "missing.html"),
    "broken anchor": GOOD.replace("#there", "#elsewhere"),
}
FAINT = "@media (width < 400px) { [data-theme=dark] h1 { color: white } }"
IN_BROWSER = {
    "console.error: wrong": GOOD.replace(
        "</html>", "<script>setTimeout(() => console.error('wrong'), 50)</script></html>"
    ),
    "wider than 390": GOOD.replace("<h1", "<div style='width:600px'>x</div><h1"),
    "picture not loaded": GOOD.replace("<h1", "<img src='missing.png'><h1"),
    "theme x instead of light": GOOD.replace("localStorage.theme", "'x'"),
    "dark, 390 pixels: contrast 1.00": GOOD.replace("<h1", f"<style>{FAINT}</style><h1"),
}


@pytest.fixture
def site(tmp_path):
    (tmp_path / "index.html").write_text(GOOD)
    (tmp_path / "other.html").write_text(OTHER)
    return tmp_path


def test_links_and_anchors_that_lead_somewhere_are_accepted(site):
    assert check_site.broken_links(site) == []


@pytest.mark.parametrize("fault", FAULTS)
def test_links_that_lead_nowhere_are_found(site, fault):
    (site / "index.html").write_text(FAULTS[fault])
    ((page, link),) = check_site.broken_links(site)
    assert page == "index.html" and link in FAULTS[fault]


def test_every_page_of_docstrings_is_in_some_sample():
    written, pages = ["index.html"], [f"_generated/{number}.html" for number in range(9)]
    samples = [check_site.sample_of(pages + written, seed) for seed in range(20)]
    assert all(set(written) < set(sample) and len(sample) == 4 for sample in samples)
    assert set().union(*samples) == {*pages, *written}


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="Chromium is not installed")
@pytest.mark.parametrize("fault", IN_BROWSER)
def test_faults_that_a_browser_shows_are_found(site, fault):
    (site / "index.html").write_text(IN_BROWSER[fault])
    found = check_site.faults_in_browser(site, shutil.which("chromium"), check_site.pages_of(site))
    assert any(text.startswith(fault) for _, text in found), found
    assert all(page == "index.html" for page, _ in found)
