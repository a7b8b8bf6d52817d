"""What `scripts/check_site.py` finds in a site of a few pages."""

import shutil

import check_site
import pytest

PAGE = '<!doctype html><html data-theme="light"><h1 id="{}">x</h1><a href="{}">y</a></html>'
GOOD = PAGE.format("top", "other.html#there")
OTHER = PAGE.format("there", "#there")
FAULTS = {
    "broken link": GOOD.replace("other.html", "missing.html"),
    "broken anchor": GOOD.replace("#there", "#elsewhere"),
}
IN_BROWSER = {
    "console.error: wrong": GOOD.replace("</html>", "<script>console.error('wrong')</script></html>"),
    "wider than 390": GOOD.replace("<h1", "<div style='width:600px'>x</div><h1"),
    "picture not loaded": GOOD.replace("<h1", "<img src='missing.png'><h1"),
    "theme light instead of dark": GOOD,
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


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="Chromium is not installed")
@pytest.mark.parametrize("fault", IN_BROWSER)
def test_faults_that_a_browser_shows_are_found(site, fault):
    (site / "index.html").write_text(IN_BROWSER[fault])
    theme = "dark" if "theme" in fault else "light"
    found = check_site.faults_in_browser(site, shutil.which("chromium"), 390, theme)
    assert any(page == "index.html" and text.startswith(fault) for page, text in found), found
    assert theme == "dark" or all(page == "index.html" for page, _ in found)
