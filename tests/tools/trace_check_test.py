#!/usr/bin/env python3
"""Tests of tools/trace-check: stories that are right, and for each rule stories
that break it and nothing else."""
import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "trace-check")
LOADER = importlib.machinery.SourceFileLoader("trace_check", TOOL)
trace_check = importlib.util.module_from_spec(importlib.util.spec_from_loader("trace_check", LOADER))
LOADER.exec_module(trace_check)

IDLE, ASSIGNED, QUEUED, OWNED, PARKING, NOTIFIED, PARKED, DONE = range(8)
A, B, C = 0x1000, 0x2000, 0x3000        # fibers
T = 0x9000                              # a thread's record
OBJECT, OTHER, WORKER, STACK = 0xa0, 0xb0, 0xc0, 0xd0
READY, INBOX = 1, 2
ACTIVE, SEARCHING, ASLEEP, DRAINING, DEAD = range(5)
DATA = 1


def word(state, ticket=0, worker=1, thread=False):
    return ticket << 20 | worker << 4 | (8 if thread else 0) | state


class Log:
    """A log in the making: events by OS thread 1 unless `by` says otherwise."""

    def __init__(self):
        self.lines = []
        self.words = {}
        self.number = 0

    def event(self, kind, who, a=0, b=0, by=1, number=None, cut=False):
        if number is None:
            self.number += 1
            number = self.number
        self.lines.append("trace %d %d %s %x %x %x%s"
                          % (number, by, kind, who, a, b, " cut" if cut else ""))
        return self

    def lives(self, *lives, by=1):
        """What the worker of that thread is, one after another."""
        for life in lives:
            self.event("life", WORKER, 1, life, by=by)
        return self

    def move(self, who, *states, by=1, ticket=None, worker=None, number=None):
        """From where `who` is through `states`."""
        for state in states:
            old = self.words.get(who, word(IDLE, worker=0))
            new = old & ~7 | state
            if ticket is not None:
                new = new & (1 << 20) - 1 | ticket << 20
            if worker is not None or state == IDLE:
                new = new & ~0xffff0 | (worker or 0) << 4
            self.event("move", who, old, new, by=by, number=number)
            self.words[who] = new
        return self

    def jump(self, who, state, **fields):
        """A word that comes from nowhere."""
        self.words[who] = word(state, **fields)
        return self

    # The usual ways.

    def spawn(self, who, by=2):
        return self.move(who, ASSIGNED, QUEUED, by=by).event("enqueue", who, INBOX, 1, by=by)

    def claim(self, who, by=1):
        return self.move(who, OWNED, by=by, worker=1)

    def park(self, who, ticket, obj=OBJECT, by=1):
        self.move(who, PARKING, by=by, ticket=ticket)
        return self.event("list", who, ticket << 20, obj, by=by)

    def wake(self, who, by=2):
        return self.move(who, QUEUED, by=by).event("enqueue", who, INBOX, 1, by=by)

    def decide(self, who, ticket, by=2, reason=DATA):
        return self.event("decide", who, ticket << 20, reason, by=by)

    def withdraw(self, who, ticket, obj=OBJECT, by=1):
        return self.event("withdraw", who, ticket << 20, obj, by=by)

    def started(self, who):
        return self.spawn(who).claim(who)

    def asleep(self, who, ticket=1):
        return self.started(who).park(who, ticket).move(who, PARKED)

    def thread_asleep(self, ticket=1, by=3):
        self.jump(T, OWNED, worker=0, thread=True)
        return self.park(T, ticket, by=by).move(T, PARKED, by=by)


def check(lines):
    """The rules that were broken, and what was said."""
    problems = trace_check.check(lines)[2]
    return [p.split(": ")[2] for p in problems], "\n".join(problems)


class Base(unittest.TestCase):
    def good(self, log):
        rules, text = check(log.lines)
        self.assertEqual(rules, [], text)

    def bad(self, log, rule):
        """Breaks `rule` once, and no other."""
        rules, text = check(log.lines)
        self.assertEqual(rules, [rule], text)


class Good(Base):
    def test_life_of_a_fiber(self):
        self.good(Log().started(A).move(A, DONE, IDLE).started(A).move(A, DONE))

    def test_wait_and_wake(self):
        self.good(Log().asleep(A).decide(A, 1).wake(A).claim(A).move(A, DONE))

    def test_wake_before_the_commit(self):
        log = Log().started(A).park(A, 1).decide(A, 1)
        log.move(A, NOTIFIED, by=2).move(A, QUEUED).event("enqueue", A, READY, 1)
        self.good(log.claim(A).move(A, DONE))

    def test_timeout_withdraws(self):
        log = Log().asleep(A).wake(A, by=1).claim(A)
        self.good(log.withdraw(A, 1).move(A, DONE))

    def test_wake_for_nothing_keeps_the_ticket(self):
        log = Log().asleep(A).wake(A).claim(A).move(A, PARKING, PARKED)
        self.good(log.decide(A, 1).wake(A).claim(A).park(A, 2).move(A, PARKED))

    def test_refused_publication(self):
        self.good(Log().started(A).park(A, 1).move(A, OWNED).park(A, 2).move(A, OWNED, DONE))

    def test_flag(self):
        log = Log().started(A).move(A, PARKING, ticket=1).event("flag", A, 1 << 20, OBJECT)
        self.good(log.move(A, PARKED).wake(A).claim(A).move(A, DONE))

    def test_yield_with_a_successor(self):
        log = Log().started(A).spawn(B).claim(B)
        log.move(A, QUEUED).event("enqueue", A, READY, 1)
        self.good(log.move(B, DONE).claim(A).move(A, DONE))

    def test_park_with_a_successor(self):
        log = Log().started(A).spawn(B).park(A, 1).claim(B).move(A, PARKED)
        self.good(log.move(B, DONE).event("sleep", WORKER, 1).event("awake", WORKER, 1))

    def test_life_of_a_worker(self):
        log = Log().lives(ACTIVE, SEARCHING, ACTIVE).started(A).event("take", B, 1).move(A, DONE)
        log.lives(SEARCHING, ASLEEP, SEARCHING).event("steal", WORKER, 1, 5)
        self.good(log.event("take", B, 1).lives(DRAINING, DEAD).lives(ACTIVE, by=2))

    def test_starved_task(self):
        log = Log().started(A).spawn(B).claim(B).move(B, QUEUED).event("enqueue", B, 3, 1)
        self.good(log.move(A, DONE).claim(B).move(B, DONE))

    def test_thread_is_claimed_and_released(self):
        self.good(Log().thread_asleep().decide(T, 1).move(T, QUEUED, OWNED, by=2)
                  .park(T, 2, by=3).move(T, OWNED, by=3))

    def test_thread_takes_itself_back(self):
        self.good(Log().thread_asleep().move(T, OWNED, by=3).withdraw(T, 1, by=3)
                  .park(T, 2, by=3))

    def test_record_goes_to_another_thread(self):
        log = Log().thread_asleep().decide(T, 1).move(T, QUEUED, OWNED, by=2)
        self.good(log.park(T, 2, by=4).move(T, PARKED, by=4))

    def test_select(self):
        log = Log().started(A).park(A, 1).event("list", A, 1 << 20, OTHER).move(A, PARKED)
        log.decide(A, 1).wake(A).claim(A).withdraw(A, 1, OTHER)
        self.good(log.park(A, 2).move(A, PARKED))

    def test_loser_of_a_select_is_dropped_by_a_waker(self):
        log = Log().started(A).park(A, 1).event("list", A, 1 << 20, OTHER).move(A, PARKED)
        self.good(log.wake(A).claim(A).withdraw(A, 1, OTHER).move(A, DONE))

    def test_ticket_wraps(self):
        last = (1 << 44) - 1
        log = Log().jump(A, OWNED, ticket=last)
        self.good(log.park(A, 0).move(A, PARKED))

    def test_stack(self):
        log = Log().started(A).event("stack", A, STACK).park(A, 1).move(A, PARKED)
        log.decide(A, 1).wake(A).claim(A).event("stack", A, 0).move(A, DONE)
        self.good(log.spawn(B).claim(B).event("stack", B, STACK))

    def test_other_lines_are_passed_over(self):
        log = Log().started(A)
        log.lines.insert(0, "libccc: some text\ntrace of something else")
        log.lines.append("trace 1trace 7 2 decide 1000 100000 1")
        self.good(log)

    def test_abort_that_drew_before_the_waker(self):
        """Both read PARKING; the sleeper draws 6, the waker 7 and is first."""
        log = Log().started(A).park(A, 1)
        log.number += 2
        log.move(A, NOTIFIED, by=2, number=7).move(A, OWNED, number=6)
        self.good(log.withdraw(A, 1).move(A, DONE))

    def test_waker_that_found_the_same_word_again(self):
        """Thread 3 looks and draws first, then loses its CPU for a whole round."""
        log = Log().asleep(A)
        log.number += 1
        early = log.number
        log.wake(A, by=2).claim(A).move(A, PARKING, PARKED)
        log.move(A, QUEUED, by=3, number=early).event("enqueue", A, INBOX, 1, by=3)
        self.good(log.claim(A).withdraw(A, 1).move(A, DONE))

    def test_cut_ring_makes_the_past_unknown(self):
        """What was lost before the cut is not held against anybody."""
        log = Log()
        log.event("move", A, word(OWNED), word(PARKING, 1), number=1)
        log.number = 10
        log.event("decide", A, 5 << 20, DATA, by=2, cut=True)
        log.jump(A, QUEUED, ticket=9)
        self.good(log.claim(A).withdraw(A, 9).move(A, DONE))


class Bad(Base):
    def test_chain(self):
        self.bad(Log().started(A).jump(A, QUEUED).claim(A), "chain")

    def test_chain_of_two_wakers(self):
        """Both win the same claim, and both enqueue."""
        log = Log().asleep(A).decide(A, 1).wake(A, by=2).jump(A, PARKED, ticket=1)
        self.bad(log.wake(A, by=3), "chain")

    def test_matrix(self):
        self.bad(Log().spawn(A).move(A, DONE, by=2), "matrix")

    def test_matrix_of_a_fiber_that_takes_itself_back(self):
        self.bad(Log().asleep(A).decide(A, 1).move(A, OWNED), "matrix")

    def test_matrix_of_a_thread_in_a_queue(self):
        log = Log().thread_asleep().decide(T, 1)
        log.words[T] = word(NOTIFIED, 1, 0, True)
        self.assertIn("matrix", check(log.move(T, QUEUED, by=3).lines)[0])

    def test_matrix_knows_every_state(self):
        """A fiber parked by itself becomes runnable past the claim, and so on:
        each pair of states that the table does not have."""
        table = {(0, 1), (1, 2), (1, 7), (2, 3), (3, 2), (3, 4), (3, 7), (4, 3), (4, 6), (4, 5), (5, 3),
                 (5, 2), (6, 2), (7, 0)}
        for old in range(8):
            for new in range(8):
                line = "trace 1 1 move %x %x %x" % (A, word(old),
                                                        word(new, worker=int(new != IDLE)))
                self.assertEqual("matrix" in check([line])[0], (old, new) not in table,
                                 (old, new))

    def test_ticket_that_changes_on_a_wake(self):
        self.bad(Log().asleep(A).decide(A, 1).move(A, QUEUED, ticket=2, by=2)
                 .event("enqueue", A, INBOX, 1, by=2), "matrix")

    def test_ticket_that_jumps(self):
        self.bad(Log().started(A).park(A, 2), "matrix")

    def test_owner_that_changes(self):
        self.bad(Log().started(A).move(A, PARKING, ticket=1, worker=2), "matrix")

    def test_owner_that_outlives_its_task(self):
        self.bad(Log().started(A).move(A, DONE).move(A, IDLE, worker=1), "matrix")

    def test_actor_commits_for_another(self):
        self.bad(Log().started(A).park(A, 1).move(A, PARKED, by=2), "actor")

    def test_actor_enqueues_a_notified_fiber(self):
        log = Log().started(A).park(A, 1).move(A, NOTIFIED, by=2)
        self.bad(log.move(A, QUEUED, by=2).event("enqueue", A, INBOX, 1, by=2), "actor")

    def test_actor_takes_back_anothers_park(self):
        self.bad(Log().started(A).park(A, 1).move(A, OWNED, by=2), "actor")

    def test_actor_publishes_anothers_frame(self):
        log = Log().move(A, ASSIGNED, by=2).move(A, QUEUED, by=3)
        self.bad(log.event("enqueue", A, INBOX, 1, by=3), "actor")

    def test_actor_releases_a_thread_that_another_claimed(self):
        self.bad(Log().thread_asleep().decide(T, 1).move(T, QUEUED, by=2).move(T, OWNED, by=4),
                 "actor")

    def test_actor_lists_for_another(self):
        self.bad(Log().started(A).move(A, PARKING, ticket=1)
                 .event("list", A, 1 << 20, OBJECT, by=2), "actor")

    def test_actor_withdraws_for_another(self):
        self.bad(Log().asleep(A).wake(A).claim(A).withdraw(A, 1, by=2), "actor")

    def test_owner_is_nobody(self):
        self.bad(Log().spawn(A).move(A, OWNED), "owner")

    def test_owner_is_another_worker(self):
        self.good(Log().lives(ACTIVE).spawn(A).move(A, OWNED, worker=1))
        self.bad(Log().lives(ACTIVE).spawn(A).move(A, OWNED, worker=2), "owner")

    def test_owner_has_three(self):
        self.bad(Log().started(A).spawn(B).spawn(C).claim(B).claim(C), "owner")

    def test_successor_acts_before_the_commit(self):
        """User code runs between PARKING and PARKED, on the same worker."""
        self.bad(Log().started(A).spawn(B).park(A, 1).claim(B).move(B, DONE), "owner")

    def test_successor_parks_before_the_yielder_is_queued(self):
        self.bad(Log().started(A).spawn(B).claim(B).park(B, 1), "owner")

    def test_enqueue_twice(self):
        self.bad(Log().spawn(A).event("enqueue", A, READY, 1, by=2), "enqueue")

    def test_enqueue_never(self):
        self.bad(Log().move(A, ASSIGNED, QUEUED, by=2).claim(A), "enqueue")

    def test_enqueue_of_a_parking_fiber(self):
        self.bad(Log().started(A).park(A, 1).event("enqueue", A, INBOX, 1, by=2), "enqueue")

    def test_enqueue_of_a_notified_fiber(self):
        self.bad(Log().started(A).park(A, 1).move(A, NOTIFIED, by=2)
                 .event("enqueue", A, INBOX, 1, by=2), "enqueue")

    def test_enqueue_of_a_running_fiber(self):
        self.bad(Log().started(A).event("enqueue", A, READY, 1), "enqueue")

    def test_enqueue_of_a_thread(self):
        self.bad(Log().thread_asleep().event("enqueue", T, INBOX, 1, by=2), "enqueue")

    def test_enqueue_by_one_who_did_not_win(self):
        self.bad(Log().asleep(A).decide(A, 1).move(A, QUEUED, by=2)
                 .event("enqueue", A, INBOX, 1, by=3), "enqueue")

    def test_flush_under_a_lock(self):
        self.bad(Log().asleep(A).decide(A, 1).move(A, QUEUED, by=2)
                 .event("enqueue", A, INBOX | 1 << 8, 1, by=2), "flush")

    def test_waitable_is_not_named(self):
        self.bad(Log().started(A).move(A, PARKING, ticket=1).move(A, PARKED), "waitable")

    def test_waitable_of_the_wait_before(self):
        self.bad(Log().asleep(A).decide(A, 1).wake(A).claim(A).move(A, PARKING, ticket=2)
                 .move(A, PARKED), "waitable")

    def test_waitable_listed_before_parking(self):
        log = Log().asleep(A).decide(A, 1).wake(A).claim(A).event("list", A, 2 << 20, OBJECT)
        self.bad(log, "waitable")

    def test_waitable_listed_while_parked(self):
        self.bad(Log().asleep(A).event("list", A, 1 << 20, OTHER), "waitable")

    def test_waitable_flag_with_a_stale_ticket(self):
        self.bad(Log().started(A).move(A, PARKING, ticket=1).event("flag", A, 7 << 20, OBJECT)
                 .move(A, OWNED), "waitable")

    def test_complete_twice(self):
        self.bad(Log().asleep(A).decide(A, 1).decide(A, 1, by=3), "complete")

    def test_complete_twice_after_a_cut(self):
        log = Log().event("sleep", WORKER, 1, 0, cut=True).decide(A, 1)
        self.bad(log.decide(A, 1), "complete")

    def test_complete_of_a_wait_that_is_over(self):
        self.bad(Log().asleep(A).decide(A, 1).wake(A).claim(A).park(A, 2).decide(A, 1),
                 "complete")

    def test_complete_of_what_is_not_listed(self):
        log = Log().started(A).move(A, PARKING, ticket=1).event("flag", A, 1 << 20, OBJECT)
        self.bad(log.decide(A, 1), "complete")

    def test_complete_after_the_withdrawal(self):
        self.bad(Log().asleep(A).wake(A).claim(A).withdraw(A, 1).decide(A, 1), "complete")

    def test_complete_never(self):
        self.bad(Log().asleep(A).wake(A).claim(A).park(A, 2), "complete")

    def test_complete_never_at_the_end(self):
        self.bad(Log().asleep(A).wake(A).claim(A).move(A, DONE), "complete")

    def test_withdrawn_although_decided(self):
        self.bad(Log().asleep(A).decide(A, 1).wake(A).claim(A).withdraw(A, 1), "complete")

    def test_withdrawn_from_where_it_is_not(self):
        self.bad(Log().asleep(A).wake(A).claim(A).withdraw(A, 1, OTHER), "complete")

    def test_withdrawn_in_its_sleep(self):
        self.bad(Log().asleep(A).withdraw(A, 1), "complete")

    def test_sleep_twice(self):
        self.bad(Log().event("sleep", WORKER, 1).event("sleep", WORKER, 1), "sleep")

    def test_awake_twice(self):
        self.bad(Log().event("awake", WORKER, 1).event("awake", WORKER, 1), "sleep")

    def test_sleep_on_a_parking_fiber(self):
        self.bad(Log().started(A).park(A, 1).event("sleep", WORKER, 1), "sleep")

    def test_worker_that_drains_and_wakes_again(self):
        self.bad(Log().lives(ACTIVE, SEARCHING, DRAINING, ACTIVE), "life")

    def test_worker_that_drains_and_does_not_end(self):
        self.bad(Log().lives(ACTIVE, SEARCHING, DRAINING, ASLEEP), "life")

    def test_worker_that_falls_asleep_without_a_search(self):
        self.bad(Log().lives(ACTIVE, ASLEEP), "life")

    def test_worker_that_lives_twice(self):
        self.bad(Log().lives(ACTIVE, SEARCHING, DEAD, ACTIVE), "life")

    def test_worker_that_is_asleep_at_first(self):
        self.bad(Log().lives(ASLEEP), "life")

    def test_claim_while_draining(self):
        self.bad(Log().lives(ACTIVE, SEARCHING, DRAINING).spawn(A).claim(A), "life")

    def test_claim_while_searching(self):
        self.bad(Log().lives(ACTIVE, SEARCHING).spawn(A).claim(A), "life")

    def test_take_while_draining(self):
        self.bad(Log().lives(ACTIVE, SEARCHING, DRAINING).event("take", A, 1), "life")

    def test_steal_while_draining(self):
        self.bad(Log().lives(ACTIVE, SEARCHING, DRAINING).event("steal", WORKER, 1, 5), "life")

    def test_steal_while_active(self):
        self.bad(Log().lives(ACTIVE).event("steal", WORKER, 1, 5), "life")

    def test_stack_under_two(self):
        self.bad(Log().started(A).event("stack", A, STACK).spawn(B).claim(B)
                 .event("stack", B, STACK), "stack")

    def test_two_stacks(self):
        self.bad(Log().started(A).event("stack", A, STACK).event("stack", A, STACK + 1), "stack")

    def test_done_on_its_stack(self):
        self.bad(Log().started(A).event("stack", A, STACK).move(A, DONE), "stack")

    def test_parked_without_a_stack(self):
        self.bad(Log().started(A).event("stack", A, 0).park(A, 1).move(A, PARKED), "stack")

    def test_end_with_a_fiber_nobody_enqueued(self):
        self.bad(Log().asleep(A).decide(A, 1).move(A, QUEUED, by=2), "end")

    def test_end_with_a_thread_nobody_released(self):
        self.bad(Log().thread_asleep().decide(T, 1).move(T, QUEUED, by=2), "end")


class Files(unittest.TestCase):
    def test_each_file_is_a_log_of_its_own(self):
        """The same fiber in both: one after the other would break the chain."""
        with tempfile.TemporaryDirectory() as d:
            names = [os.path.join(d, n) for n in ("a", "b")]
            for name in names:
                with open(name, "w", encoding="utf-8") as f:
                    f.write("\n".join(Log().started(A).lines) + "\n")
            done = subprocess.run([sys.executable, TOOL] + names, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertIn("6 moves checked", done.stdout)
            with open(names[1], "a", encoding="utf-8") as f:
                f.write("trace 99 1 move %x %x %x\n" % (A, word(OWNED), word(ASSIGNED)))
            done = subprocess.run([sys.executable, TOOL] + names, capture_output=True, text=True)
            self.assertEqual(done.returncode, 1)
            self.assertIn(names[1] + ": event 99", done.stdout)


if __name__ == "__main__":
    unittest.main()
