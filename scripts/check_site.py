"""Look at the built documentation in a browser: console errors, width, pictures, links.

    sphinx-build -W docs build/site
    python scripts/check_site.py build/site [--chromium PATH] [--sample SEED]

Links between pages, and to anchors in them, are followed in the files. The rest needs Chromium (on
Debian `apt install chromium`): every page is loaded from a server on the loopback interface, in the
light and the dark theme in turn, and made as wide as a screen and a telephone. An error or warning of
the console, a page that is wider than its window, a picture that does not load, or text whose contrast
with its background is below 4.5 to 1 in a theme (WCAG 2, level AA) is a fault. The exit status is 0 if
there is none. With a seed, the browser loads a third of the pages that are made from docstrings.
"""

import argparse
import contextlib
import functools
import html.parser
import http.server
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import urllib.parse
from pathlib import Path
from string import Template

WIDTHS = [1280, 390]  # of a screen and of a telephone
OF_DOCSTRINGS = ("_generated/", "algorithm_pages/")
HARNESS = "_check_site.html"
# Loads each page in a frame; the result is the text of the page.
SCRIPT = Template(Path(__file__).with_suffix(".html").read_text(encoding="utf-8"))


class Links(html.parser.HTMLParser):
    """The links of a page, and the anchors in it."""

    def __init__(self):
        super().__init__()
        self.links, self.anchors = [], {""}

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)
            elif name in ("href", "src") and value is not None:
                self.links.append(value)


def pages_of(site):
    """Return the paths of the pages of a site, except for highlighted sources: list of str."""
    paths = (path.relative_to(site) for path in site.rglob("*.html"))
    return sorted(
        path.as_posix() for path in paths if path.parts[0] not in ("_static", "_modules", HARNESS)
    )


def broken_links(site):
    """Return the links that lead to no file, or to no anchor of it: list of (page, link)."""
    parsed = {}
    for page in pages_of(site):
        parsed[page] = Links()
        parsed[page].feed((site / page).read_text(encoding="utf-8"))
    broken = []
    for page, links in parsed.items():
        for link in links.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc or link.startswith(("data:", "#")) and link in ("#",):
                continue
            path = urllib.parse.unquote(parts.path)
            target = (site / page).parent.joinpath(path).resolve() if path else (site / page).resolve()
            if target.is_dir():
                target = target / "index.html"
            if not target.exists():
                broken.append((page, link))
                continue
            name = target.relative_to(site.resolve()).as_posix()
            anchor = urllib.parse.unquote(parts.fragment)
            if name in parsed and anchor not in parsed[name].anchors:
                broken.append((page, link))
    return broken


@contextlib.contextmanager
def served(folder):
    """Serve a folder on a free port of the loopback interface, and yield the address."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            """Print nothing."""

    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def browse(chromium, *arguments, seconds=300):
    """Run Chromium without a screen, and return its standard output."""
    with tempfile.TemporaryDirectory() as profile:
        command = [
            *(chromium, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"),
            *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
            *("--disable-quic", "--hide-scrollbars", f"--user-data-dir={profile}", *arguments),
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=True)
    return done.stdout


def sample_of(pages, seed):
    """Return the pages but two thirds of those of docstrings, drawn by the seed: list of str."""
    generated = [page for page in pages if page.startswith(OF_DOCSTRINGS)]
    left_out = set(random.Random(seed).sample(generated, 2 * len(generated) // 3))
    return [page for page in pages if page not in left_out]


def faults_in_browser(site, chromium, pages):
    """Return the faults of some pages: list of [page, fault]."""
    harness = site / HARNESS
    harness.write_text(SCRIPT.substitute(pages=json.dumps(pages), widths=WIDTHS), encoding="utf-8")
    try:
        with served(site) as address:
            text = browse(
                chromium,
                f"--window-size={max(WIDTHS) + 100},1000",
                f"--virtual-time-budget={2000 * len(pages) + 20000}",
                "--dump-dom",
                f"{address}/{HARNESS}",
            )
    finally:
        harness.unlink()
    match = re.search(r"FAULTS(\[.*\])END", text, re.DOTALL)
    if match is None:
        return [["", "the browser has not looked at all pages"]]
    return json.loads(match[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))


def main(arguments=None):
    """Run the command line, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("site", type=Path, help="the folder that sphinx-build has written")
    parser.add_argument("--chromium", default=shutil.which("chromium"), help="the browser")
    parser.add_argument("--sample", type=int, metavar="SEED", help="not all pages of docstrings")
    options = parser.parse_args(arguments)
    if not (options.site / "index.html").exists():
        parser.error(f"site must be a folder with index.html. Got {options.site}.")
    faults = [[page, f"broken link: {link}"] for page, link in broken_links(options.site)]
    if options.chromium is None:
        print("Chromium is not installed: links were checked, nothing else.")
    else:
        pages = pages_of(options.site)
        if options.sample is not None:
            pages = sample_of(pages, options.sample)
        faults += faults_in_browser(options.site, options.chromium, pages)
    for page, fault in faults:
        print(f"{page}: {fault}")
    print(f"{len(pages_of(options.site))} pages, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
