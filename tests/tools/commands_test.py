"""commands_test: every command that README.md and CONTRIBUTING.md show is right.

A command is run as it stands there.  Those that take minutes, change the tree or would run
this test again are checked in a cheaper form: CHEAPER says how, and why."""
import os
import re
import shlex
import subprocess
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BUILD = os.path.join(ROOT, "build", "test")
DOCUMENTS = ("README.md", "CONTRIBUTING.md")
COMMAND = re.compile(r"(?:[A-Z_]+=\S+ )*(?:make|tools/[\w-]+|build/test/\S+|\.ci/run)(?=$|\s)")
SECONDS = 300


def run(command):
    """Status and output."""
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    done = subprocess.run(command, shell=True, cwd=ROOT, env=env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=SECONDS, check=False)
    return done.returncode, done.stdout


# What follows returns what is wrong with the command, or "".

def as_shown(command):
    status, text = run(command)
    return f"exit {status}\n{text}" if status != 0 else ""


def would_run(command):
    """make knows the target, and the tools that it would call are there."""
    status, text = run("make -n" + command[len("make"):])
    if status != 0:
        return text
    missing = [tool for tool in re.findall(r"(?:^|\s)(tools/[\w-]+)", text)
               if not os.access(os.path.join(ROOT, tool), os.X_OK)]
    return f"not there: {' '.join(missing)}" if missing else ""


def rungs_exist(command):
    rungs = [word.partition("=")[2] for word in shlex.split(command) if word.startswith("RUNGS=")]
    known = run("tools/ladder --list")[1].split()
    unknown = [rung for rung in " ".join(rungs).split() if rung not in known]
    return f"no rung {' '.join(unknown)}" if unknown else would_run(command)


def area_exists(command):
    for word in shlex.split(command):
        area = word.partition("=")[2]
        if word.startswith("AREA=") and area != "…" and not os.path.isfile(
                os.path.join(ROOT, "tools", "accept.d", area)):
            return f"no area {area}"
    return would_run(command)


def once(command):
    return as_shown(re.sub(r"^tools/noise \d+", "tools/noise 1", command))


def listed(command):
    status, text = run(command)
    return "" if status < 2 and text.endswith(" proven\n") else text


def is_there(command):
    program = shlex.split(command)[0]
    return "" if os.access(os.path.join(ROOT, program), os.X_OK) else f"{program} is not there"


# (pattern, check, reason): the first that matches.
CHEAPER = (
    (r"make (run|all|install)\b", would_run, "builds; example_tour and install_test run the rest"),
    (r"make test\b", would_run, "would run this test again"),
    (r"make check\b", rungs_exist, "would run this test again"),
    (r"make accept\b", area_exists, "takes minutes"),
    (r"make (bench|bench-instructions|explore|park-kernel)\b", would_run, "takes minutes"),
    (r"make site\b", would_run, "installs packages; site_test makes the site"),
    (r"tools/manual (pages|fill)\b|tools/abi-dump\b", is_there, "changes the tree"),
    (r"make (format|clean)\b", would_run, "changes the tree"),
    (r"tools/noise \d", once, "30 runs take minutes"),
    (r"tools/noise --unproven", listed, "fails as long as it lists a test"),
    (r"tools/setup$", is_there, "wants to know what for"),
    (r"tools/(explore|fresh|ladder|mutate|accept|fuzz|instructions)\b|\.ci/run", is_there, "takes minutes"),
)


def commands(text):
    """Those of indented blocks, without comments, and those between backquotes."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    found = [line.partition(" # ")[0].strip() for line in text.split("\n")
             if line.startswith("    ")]
    for comment in re.findall(r"^    .*? # (.*)", text, re.M):
        found += re.findall(r"make \w+ \w+=\"[^\"]*\"", comment)
    found += re.findall(r"(?<!`)`([^`\n]+)`", text)
    return [command for command in dict.fromkeys(found) if COMMAND.match(command)]


def wrong(command):
    # (A variable before the command is the same to make as one behind it.)
    plain = re.sub(r"^((?:[A-Z_]+=\S+ )+)(make\b.*)", r"\2 \1", command).strip()
    for pattern, check, _ in CHEAPER:
        if re.match(pattern, plain):
            return check(plain)
    return as_shown(command)


class CommandsTest(unittest.TestCase):
    def setUp(self):
        if not os.path.isdir(os.path.join(BUILD, "tests")):
            self.skipTest("no build/test: make test builds it")

    def shown(self):
        for document in DOCUMENTS:
            with open(os.path.join(ROOT, document), encoding="utf-8") as f:
                for command in commands(f.read()):
                    yield document, command

    def test_every_command_is_right(self):
        shown = list(self.shown())
        self.assertGreater(len(shown), 15)
        for document, command in shown:
            with self.subTest(document=document, command=command):
                self.assertEqual(wrong(command), "")

    def test_every_make_target_stands_in_the_help(self):
        targets = {line.split()[0] for line in run("make help")[1].splitlines()}
        for document, command in self.shown():
            if command.startswith("make "):
                self.assertIn(command.split()[1], targets, document)

    def test_wrong_commands_are_found(self):
        text = ("words\n\n"
                "    make nosuch     # a comment\n"
                "    make check      # all; make check RUNGS=\"asan nosuch\" for a part\n"
                "    build/test/tests/inbox_test --repeat 100 no_such_test\n"
                "    build/test/tests/no_such_program\n\n"
                "`tools/nosuch` and `make accept AREA=nosuch`, `tools/noise 30 nosuch`, `make nosuch2`\n")
        bad = [command for command in commands(text) if wrong(command)]
        self.assertEqual(bad, [
            "make nosuch", "build/test/tests/inbox_test --repeat 100 no_such_test",
            "build/test/tests/no_such_program", "make check RUNGS=\"asan nosuch\"",
            "tools/nosuch", "make accept AREA=nosuch", "tools/noise 30 nosuch", "make nosuch2"])

    def test_what_is_no_command_is_not_run(self):
        self.assertEqual(commands("    wait: keep the early wake\n    base  os  wait\n`cc_spawn`,\n"
                                  "```c\n    make love;\n```\n`tools/accept.d/`\n"), [])


if __name__ == "__main__":
    unittest.main()
