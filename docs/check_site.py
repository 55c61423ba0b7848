#!/usr/bin/env python3
# SPDX-FileCopyrightText: The nanoserve authors
# SPDX-License-Identifier: Apache-2.0
"""check_site.py FOLDER [--browser chromium]: what Doxygen doesn't notice about the site it wrote.

Without a browser: links and anchors that lead nowhere (in pages, diagrams, menu, tree and search index),
pictures, scripts and style sheets that are missing or come from a network, and files that MathJax would
look for in vain. With one, also: every page opens on a narrow screen without an
error in the console, scrolls down only, and shows all its pictures and formulas; the search finds something.

Prints one line for each thing that is wrong. Exit status: 0 nothing is, 1 something is, 2 wrong usage.
"""
import argparse
import html
import json
import re
import subprocess
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {("script", "src"), ("img", "src"), ("iframe", "src"), ("embed", "src"), ("object", "data"),
          ("source", "src"), ("link", "href")}
NARROW = 390  # CSS pixels
BROWSER = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
           "--disable-background-networking", "--disable-component-update", "--disable-sync",
           "--allow-file-access-from-files", "--enable-logging=stderr", "--virtual-time-budget=300000",
           "--dump-dom"]


class Page(HTMLParser):
    """A page's anchors, what it links to, and what it loads."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.loads = set(), [], []
        self.has_formula = re.search(r"\\\(|\\\[", text) is not None
        self.mathjax = re.search(r'src="([^"]*)MathJax\.js', text)
        self.extensions = re.findall(r'"([\w/]+\.js)"', "".join(re.findall(r"extensions: \[(.*?)\]", text)))
        self.jax = re.findall(r'"(\w+/\w+)"', "".join(re.findall(r"jax: \[(.*?)\]", text)))
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.anchors.update(values[name] for name in ("id", "name") if values.get(name))
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        self.loads += [values[name] for element, name in LOADED if element == tag and values.get(name)]

    handle_startendtag = handle_starttag


def is_local(address):
    return not urlsplit(address).scheme and not address.startswith("//")


def page_problems(path, page, pages):
    """Links and files of one page that aren't there."""
    for address in page.loads:
        if is_local(address):
            target = path.parent / unquote(urlsplit(address).path)
            if not target.is_file():
                yield f"loads {address}, which is missing"
        elif not address.startswith(("data:", "javascript:")):
            yield f"loads {address}, which needs a network"
    for address in filter(is_local, page.links):
        yield from link_problems(path, address, pages)


def link_problems(path, address, pages):
    parts = urlsplit(address)
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.is_file():
        yield f"links to {address}, which is missing"
    elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
        yield f"links to {address}, which has no such anchor"


def index_problems(path, pages):
    """Links in the data of menu, tree and search, and in a diagram."""
    pattern = r'xlink:href="([^"#:]+\.html[^"]*)"|\?xml-stylesheet href="([^"]+)"' if path.suffix == ".svg" \
        else r'''["']([\w./-]+\.html(?:#[\w-]*)?)["']'''
    for match in re.finditer(pattern, path.read_text(encoding="utf-8", errors="replace")):
        yield from link_problems(path, html.unescape(match.group(1) or match.group(2)), pages)


def mathjax_problems(path, page):
    """Files that MathJax 2 loads by itself when it draws a page's formulas as SVG."""
    if not page.has_formula:
        return
    if not page.mathjax or not is_local(page.mathjax.group(1)):
        yield "has formulas, and no MathJax of its own to draw them"
        return
    wanted = ["extensions/" + name for name in page.extensions + ["MathEvents.js"]]
    wanted += [f"jax/{name}/{part}" for name in page.jax for part in ("config.js", "jax.js")]
    wanted += ["jax/element/mml/jax.js", "jax/output/SVG/fonts/TeX/fontdata.js",
               "jax/output/SVG/fonts/TeX/Main/Regular/Main.js", "jax/output/SVG/fonts/TeX/Math/Italic/Main.js"]
    for name in wanted:
        if not (path.parent / page.mathjax.group(1) / name).is_file():
            yield f"needs MathJax's {name}, which is missing"


def static_problems(site):
    files = [path for path in sorted(site.rglob("*")) if path.is_file() and "mathjax" not in path.parts]
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in files if path.suffix == ".html"}
    if site / "index.html" not in pages:
        yield "index.html: there is no start page"
    for path in files:
        problems = []
        if path in pages:
            problems = [*page_problems(path, pages[path], pages), *mathjax_problems(path, pages[path])]
        elif path.suffix in (".js", ".svg") and path.name not in ("jquery.js", "search.js", "navtree.js"):
            problems = index_problems(path, pages)
        for problem in dict.fromkeys(problems):
            yield f"{path.relative_to(site)}: {problem}"


# Opens the pages one after the other in a narrow frame and writes down what is wrong with each.
PROBE = """<!DOCTYPE html><iframe id="frame" width="%d" height="844"></iframe><pre id="report"></pre><script>
const pages = %s, report = {}, frame = document.getElementById("frame");
const sleep = ms => new Promise(done => setTimeout(done, ms));
async function probe(address) {
  const loaded = new Promise(done => frame.onload = done);
  frame.src = address;
  await loaded;
  const page = frame.contentWindow, problems = [];
  for (let i = 0; page.document.querySelector("script[src*=MathJax]") && i < 100 && !page.MathJax?.isReady; ++i) await sleep(50);
  if (page.MathJax?.Hub) await new Promise(done => page.MathJax.Hub.Queue(done));
  await sleep(300);
  const all = selector => [...page.document.querySelectorAll(selector)];
  for (const picture of all("img")) if (!picture.naturalWidth) problems.push("shows no picture for " + picture.getAttribute("src"));
  for (const formula of all(".MathJax_Error, .merror, .MathJax_SVG_Processing")) problems.push("can't draw a formula: " + formula.textContent);
  if (/\\\\[(\\[]/.test(all(".contents .formulaDsp, .contents .formulaInl").map(f => f.textContent).join(""))) problems.push("shows a formula as its source");
  for (const box of [page.document.documentElement, ...all("#doc-content")])
    if (box.scrollWidth > box.clientWidth + 1) problems.push("scrolls sideways by " + (box.scrollWidth - box.clientWidth) + " of " + box.clientWidth + " pixels");
  if (page.searchBox && /index.html$/.test(address)) {
    page.setTimeout("document.getElementById('MSearchField').value = indexSectionsWithContent[0][0]; searchBox.Search()", 1);
    await sleep(1000);
    let found = [];
    try { found = [...page.frames.MSearchResults.document.querySelectorAll(".SRResult")]; } catch { /* the list didn't load */ }
    if (!found.some(entry => entry.style.display == "block")) problems.push("finds nothing by its search");
  }
  report[address] = problems;
}
(async () => {
  for (const address of pages) await probe(address);
  document.getElementById("report").textContent = JSON.stringify(report);
})();
</script>"""


def browser_problems(site, browser):
    pages = sorted(site.glob("*.html"))
    with tempfile.TemporaryDirectory() as folder:
        probe = Path(folder) / "probe.html"
        probe.write_text(PROBE % (NARROW, json.dumps([path.as_uri() for path in pages])), encoding="utf-8")
        run = subprocess.run([browser, *BROWSER, f"--user-data-dir={folder}/profile", probe.as_uri()],
                             capture_output=True, text=True, timeout=540, check=False)
    for line in run.stderr.splitlines():
        if "CONSOLE" in line:
            message = line.split("] ", 1)[-1]
            if "Unsafe attempt" not in message:
                yield f"console: {message}"
    report = re.search(r'<pre id="report">(.*?)</pre>', run.stdout, re.S)
    if not report or not report.group(1):
        yield f"{browser} gave no report:\n{run.stderr[-2000:]}"
        return
    for address, problems in json.loads(html.unescape(report.group(1))).items():
        for problem in problems:
            yield f"{Path(urlsplit(address).path).name}: {problem}"


def main():
    parser = argparse.ArgumentParser(description="Finds what is broken in the site.")
    parser.add_argument("site", type=Path)
    parser.add_argument("--browser", help="a Chromium to open the pages with")
    arguments = parser.parse_args()
    site = arguments.site.resolve()
    if not site.is_dir():
        parser.error(f"no folder {arguments.site}")
    problems = list(static_problems(site))
    if arguments.browser:
        problems += browser_problems(site, arguments.browser)
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
