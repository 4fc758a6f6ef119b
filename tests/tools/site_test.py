"""site_test: the site can be made, and each of its links leads to a page; the pictures of the tree are
those that tools/pictures draws; a link that leads nowhere is found."""
import filecmp
import glob
import os
import shutil
import subprocess
import tempfile
import unittest
import xml.dom.minidom

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
SITE = os.path.join(ROOT, "tools/site")
HAS_MARKDOWN = os.path.isdir("/usr/lib/python3/dist-packages/markdown")


class SiteTest(unittest.TestCase):
    @unittest.skipUnless(HAS_MARKDOWN and shutil.which("mandoc"), "no python3-markdown or mandoc")
    def test_site(self):
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "site")
            run = subprocess.run([SITE, out], text=True, capture_output=True, check=False)
            self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
            self.assertGreater(len(glob.glob(out + "/man/*.html")), 300)
            os.remove(os.path.join(out, "man/cc_select.3.html"))
            run = subprocess.run([SITE, "--check", out], text=True, capture_output=True, check=False)
            self.assertEqual(run.returncode, 1)
            self.assertIn("man/cc_select.3.html", run.stdout)

    def test_pictures(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([os.path.join(ROOT, "tools/pictures"), folder], check=True)
            names = sorted(os.listdir(folder))
            self.assertGreaterEqual(len(names), 4)
            same = filecmp.cmpfiles(folder, os.path.join(ROOT, "docs/pictures"), names, shallow=False)
            self.assertEqual(same[0], names, "tools/pictures is needed")
            for name in names:
                xml.dom.minidom.parse(os.path.join(folder, name))


if __name__ == "__main__":
    unittest.main()
