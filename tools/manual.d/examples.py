"""The example of each page: a function of a program in docs/man3.examples that uses the name, with
what it needs of the same file."""
import os
import re

FOLDER = "docs/man3.examples"
HEAD = re.compile(r"^(?:int (main)\(|static cc_(?:task|par|range|fold|join|serve)_fn\((\w+)|"
                  r"cc_(?:task|par)_(?:decl|def)\((\w+)|cc_chan_type\((\w+)|(?:static )?struct (\w+) \{|"
                  r"static (?:\w+ )+\*?(\w+)(?:\[\w*\])?(?: =.*)?;|static\b[^;={]*?\b(\w+)\s*\()")
# The library's own part of a macro, or a form for wrappers: the program writes what stands behind.
THROUGH = {
    "cc_match_begin": "cc_match", "cc_match_listing": "cc_match", "cc_match_list": "cc_match",
    "cc_match_chosen": "cc_match", "cc_match_chan": "cc_match", "cc_match_next": "cc_match",
    "cc_match_list_closed": "cc_match", "cc_match_closed": "cc_match",
    "cc_nursery_scope_begin": "cc_nursery_scope", "cc_nursery_scope_end": "cc_nursery_scope",
    "cc_chan_new_ordered": "cc_chan_make_ordered", "cc_arena_refill": "cc_arena_take",
    "cc_branch_offer": "cc_par2", "cc_branch_retract": "cc_par2", "cc_branch_join": "cc_par2",
    "cc_par_run2": "cc_par2", "cc_par_outer2": "cc_par2", "cc_par_call2": "cc_par2",
    "cc_par_context": "cc_par2", "cc_chan_at": "cc_chan_make", "cc_chan_subscribe_into": "cc_subscribe",
    "cc_nursery_scope_at": "cc_nursery_scope", "cc_spawn_at": "cc_spawn", "cc_spawn_copy_at": "cc_spawn",
    "cc_spawn_daemon_at": "cc_spawn_daemon", "cc_spawn_daemon_copy_at": "cc_spawn_daemon",
    "cc_spawn_send_at": "cc_spawn_send", "cc_spawn_task_at": "cc_spawn_task", "cc_errno_location": "errno",
}


# Where the shortest example is not the one that shows most.
BEST = {
    "cc_select": "receive_or_stop", "cc_cap_enter": "use_the_rings", "cc_token_set": "wait_for_a_token",
    "cc_nursery_spawn": "open_and_join", "cc_nursery_cancel": "cancel", "cc_chan_send": "send_and_receive",
    "cc_chan_recv": "send_and_receive", "cc_chan_free": "send_and_receive", "cc_chan_new": "send_and_receive",
    "cc_serve": "serve_until_closed", "cc_serve_next": "echo", "cc_task_join": "spawn_and_join",
    "cc_task_spawn": "spawn_and_join", "cc_domain_join": "join_and_park", "cc_domain_create": "join_and_park",
    "cc_sleep_until": "sleep_a_little", "cc_fd_close": "write_and_read", "cc_send": "produce",
    "cc_recv": "send_and_receive", "cc_try": "produce", "cc_spawn": "send_and_receive",
    "cc_stream_close": "write_lines", "cc_stream_flush": "write_lines", "cc_stream_write": "write_lines",
    "cc_mutex_lock": "protect_a_counter", "cc_mutex_unlock": "protect_a_counter",
    "cc_cancel_reason": "cancel", "cc_yield": "compute_for_long", "cc_should_yield": "compute_for_long",
}


class Piece:
    """A definition of an example with the comment before it."""

    def __init__(self, name, start, lines):
        self.name, self.start, self.lines = name, start, lines
        self.text = "\n".join(lines)
        self.words = set(re.findall(r"\w+", re.sub(r"/\*.*?\*/", "", self.text, flags=re.S)))


def pieces_of(path):
    """The definitions of a file, in order."""
    with open(path, encoding="utf-8") as f:
        lines = f.read().split("\n")
    out, i = [], 0
    while i < len(lines):
        match = HEAD.match(lines[i])
        if not match:
            i += 1
            continue
        end = i
        if not lines[i].rstrip().endswith(";"):
            while end < len(lines) and not re.match(r"\}", lines[end]):
                end += 1
        first = i
        while first > 0 and re.match(r"(/\*| \*)", lines[first - 1]):
            first -= 1
        out.append(Piece(next(g for g in match.groups() if g), i + 1, lines[first:end + 1]))
        i = end + 1
    return out


def closure(piece, pieces):
    """The piece and what it needs, in the order of the file."""
    wanted, todo = {piece.name}, [piece]
    while todo:
        words = todo.pop().words
        for other in pieces:
            names = {other.name, other.name + "Tx", other.name + "Rx"}
            if other.name not in wanted and names & words:
                wanted.add(other.name)
                todo.append(other)
    return [p for p in pieces if p.name in wanted]


def read(root, names):
    """name -> (path, lines, whether BEST chose it): of all pieces that use the name the one with the shortest example."""
    found = {}
    folder = os.path.join(root, FOLDER)
    for file in sorted(os.listdir(folder)):
        if not file.endswith(".c"):
            continue
        path = f"{FOLDER}/{file}"
        pieces = pieces_of(os.path.join(root, path))
        for piece in pieces:
            code = [line for p in closure(piece, pieces) for line in p.lines + [""]]
            for name in piece.words & names:
                if name in found and found[name][2] or \
                        piece.name != BEST.get(name) and name in found and len(code) >= len(found[name][1]):
                    continue
                found[name] = (path, code, piece.name == BEST.get(name))
    for name, by in THROUGH.items():
        if name in names and by in found:
            found[name] = found[by]
    return found
