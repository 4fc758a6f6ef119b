"""lint_test: every rule of tools/lint catches what is planted for it, and lets
through what only looks alike."""
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
LINT = os.path.join(ROOT, "tools", "lint")

CLEAN = {
    "src/os/atomic.h": "#define cc__load(a) __atomic_load_n(a, 0)\nstatic volatile int x;\n",
    "src/os/linux.c": "#ifdef __x86_64__\n#endif\n#include <pthread.h>\n_Thread_local int t;\n"
                      "int f(void) { return syscall(SYS_futex) + clock_gettime(0, 0); }\n",
    "src/wait/word.c": '#include "wait/word.h"\n#include "os/atomic.h"\n'
                       '/* volatile, pthread_mutex and getenv in words only */\n'
                       'const char *s = "getenv pthread_create";\n',
    "src/wait/word.h": "int cc__futex_wait(int *a);\n",
    "src/runtime/config.c": '#include "sched/x.h"\nchar *f(void) { return getenv("CC_X"); }\n',
    "include/ccc/ccc.h": """\
#ifndef CCC_CCC_H
#define CCC_CCC_H
#include <stdint.h>
#include <ccc/base.h>
#ifdef __cplusplus
extern "C" {
#endif
#define CC_API __attribute__((visibility("default")))
typedef int64_t cc_time;
typedef struct CCChan CCChan;
typedef void (*CCThunk)(void *arg);
typedef struct CCConfig {
	int workers;
	void *(*alloc)(void *ctx, size_t size);
} CCConfig;
enum { CC_ONE, CC_TWO = 2 };
typedef enum CCKind { CC_A, CC_B } CCKind;
/* Spawns it.
 *
 * Returns 0, or
 *   EINVAL      `run` is NULL
 *
 * Any thread.  Never parks. */
CC_API int cc_spawn(void (*run)(void *), void *arg);

/* Returns 1.
 *
 * Any thread.  Never parks. */
static inline int cc_one(void) { return 1; }
#ifdef __cplusplus
}
#endif
#endif
""",
    "tools/x": "#!/bin/sh\nroot=$dir/root\n",
}


def lint(files):
    with tempfile.TemporaryDirectory() as root:
        for path, text in {**CLEAN, **files}.items():
            path = os.path.join(root, path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
        run = subprocess.run([sys.executable, LINT, root], capture_output=True, text=True)
    return run.returncode, run.stdout + run.stderr


class LintTest(unittest.TestCase):
    def caught(self, rule, path, text):
        status, out = lint({path: text})
        self.assertEqual(status, 1, out)
        self.assertIn(f"{path}:", out)
        self.assertIn(f": {rule}:", out)
        self.assertIn("lint: 1 found", out)

    def passes(self, path, text):
        status, out = lint({path: text})
        self.assertEqual(status, 0, out)
        return out

    def test_clean_tree_passes(self):
        self.assertIn("0 found, 0 long", self.passes("src/sched/x.h", "int x;\n"))

    def test_the_project_itself_passes(self):
        run = subprocess.run([sys.executable, LINT, ROOT], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stdout)

    def test_atomic(self):
        for text in ("_Atomic int x;", "x = __atomic_load_n(&y, 0);", "#include <stdatomic.h>",
                     "volatile int x;", "atomic_store(&x, 1);", "__sync_synchronize();"):
            self.caught("atomic", "src/sched/a.c", text + "\n")

    def test_futex(self):
        self.caught("futex", "src/wait/a.c", "#include <linux/futex.h>\n")
        self.caught("futex", "src/wait/a.c", "r = syscall(n);\n")

    def test_clock(self):
        self.caught("clock", "src/sched/a.c", "clock_gettime(CLOCK_MONOTONIC, &t);\n")
        self.caught("clock", "src/sched/a.c", "nanosleep(&t, NULL);\n")

    def test_thread(self):
        self.caught("thread", "src/base/lock.c", "pthread_mutex_lock(&m);\n")
        self.caught("thread", "include/ccc/a.h", "#include <pthread.h>\n")

    def test_tls(self):
        for word in ("_Thread_local", "__thread", "thread_local"):
            self.caught("tls", "src/sched/a.c", f"static {word} int x;\n")

    def test_lock(self):  # covers: SCH-44/l
        for call in ("cc__lock_take(&l)", "cc__lock_drop(&l)", "cc__lock_slow(&l)"):
            self.caught("lock", "src/sched/a.c", call + ";\n")
        self.passes("src/sched/a.c", "cc__lock(&l, R); cc__unlock(&l); cc__lock_pass(&l);\n")
        self.passes("src/base/lock.h", "cc__lock_take(&l);\n")

    def test_word(self):  # covers: LIF-26/l
        for call in ("cc__word_park(p)", "cc__word_abort(p)", "cc__word_wake(p, t)",
                     "cc__switch_away(p, t, d)", "cc__thread_sleep(p, t, d)"):
            self.caught("word", "src/chan/a.c", call + ";\n")
        for call in ("cc__word_commit(p)", "cc__word_yield(p)", "cc__word_claim(p, 1)"):
            self.caught("word", "src/task/frame.c", call + ";\n")
            self.passes("src/sched/switch.c", call + ";\n")
        self.caught("word", "src/sched/in_place.c", "cc__word_yield(p);\n")
        self.passes("src/sched/worker.h", "cc__word_claim(p, 1);\n")
        self.passes("src/wait/a.c", "cc__word_wake(p, t);\n")
        self.passes("src/chan/a.c", "cc__wait(q, w, d); cc__fiber_wake(p, t);\n")

    def test_platform(self):
        for text in ("#ifdef __linux__", "#if defined(__x86_64__)", "#elif __aarch64__",
                     "#ifndef _WIN32", "# if !defined __APPLE__"):
            self.caught("platform", "src/base/a.h", text + "\n")
        self.passes("src/base/a.h", "#if defined(__SANITIZE_ADDRESS__)\n#endif\n")

    def test_getenv(self):
        self.caught("getenv", "src/runtime/start.c", 'x = getenv("CC_X");\n')
        self.caught("getenv", "src/debug/a.c", 'x = secure_getenv("CC_X");\n')

    def test_layer(self):
        self.caught("layer", "src/os/list.h", '#include "base/lock.h"\n')
        self.caught("layer", "src/wait/a.c", '#include "task/frame.h"\n')
        self.caught("layer", "src/chan/a.h", '#include "runtime/runtime.h"\n')
        self.caught("layer", "src/chan/a.h", '#include "../sync/mutex.h"\n')
        self.passes("src/chan/a.h", '#include "task/frame.h"\n#include "chan/b.h"\n')

    def test_waitable(self):
        for name in ("runq_push", "inbox_take", "global_pop", "worker_here"):
            self.caught("waitable", "src/chan/a.c", f"x = cc__{name}(y);\n")
            self.caught("waitable", "src/sync/a.c", f"x = cc__{name}(y);\n")
            self.passes("src/scope/a.c", f"x = cc__{name}(y);\n")
        self.passes("src/chan/a.c", "cc__schedule(y);\n")

    def test_public_headers_count_as_their_layer(self):
        self.caught("layer", "src/park/a.c", "#include <ccc/local.h>\n")
        self.caught("layer", "src/sched/a.c", "#include <ccc/runtime.h>\n")
        self.caught("layer", "src/sched/a.c", "#include <ccc/unheard_of.h>\n")
        self.passes("src/scope/a.c", "#include <ccc/local.h>\n#include <ccc/base.h>\n")
        listed = {"src/park/a.c": "#include <ccc/local.h>\n",
                  "tools/lint.d/upward.txt": "src/park/a.c:ccc/local.h a reason\n"}
        self.assertEqual(lint(listed)[0], 0)
        status, out = lint({**listed, "src/park/b.c": "#include <ccc/local.h>\n"})
        self.assertEqual(status, 1, out)
        status, out = lint({**listed, "src/park/a.c": "int x;\n"})
        self.assertEqual(status, 0, out)
        self.assertIn("hint: tools/lint.d/upward.txt: src/park/a.c:ccc/local.h", out)

    CYCLE = {"src/sched/a.h": '#include "sched/b.h"\n', "src/sched/b.c": '#include "sched/c.h"\n',
             "src/sched/c.h": '#include "sched/a.h"\n', "src/sched/d.h": '#include "sched/a.h"\n'}

    def test_cycle_of_modules(self):
        status, out = lint(self.CYCLE)  # by b.c, whose module is b.h's
        self.assertEqual(status, 1, out)
        self.assertIn("cycle: 3 modules of sched include each other: a b c\n", out)
        self.assertIn("lint: 1 found", out)
        del (tree := dict(self.CYCLE))["src/sched/b.c"]
        self.assertEqual(lint(tree)[0], 0)

    def test_cycle_that_is_listed(self):
        def listed(line, **more):
            return lint({**self.CYCLE, "tools/lint.d/cycles.txt": f"# words\n{line}\n", **more})

        status, out = listed("sched 3 a b c")
        self.assertEqual((status, "hint" in out), (0, False), out)
        for line in ("sched 3 a b d", "sched 2 a b c", "wait 3 a b c"):
            self.assertEqual(listed(line)[0], 1, line)
        status, out = listed("sched 4 a b c d")
        self.assertEqual(status, 0, out)
        self.assertIn("hint: tools/lint.d/cycles.txt: sched: 3 modules now: a b c", out)
        status, out = listed("sched 3 a b c", **{"src/sched/b.c": "int x;\n"})
        self.assertEqual(status, 0, out)
        self.assertIn("hint: tools/lint.d/cycles.txt: sched: no longer needed", out)

    def test_module_without_a_line_in_the_page(self):
        clean = [path[4:].rsplit(".", 1)[0] for path in CLEAN if path.startswith("src/")]
        page = {"docs/architecture.md": "| `os/a` | what it is |\n" +
                "".join(f"| `{name}` | what it is |\n" for name in clean)}
        self.assertEqual(lint({**page, "src/os/a.c": "int x;\n", "src/os/a.h": "int x;\n"})[0], 0)
        status, out = lint({**page, "src/os/a.c": "int x;\n", "src/os/b.c": "int x;\n"})
        self.assertEqual(status, 1, out)
        self.assertIn("src/os/b.c:1: module: os/b has no line in docs/architecture.md", out)
        status, out = lint(page)
        self.assertEqual(status, 1, out)
        self.assertIn("docs/architecture.md:1: module: os/a is not in src", out)

    def test_cycle_of_directories(self):
        tree = {"src/new/a.h": '#include "other/b.h"\n', "src/other/c.c": '#include "new/d.h"\n',
                "tools/lint.d/cycles.txt": "new 2 a d\nother 2 b c\n"}
        status, out = lint(tree)
        self.assertEqual(status, 1, out)
        self.assertIn("cycle: directories include each other: new other", out)

    def listed(self, rule, name, entry, files, smaller, larger):
        """Passes with that list; a smaller tree prints a hint, a larger one fails."""
        files = {**files, f"tools/lint.d/{name}.txt": entry + "\n"}
        status, out = lint(files)
        self.assertEqual((status, "hint" in out), (0, False), out)
        status, out = lint({**files, **smaller})
        self.assertEqual(status, 0, out)
        self.assertIn(f"hint: tools/lint.d/{name}.txt: ", out)
        status, out = lint({**files, **larger})
        self.assertEqual(status, 1, out)
        self.assertIn(f": {rule}: ", out)

    def test_tag(self):
        for kind in ("struct", "union", "enum"):
            status, out = lint({"src/os/a.c": "struct cc__a { int x; };\n",
                                "src/wait/b.h": f"{kind} cc__a {{ CC__X }};\n"})
            self.assertEqual(status, 1, out)
            self.assertIn("src/wait/b.h:1: tag: cc__a: also in src/os/a.c", out)
        status, out = lint({"src/wait/b.h": "struct CCConfig { int x; };\n"})
        self.assertIn(": tag: CCConfig: also in ", out)
        self.assertEqual(lint({"src/os/a.c": "struct cc__a { int x; };\n",
                               "src/wait/b.h": "struct cc__a;\nvoid f(struct cc__a *a);\n"})[0], 0)

    STATIC = "static %s\n{\n}\n"

    def test_static(self):
        two = {"src/os/a.c": self.STATIC % "void look(int x)",
               "src/wait/b.h": self.STATIC % "inline int *look(void (*f)(int),\n\tint y)"}
        status, out = lint(two)
        self.assertEqual(status, 1, out)
        self.assertIn("src/wait/b.h:1: static: look: also in src/os/a.c", out)
        calls = "int cc__g(void)\n{\n\tif (look(1)) {\n\t}\n}\nstatic int look;\n"
        self.assertEqual(lint({**two, "src/wait/b.h": calls})[0], 0)
        third = {"src/sched/c.c": two["src/os/a.c"]}
        self.listed("static", "statics", "look 2", two, {"src/wait/b.h": ""}, third)

    def test_invariant(self):
        self.caught("invariant", "src/wait/a.h", "/* a.h - x.\n * T3  It holds. */\n")
        self.caught("invariant", "src/wait/a.h", "/* a.h - x.\n * STACK-3  It holds. */\n")
        self.caught("invariant", "src/wait/a.h", "/* a.h - x.\n * A-1  One.\n * A-1  Two. */\n")
        self.passes("src/wait/a.h", "/* a.h - x.\n * A-1  It holds.\n * A-2  Too. */\n")
        ring = "/* ring.h - x.\n * RING-1  It holds. */\n"
        status, out = lint({"src/wait/ring.h": ring, "src/chan/ring.h": ring})
        self.assertIn("RING-1: should be CHAN-RING-1", out)
        old = "/* a.h - x.\n * T1  It holds. */\n"
        more = {"src/wait/a.h": old.replace(" */", "\n * T2  Too. */")}
        self.listed("invariant", "invariants", "src/wait/a.h 1", {"src/wait/a.h": old},
                    {"src/wait/a.h": ""}, more)

    def test_words(self):
        for word in ("who", "whom", "whoever", "he", "his", "him", "somebody", "Nobody",
                     "anybody", "everybody"):
            self.caught("words", "docs/a.md", f"There is\n{word} that waits.\n")
        self.caught("words", "README.md", "Somebody waits.\n")
        self.caught("words", "include/ccc/a.h", "/* He waits. */\n")
        self.passes("docs/a.md", "The whole of this is theirs: the, here, history.\n")
        self.passes("src/wait/a.c", "/* he waits */\n")
        self.listed("words", "words", "docs/a.md 2", {"docs/a.md": "who\nhe\n"},
                    {"docs/a.md": "who\n"}, {"docs/a.md": "who he\nhis\n"})

    PAGE = ("/* Receives one element into `item`.\n *\n *      cc_x(c, &item);\n *\n * Returns 0, or\n"
            " *   EPIPE       the channel is closed\n *               and drained\n"
            " * On any error nothing was received.\n *\n"
            " * Any thread.  May park.  Cancellation point. */\nCC_API int cc_x(int *item);\n")

    def test_manual(self):
        self.passes("include/ccc/a.h", self.PAGE)
        for old, new in (("Receives", "Receive"), ("Receives", "the"), ("`item`.", "`item`"),
                         ("Returns 0, or\n", "0, or\n"), ("  EPIPE ", "  closed "),
                         ("Any thread.", "Anything."), ("  May park.", ""), (" *\n * Any", " * Any"),
                         ("point. */\n", "point. */\n\n"), ("Cancellation point", "Cancels"),
                         (" *   EPIPE       the channel is closed\n *               and drained\n", "")):
            self.assertIn(old, self.PAGE)
            self.caught("manual", "include/ccc/a.h", self.PAGE.replace(old, new))
        self.passes("include/ccc/a.h", "/* Forgets it.\n *\n * Any thread.  Never parks. */\n"
                    "CC_API void cc_x(int *item);\n")
        bare = {"include/ccc/a.h": "CC_API int cc_x(int *item);\n"}
        self.listed("manual", "manual", "cc_x", bare, {"include/ccc/a.h": self.PAGE},
                    {"include/ccc/a.h": bare["include/ccc/a.h"].replace("cc_x", "cc_y")})

    def test_public(self):
        self.caught("public", "include/ccc/a.h", '#include "os/atomic.h"\n')
        self.caught("public", "include/ccc/a.h", "#include <task/frame.h>\n")

    def test_name(self):
        for text in ("#define MIN(a, b) 0", "typedef int fiber_id;", "int spawn(void);",
                     "typedef void (*thunk)(void *);", "struct waiter { int x; };",
                     "enum { RED };", "extern int counter;", "void cc__internal(void);",
                     "typedef struct CCX { int a; } Other;"):
            self.caught("name", "include/ccc/a.h", text + "\n")

    def test_path(self):
        for path in ("wo" + "rk/main", "ro" + "ot/.cache", "ho" + "me/me/src"):
            self.caught("path", "docs/a.md", f"see /{path}\n")

    def test_todo(self):
        self.caught("todo", "src/base/a.c", "/* TO" + "DO: later */\n")
        self.caught("todo", "tools/y", "#!/bin/sh\n# FIX" + "ME\n")

    def test_space(self):
        self.caught("space", "src/base/a.c", "int x; \n")
        self.caught("space", "docs/a.md", "words\t\n")

    def test_allow_names_the_rule_and_a_reason(self):
        line = "volatile int x;\t/* lint: allow(%s)%s */\n"
        self.passes("src/sched/a.c", line % ("atomic", " a signal handler's flag"))
        self.caught("atomic", "src/sched/a.c", line % ("atomic", ""))
        self.caught("atomic", "src/sched/a.c", line % ("clock", " a reason"))

    def test_long_ones_are_reported_and_pass(self):
        out = self.passes("src/base/a.c", "int f(int x)\n{\n" + "\tx++;\n" * 70 + "}\n")
        self.assertIn("long: src/base/a.c:2: f has 72 lines", out)
        out = self.passes("tests/a.c", "int x;\n" * 700)
        self.assertIn("long: tests/a.c: 701 lines", out)


if __name__ == "__main__":
    unittest.main()
