#!/usr/bin/env python3
"""browser.py SITE: opens the site in headless Chromium, at two widths, and follows every link.

Fails on a page that the server does not have, on a picture that does not load, on a page that is wider
than its window, on an empty page, on text smaller than 10 pixels,
and on any message on the browser's console that is an error.
"""
import functools
import http.server
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading

WIDTHS = (390, 1280)
TIMEOUT = 900
CRAWL = """<!doctype html><title>crawl</title><link rel="icon" href="data:,"><body><script>
const report = { pages: 0, links: 0, wrong: [] };
window.onerror = text => report.wrong.push("script: " + text);
const load = (frame, url) => new Promise(done => { frame.onload = done; frame.src = url; });
async function crawl(width) {
  const frame = document.createElement("iframe");
  frame.style.cssText = `width:${width}px;height:800px;border:0`;
  document.body.append(frame);
  const todo = ["/index.html"], seen = new Set(todo);
  while (todo.length) {
    const url = todo.pop();
    await load(frame, url);
    const page = frame.contentDocument, say = text => report.wrong.push(`${width} ${url}: ${text}`);
    if (!page || !page.body || !page.title) { say("no page"); continue; }
    report.pages++;
    const root = page.documentElement;
    if (root.scrollWidth > width) {
      const wide = [...page.body.querySelectorAll("*")].filter(e =>
        e.getBoundingClientRect().right > width + 1 && !e.closest("pre, .wide, .Bd"));
      say(`${root.scrollWidth} pixels wide: ${wide.length ? wide[0].outerHTML.slice(0, 120) : "?"}`);
    }
    if (page.body.innerText.trim().length < 80) say("empty");
    if (parseFloat(getComputedStyle(page.body).fontSize) < 10) say("small text");
    for (const image of page.images)
      if (!image.naturalWidth) say("picture " + image.src);
    for (const a of page.querySelectorAll("a[href]")) {
      const to = new URL(a.href);
      report.links++;
      if (to.origin !== location.origin) continue;
      if (to.pathname === new URL(url, location).pathname && to.hash
          && !page.getElementById(decodeURIComponent(to.hash.slice(1)))) say("no " + to.hash);
      if (!seen.has(to.pathname)) { seen.add(to.pathname); todo.push(to.pathname); }
    }
  }
  frame.remove();
}
(async () => {
  for (const width of %s) await crawl(width);
  await fetch("/report", { method: "POST", body: JSON.stringify(report) });
})();
</script>"""


class Handler(http.server.SimpleHTTPRequestHandler):
    missing, report, done = [], {}, threading.Event()

    def do_GET(self):
        if self.path == "/crawl":
            body = (CRAWL % list(WIDTHS)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            return
        super().do_GET()

    def do_POST(self):
        Handler.report = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(204)
        self.end_headers()
        Handler.done.set()

    def send_error(self, code, message=None, explain=None):
        Handler.missing.append(f"{self.path}: {code}")
        super().send_error(code, message, explain)

    def log_message(self, format, *args):
        pass


def browse(address):
    """What the browser wrote to its console as an error; the report is in Handler."""
    with tempfile.TemporaryDirectory() as profile:
        command = [shutil.which("chromium"), "--headless", "--no-sandbox", "--disable-gpu",
                   "--disable-background-networking", "--disable-component-update", "--disable-sync",
                   "--no-first-run", "--disable-dev-shm-usage", "--enable-logging=stderr",
                   f"--user-data-dir={profile}", "--remote-debugging-port=0", f"{address}/crawl"]
        with open(os.path.join(profile, "log"), "w+", encoding="utf-8", errors="replace") as log:
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log)
            try:
                good = Handler.done.wait(TIMEOUT)
            finally:
                process.terminate()
                process.wait(30)
            log.seek(0)
            errors = [line.strip() for line in log if ":CONSOLE" in line]
        return errors + ([] if good else ["no report from the browser"])


def main():
    if not shutil.which("chromium"):
        print("skip  no chromium")
        return 77
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0),
                                             functools.partial(Handler, directory=sys.argv[1]))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    wrong = browse(f"http://127.0.0.1:{server.server_address[1]}")
    server.shutdown()
    wrong += Handler.missing + Handler.report.get("wrong", [])
    for line in wrong:
        print(line)
    print(f"{Handler.report.get('pages', 0)} pages at {len(WIDTHS)} widths, "
          f"{Handler.report.get('links', 0)} links, {len(wrong)} wrong")
    return 1 if wrong or not Handler.report.get("pages") else 0


if __name__ == "__main__":
    sys.exit(main())
