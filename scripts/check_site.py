"""Look at the built documentation in a browser: console errors, width, pictures, links.

    sphinx-build -W docs build/site
    python scripts/check_site.py build/site [--screenshots FOLDER] [--chromium PATH]

Links between pages, and to anchors in them, are followed in the files. The rest needs Chromium (on
Debian `apt install chromium`): every page is loaded from a server on the loopback interface, at the
width of a screen and of a telephone, light and dark. An error or warning of the console, a page that is
wider than its window, a picture that does not load, or text whose contrast with its background is below
4.5 to 1 (WCAG 2, level AA) is a fault. The exit status is 0 if there is none.
"""

import argparse
import contextlib
import functools
import html.parser
import http.server
import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import urllib.parse
from pathlib import Path

WIDTHS = {"screen": 1280, "telephone": 390}
HARNESS = "_check_site.html"
SHOWN = (
    "index.html",
    "choosing.html",
    "certificates.html",
    "command_line.html",
    "gallery/index.html",
    "algorithm_pages/pdm.html",
)
# Loads each page in a frame and gathers what is wrong with it; the result is the text of the page.
SCRIPT = r"""<!doctype html><meta charset="utf-8"><body><script>
const pages = %s, width = %d, theme = %s, faults = [];
const channel = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
function colour(text) {  // [red, green, blue, opacity]
  const [r, g, b, a = 1] = text.match(/[\d.]+/g).map(Number);
  return text.startsWith("color(") ? [255 * r, 255 * g, 255 * b, a] : [r, g, b, a];
}
const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3]));
function background(element, view) {
  if (!element) return [255, 255, 255];
  const own = colour(view.getComputedStyle(element).backgroundColor);
  return own[3] === 1 ? own : over(own, background(element.parentElement, view));
}
function faint(inside) {  // the text of the lowest contrast below 4.5
  const view = inside.defaultView;
  let worst = null, least = 4.5;
  for (const element of inside.querySelectorAll("body *")) {
    const texts = [...element.childNodes].filter(n => n.nodeType === 3 && n.data.trim());
    if (!texts.length || !element.getClientRects().length) continue;
    if (element.closest("svg, mjx-container, script")) continue;
    const style = view.getComputedStyle(element);
    if (style.visibility === "hidden" || style.opacity === "0") continue;
    const below = background(element, view);
    const pair = [over(colour(style.color), below), below].map(luminance).sort((a, b) => b - a);
    const contrast = (pair[0] + 0.05) / (pair[1] + 0.05);
    if (contrast < least - 0.01) [worst, least] = [texts[0].data.trim().slice(0, 40), contrast];
  }
  return worst && `contrast ${least.toFixed(2)} of "${worst}"`;
}
async function look(page) {
  const frame = document.createElement("iframe");
  frame.style.cssText = `width:${width}px;height:900px;border:0`;
  localStorage.setItem("mode", theme); localStorage.setItem("theme", theme);
  document.body.appendChild(frame);
  await new Promise(done => {
    frame.onload = done;
    frame.src = page;
    const timer = setInterval(() => {  // before its scripts run
      const inner = frame.contentWindow;
      if (inner && !inner.watched && inner.location.href !== "about:blank") {
        inner.watched = true;
        const note = e => faults.push([page, "error: " + (e.message || e.target.src || e.target.href)]);
        inner.addEventListener("error", note, true);
        for (const kind of ["error", "warn"])
          inner.console[kind] = (...text) => faults.push([page, `console.${kind}: ${text.join(" ")}`]);
        clearInterval(timer);
      }
    }, 1);
    setTimeout(() => { clearInterval(timer); done(); }, 8000);
  });
  await new Promise(done => setTimeout(done, 150));
  const inside = frame.contentDocument;
  const shown = inside.documentElement.dataset.theme;
  if (shown !== theme) faults.push([page, `theme ${shown} instead of ${theme}`]);
  const excess = inside.documentElement.scrollWidth - width;
  if (excess > 1) faults.push([page, `wider than ${width} pixels by ${excess}`]);
  for (const image of inside.images)
    if (image.complete && image.naturalWidth === 0)
      faults.push([page, "picture not loaded: " + image.src]);
  const still = inside.createElement("style");  // colours that still change would be measured half-way
  still.textContent = "* { transition: none !important; }";
  inside.head.appendChild(still);
  for (const mode of ["light", "dark"]) {
    inside.documentElement.dataset.theme = mode;
    const text = faint(inside);
    if (text) faults.push([page, `${mode}: ${text}`]);
  }
  inside.documentElement.dataset.theme = shown;
  frame.remove();
}
(async () => {
  for (const page of pages) await look(page);
  document.body.textContent = "FAULTS" + JSON.stringify(faults) + "END";
})();
</script></body>"""


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
    """The pages of a site, but for sources with colours, as paths relative to it: list of str."""
    paths = (path.relative_to(site) for path in site.rglob("*.html"))
    return sorted(
        path.as_posix() for path in paths if path.parts[0] not in ("_static", "_modules", HARNESS)
    )


def broken_links(site):
    """Links that lead to no file, or to no anchor of it: list of (page, link)."""
    parsed = {}
    for page in pages_of(site):
        parsed[page] = Links()
        parsed[page].feed((site / page).read_text(encoding="utf-8"))
    broken = []
    for page, found in parsed.items():
        for link in found.links:
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
    """A server of a folder, on a free port of the loopback interface: its address."""

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
    """Run Chromium without a screen: its standard output."""
    with tempfile.TemporaryDirectory() as profile:
        command = [
            *(chromium, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"),
            *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
            *("--disable-quic", "--hide-scrollbars", f"--user-data-dir={profile}", *arguments),
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=True)
    return done.stdout


def faults_in_browser(site, chromium, width, theme):
    """What is wrong with the pages at a width: list of [page, fault]."""
    pages = pages_of(site)
    harness = site / HARNESS
    harness.write_text(SCRIPT % (json.dumps(pages), width, json.dumps(theme)), encoding="utf-8")
    try:
        with served(site) as address:
            text = browse(
                chromium,
                f"--window-size={width + 100},1000",
                f"--virtual-time-budget={2000 * len(pages) + 20000}",
                "--dump-dom",
                f"{address}/{HARNESS}",
            )
    finally:
        harness.unlink()
    found = re.search(r"FAULTS(\[.*\])END", text, re.DOTALL)
    if found is None:
        return [["", f"the browser has not looked at all pages at width {width}"]]
    return json.loads(found[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))


def screenshots(site, chromium, folder, pages):
    """Write pictures of some pages, at each width."""
    folder.mkdir(parents=True, exist_ok=True)
    with served(site) as address:
        for page in pages:
            for name, width in WIDTHS.items():
                file = folder / f"{page.removesuffix('.html').replace('/', '-')}-{name}.png"
                browse(
                    chromium,
                    f"--window-size={width},1400",
                    "--virtual-time-budget=5000",
                    f"--screenshot={file}",
                    f"{address}/{page}",
                )


def main(arguments=None):
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("site", type=Path, help="the folder that sphinx-build has written")
    parser.add_argument("--screenshots", type=Path, help="write pictures of some pages here")
    parser.add_argument("--chromium", default=shutil.which("chromium"), help="the browser")
    given = parser.parse_args(arguments)
    if not (given.site / "index.html").exists():
        parser.error(f"site must be a folder with index.html. Got {given.site}.")
    faults = [[page, f"broken link: {link}"] for page, link in broken_links(given.site)]
    if given.chromium is None:
        print("Chromium is not installed: links were checked, nothing else.")
    else:
        for width, theme in ((WIDTHS["screen"], "light"), (WIDTHS["telephone"], "dark")):
            faults += faults_in_browser(given.site, given.chromium, width, theme)
        if given.screenshots is not None:
            screenshots(given.site, given.chromium, given.screenshots, SHOWN)
    for page, fault in faults:
        print(f"{page}: {fault}")
    print(f"{len(pages_of(given.site))} pages, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
