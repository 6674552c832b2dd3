"""The team: threads that share one call of a compiled kernel, without the interpreter's lock.

A kernel that Python's threads share costs each of them the interpreter, and the helpers are asleep
when it begins: some 40 us pass before one of them works.  The members of the team run machine code
only.  A member that has finished a piece looks for the next job for some time before it sleeps, so
that the kernels of a step, one after the other, find it awake.

The caller publishes a job in the team's words, wakes members that sleep, and takes pieces of the
job itself, like the members, by adding to a counter.  Then it closes the gate, through which a
member enters a job, and waits for the members inside.  A member that a busy machine does not
schedule enters late, or not at all, and the caller waits for no more than one piece of each.  While
members come too late again and again, or are interrupted in a piece, callers compute some jobs
alone.

One job is shared at a time; other callers meanwhile compute alone.
"""

from __future__ import annotations

import atexit
import ctypes
import platform
import sys
import threading
import time
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core.compiled import array_calls
from tfnb.core.compiled.helper import HELPER
from tfnb.core.process import forking, work_sharder
from tfnb.core.process.shelter import call_sheltered

if TYPE_CHECKING:
    from tfnb.core.compiled.helper import CompiledKernel

MOST_MEMBERS = 63
"""The most threads beside the caller."""

# The words, each on a cache line of its own; the address of `share` is the first.
_LINE = 8
(
    _SHARE, _BUSY, _SEQUENCE, _NEXT, _GATE, _HELPED, _WAITING, _REST, _STOP, _MISSES, _UNSHARED,
    _LEVEL, _CALM,
) = range(0, 13 * _LINE, _LINE)  # fmt: skip
# The caller writes the words of a job before it publishes the job: the function of a piece and its
# argument, the number of units, and the units of a piece.
_JOB = 13 * _LINE
_FUNCTION, _ARGUMENT, _TOTAL, _UNIT = range(_JOB, _JOB + 4)
# These words are written once, when members start: the looks of a member before it sleeps, and of
# the caller; the number of members; the caller's lock; Python's functions.
_FIXED = _JOB + _LINE
_SPINS, _CALLER_SPINS, _MEMBERS, _CALLER_LOCK, _ACQUIRE, _RELEASE, _LEAVE = range(
    _FIXED, _FIXED + 7
)
# For each member whether it sleeps, and its lock.
_ASLEEP = _FIXED + _LINE
_LOCK_OF = 1
_NUM_WORDS = _ASLEEP + MOST_MEMBERS * _LINE

_OPEN = 1 << 32  # a bit of the gate; the lower ones count the members inside
# How long a member looks for a job before it sleeps, and the caller for members before it does.
_SPIN_SECONDS, _CALLER_SPIN_SECONDS = 50e-6, 20e-6
# The cycles of a long job, some 150 us; long jobs without help before jobs are not shared; and the
# number of these.
_LONG_CYCLES, _MOST_MISSES, _JOBS_UNSHARED = 450_000, 8, 32
# A member is late if the caller waits for this number of cycles, some 50 us, and twice as long as
# its longest piece took. This number of jobs is then not shared, times two for each late member of
# before; that is halved again after a number of jobs with timely help.
_LATE_CYCLES, _JOBS_WITHOUT, _MOST_LEVEL, _TIMELY_JOBS = 150_000, 32, 6, 32
_PARTS = (".share", ".serve", ".pause")


def _aligned(count: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return words that begin at a cache line."""
    memory = np.zeros(count + _LINE, np.int64)
    return memory[-(memory.ctypes.data // 8) % _LINE :][:count]


WORDS = _aligned(_NUM_WORDS)
"""What the members and the caller share; kernels find ``share`` in its first word."""


def address() -> int:
    """Return the address of the words."""
    found: int = WORDS.ctypes.data
    return found


# -- the machine code ------------------------------------------------------------------------------


class _Code:
    """A function in LLVM's language.

    Args:
      head: its result, name and arguments.
    """

    def __init__(self, head: str) -> None:
        self._lines = [f"define {head} {{", "entry:"]
        self._count = 0

    def text(self) -> str:
        """Return the function."""
        return "\n".join([*self._lines, "}"])

    def do(self, text: str) -> str:
        """Add an instruction with a result; return its name."""
        self._count += 1
        self._lines.append(f"  %v{self._count} = {text}")
        return f"%v{self._count}"

    def add(self, *lines: str) -> None:
        """Add lines without results; labels end with a colon."""
        self._lines += [line if line.endswith(":") else f"  {line}" for line in lines]

    def place(self, word: int | str, base: str = "%team") -> str:
        """Return the address of a word."""
        return self.do(f"getelementptr i64, ptr {base}, i64 {word}")

    def read(self, word: int, kind: str = "i64") -> str:
        """Return a word that nothing else changes meanwhile."""
        return self.do(f"load {kind}, ptr {self.place(word)}")

    def load(self, place: str, order: str = "acquire") -> str:
        """Return a word that others change."""
        return self.do(f"load atomic i64, ptr {place} {order}, align 8")

    def store(self, value: int | str, word: int, order: str = "seq_cst") -> None:
        """Change a word that others read."""
        self.add(f"store atomic i64 {value}, ptr {self.place(word)} {order}, align 8")

    def write(self, word: int, value: str) -> None:
        """Change a word that nothing else uses meanwhile; the value has its type before it."""
        self.add(f"store {value}, ptr {self.place(word)}")

    def change(self, operation: str, place: str, value: int | str) -> str:
        """Change a word at once; return what it was."""
        return self.do(f"atomicrmw {operation} ptr {place}, i64 {value} seq_cst")

    def go(self, test: str, then: str, other: str) -> None:
        """Go on at one of two labels."""
        self.add(f"br i1 {test}, label %{then}, label %{other}")

    def clock(self) -> str:
        """Return the cycles of the processor so far; 0 where that is no instruction."""
        return self.do("call i64 @llvm.readcyclecounter()") if _HAS_CLOCK else "0"

    def release(self, lock: str) -> None:
        """Wake the thread that waits for a lock."""
        self.add(f"call void {self.read(_RELEASE, 'ptr')}(ptr {lock})")

    def acquire(self, lock: str) -> None:
        """Sleep until another thread releases a lock."""
        acquire = self.read(_ACQUIRE, "ptr")
        self.do(f"call i32 {acquire}(ptr {lock}, i32 1)")

    def take_pieces(self, name: str, after: str) -> None:
        """Compute pieces of the job while there are any, then go on at a label."""
        function, job = self.read(_FUNCTION, "ptr"), self.read(_ARGUMENT, "ptr")
        total, unit = self.read(_TOTAL), self.read(_UNIT)
        self.add(f"br label %{name}", f"{name}:")
        first = self.change("add", self.place(_NEXT), unit)
        self.go(self.do(f"icmp slt i64 {first}, {total}"), f"{name}.piece", after)
        self.add(f"{name}.piece:")
        last = self.do(f"add i64 {first}, {unit}")
        is_less = self.do(f"icmp slt i64 {last}, {total}")
        last = self.do(f"select i1 {is_less}, i64 {last}, i64 {total}")
        begun = self.clock() if name == "caller" else ""
        self.add(f"call void {function}(ptr {job}, i64 {first}, i64 {last})")
        if name == "member":
            self.store(1, _HELPED, "monotonic")
        else:
            # The last piece may be much shorter than the one that a member works on.
            now, most = self.do(f"sub i64 {self.clock()}, {begun}"), self.do("load i64, ptr %took")
            is_longer = self.do(f"icmp sgt i64 {now}, {most}")
            longest = self.do(f"select i1 {is_longer}, i64 {now}, i64 {most}")
            self.add(f"store i64 {longest}, ptr %took")
        self.add(f"br label %{name}")


# Elsewhere the counter of cycles is reserved to the system.
_HAS_CLOCK = platform.machine().lower() in ("x86_64", "amd64")


def _pause() -> tuple[list[str], list[str]]:
    """Return declarations, and the instruction between two looks at a word."""
    if _HAS_CLOCK:
        declared = ["declare void @llvm.x86.sse2.pause()", "declare i64 @llvm.readcyclecounter()"]
        return declared, ["call void @llvm.x86.sse2.pause()"]
    if platform.machine().lower() in ("aarch64", "arm64"):
        return ["declare void @llvm.aarch64.hint(i32)"], ["call void @llvm.aarch64.hint(i32 1)"]
    return [], []


def _write_share() -> str:
    """Write the function that kernels call: a job, its units, and the units of a piece."""
    _, pause = _pause()
    arguments = "ptr %team, ptr %function, ptr %job, i64 %total, i64 %unit"
    code = _Code(f"void @KERNEL.share({arguments})")
    code.add("%took = alloca i64", "store i64 0, ptr %took")
    code.go(code.do(f"icmp eq i64 {code.load(code.place(_STOP))}, 0"), "try", "alone")
    code.add("try:")
    busy = code.do(f"cmpxchg ptr {code.place(_BUSY)}, i64 0, i64 1 seq_cst seq_cst")
    code.go(code.do(f"extractvalue {{ i64, i1 }} {busy}, 1"), "first", "alone")
    code.add("alone:", "call void %function(ptr %job, i64 0, i64 %total)", "ret void", "first:")
    unshared = code.read(_UNSHARED)
    code.go(code.do(f"icmp sgt i64 {unshared}, 0"), "skip", "open")
    code.add("skip:")
    fewer = code.do(f"sub i64 {unshared}, 1")
    code.write(_UNSHARED, f"i64 {fewer}")
    code.store(0, _BUSY, "release")
    code.add("br label %alone", "open:")
    for word, value in (
        (_FUNCTION, "ptr %function"), (_ARGUMENT, "ptr %job"), (_TOTAL, "i64 %total"),
        (_UNIT, "i64 %unit"),
    ):  # fmt: skip
        code.write(word, value)
    for word in (_NEXT, _HELPED, _REST):
        code.store(0, word, "monotonic")
    opened = code.clock()
    code.store(_OPEN, _GATE)
    code.change("add", code.place(_SEQUENCE), 1)
    # Members that sleep are woken, as many as there are pieces for.
    rounded = code.do(f"add i64 %total, {code.do('sub i64 %unit, 1')}")
    pieces = code.do(f"sdiv i64 {rounded}, %unit")
    others = code.do(f"sub i64 {pieces}, 1")
    members = code.read(_MEMBERS)
    is_fewer = code.do(f"icmp slt i64 {others}, {members}")
    count = code.do(f"select i1 {is_fewer}, i64 {others}, i64 {members}")
    code.add("br label %wake", "wake:")
    code.add("%number = phi i64 [ 0, %open ], [ %following, %woken ]")
    code.go(code.do(f"icmp slt i64 %number, {count}"), "look", "work")
    code.add("look:")
    member = code.do(f"mul i64 %number, {_LINE}")
    member = code.do(f"add i64 {member}, {_ASLEEP}")
    asleep = code.place(member)
    code.go(code.do(f"icmp eq i64 {code.load(asleep, 'seq_cst')}, 1"), "claim", "woken")
    code.add("claim:")
    code.go(code.do(f"icmp eq i64 {code.change('xchg', asleep, 0)}, 1"), "rouse", "woken")
    code.add("rouse:")
    code.release(code.do(f"load ptr, ptr {code.place(_LOCK_OF, asleep)}"))
    code.add("br label %woken", "woken:", "%following = add i64 %number, 1", "br label %wake")
    code.add("work:")
    code.take_pieces("caller", "close")
    code.add("close:")
    gate = code.place(_GATE)
    code.change("and", gate, ~_OPEN)
    spins = code.read(_CALLER_SPINS)
    closed = code.clock()
    code.add("br label %inside", "inside:")
    code.add("%looks = phi i64 [ 0, %close ], [ %more, %again ], [ 0, %sleep ]")
    code.go(code.do(f"icmp eq i64 {code.load(gate)}, 0"), "end", "again")
    code.add("again:", *pause, "%more = add i64 %looks, 1")
    code.go(code.do(f"icmp slt i64 %more, {spins}"), "inside", "wait")
    code.add("wait:")
    code.store(1, _WAITING)
    code.go(code.do(f"icmp eq i64 {code.load(gate, 'seq_cst')}, 0"), "recall", "sleep")
    code.add("recall:")  # the last member may have seen that the caller waits
    waits = code.change("xchg", code.place(_WAITING), 0)
    code.go(code.do(f"icmp eq i64 {waits}, 1"), "end", "sleep")
    code.add("sleep:")
    code.acquire(code.read(_CALLER_LOCK, "ptr"))
    # A member that was late to tell of an earlier job may have ended the sleep.
    code.add("br label %inside", "end:")
    helped = code.load(code.place(_HELPED))
    waited = code.do(f"sub i64 {code.clock()}, {closed}")
    took = code.do("load i64, ptr %took")
    patience = code.do(f"add i64 {code.do(f'mul i64 {took}, 2')}, {_LATE_CYCLES}")
    level, calm = code.read(_LEVEL), code.read(_CALM)
    code.go(code.do(f"icmp sgt i64 {waited}, {patience}"), "late", "timely")
    code.add("late:")
    is_most = code.do(f"icmp sge i64 {level}, {_MOST_LEVEL}")
    higher = code.do(f"select i1 {is_most}, i64 {level}, i64 {code.do(f'add i64 {level}, 1')}")
    jobs = code.do(f"shl i64 {_JOBS_WITHOUT}, {higher}")
    code.write(_LEVEL, f"i64 {higher}")
    code.write(_CALM, "i64 0")
    code.write(_UNSHARED, f"i64 {jobs}")
    code.add("br label %counted", "timely:")
    calmer = code.do(f"add i64 {calm}, {helped}")
    is_calm = code.do(f"icmp sge i64 {calmer}, {_TIMELY_JOBS}")
    is_high = code.do(f"icmp sgt i64 {level}, 0")
    falls = code.do(f"and i1 {is_calm}, {is_high}")
    lower = code.do(f"sub i64 {level}, {code.do(f'zext i1 {falls} to i64')}")
    kept = code.do(f"select i1 {is_calm}, i64 0, i64 {calmer}")
    code.write(_LEVEL, f"i64 {lower}")
    code.write(_CALM, f"i64 {kept}")
    code.add("br label %counted", "counted:")
    was = code.read(_MISSES)
    # A short job ends before members are awake.
    lasted = code.do(f"sub i64 {closed}, {opened}")
    is_long = code.do(f"icmp sgt i64 {lasted}, {_LONG_CYCLES}")
    missed = code.do(f"add i64 {was}, {code.do(f'zext i1 {is_long} to i64')}")
    came = code.do(f"icmp ne i64 {helped}, 0")
    missed = code.do(f"select i1 {came}, i64 0, i64 {missed}")
    is_much = code.do(f"icmp sge i64 {missed}, {_MOST_MISSES}")
    kept = code.do(f"select i1 {is_much}, i64 {_MOST_MISSES - 2}, i64 {missed}")
    code.write(_MISSES, f"i64 {kept}")
    code.go(is_much, "rest", "free")
    code.add("rest:")
    code.write(_UNSHARED, f"i64 {_JOBS_UNSHARED}")
    code.add("br label %free")
    code.add("free:")
    code.store(0, _BUSY, "release")
    code.add("ret void")
    return code.text()


def _write_serve() -> str:
    """Write what a member runs, a function of Python: the words, and an array with its number."""
    _, pause = _pause()
    code = _Code("ptr @KERNEL.serve(ptr %self, ptr %args, i64 %count)")
    for name, place in (("team", 0), ("own", 1)):
        given = code.do(f"getelementptr ptr, ptr %args, i64 {place}")
        given = code.do(f"load ptr, ptr {given}")
        data = code.do(f"getelementptr i8, ptr {given}, i64 {array_calls.DATA}")
        code.add(f"%{name} = load ptr, ptr {data}")
    number = code.do("load i64, ptr %own")
    word = code.do(f"mul i64 {number}, {_LINE}")
    asleep = code.place(code.do(f"add i64 {word}, {_ASLEEP}"))
    lock = code.do(f"load ptr, ptr {code.place(_LOCK_OF, asleep)}")
    gate, sequence = code.place(_GATE), code.place(_SEQUENCE)
    stop, rest = code.place(_STOP), code.place(_REST)
    code.do(f"call ptr {code.read(_LEAVE, 'ptr')}()")
    code.add("br label %look", "look:")
    code.add(
        "%seen = phi i64 [ -1, %entry ], [ %seen, %again ], [ %now, %left ], [ %seen, %slept ]"
    )
    code.add("%looks = phi i64 [ 0, %entry ], [ %more, %again ], [ 0, %left ], [ 0, %slept ]")
    code.add(f"%now = load atomic i64, ptr {sequence} acquire, align 8")
    code.go(code.do("icmp eq i64 %now, %seen"), "idle", "join")
    code.add("join:")
    state = code.load(gate)
    is_open = code.do(f"and i64 {state}, {_OPEN}")
    code.go(code.do(f"icmp eq i64 {is_open}, 0"), "left", "enter")
    code.add("enter:")
    entered = code.do(f"add i64 {state}, 1")
    tried = code.do(f"cmpxchg ptr {gate}, i64 {state}, i64 {entered} seq_cst seq_cst")
    code.go(code.do(f"extractvalue {{ i64, i1 }} {tried}, 1"), "inside", "join")
    code.add("inside:")
    code.take_pieces("member", "leave")
    code.add("leave:")
    was = code.change("sub", gate, 1)
    code.go(code.do(f"icmp eq i64 {was}, 1"), "last", "left")
    code.add("last:")
    waits = code.change("xchg", code.place(_WAITING), 0)
    code.go(code.do(f"icmp eq i64 {waits}, 1"), "tell", "left")
    code.add("tell:")
    code.release(code.read(_CALLER_LOCK, "ptr"))
    code.add("br label %left", "left:", "br label %look", "idle:")
    ends = code.do(f"or i64 {code.load(stop)}, {code.load(rest)}")
    code.go(code.do(f"icmp eq i64 {ends}, 0"), "spin", "sleep")
    code.add("spin:")
    code.go(code.do(f"icmp slt i64 %looks, {code.read(_SPINS)}"), "again", "sleep")
    code.add("again:", *pause, "%more = add i64 %looks, 1", "br label %look", "sleep:")
    code.add(f"store atomic i64 1, ptr {asleep} seq_cst, align 8")
    same = code.do(f"icmp eq i64 {code.load(sequence, 'seq_cst')}, %seen")
    code.go(same, "really", "recall")
    code.add("recall:")  # a caller may have seen that it sleeps
    claimed = code.change("xchg", asleep, 0)
    code.go(code.do(f"icmp eq i64 {claimed}, 1"), "slept", "really")
    code.add("really:")
    code.acquire(lock)
    code.add("br label %slept", "slept:", "br label %look")
    return code.text()


def _write_pause() -> str:
    """Write a function of Python that looks at a word as often as its argument says."""
    _, pause = _pause()
    code = _Code("ptr @KERNEL.pause(ptr %self, ptr %args, i64 %count)")
    given = code.do("load ptr, ptr %args")
    data = code.do(f"getelementptr i8, ptr {given}, i64 {array_calls.DATA}")
    word = code.do(f"load ptr, ptr {data}")
    code.add("br label %look", "look:", "%looks = phi i64 [ 0, %entry ], [ %more, %look ]", *pause)
    times = code.load(word)
    code.add("%more = add i64 %looks, 1")
    code.go(code.do(f"icmp slt i64 %more, {times}"), "look", "done")
    code.add("done:")
    selfp = code.do(f"getelementptr i8, ptr %self, i64 {array_calls.DATA}")
    data = code.do(f"load ptr, ptr {selfp}")
    incref = code.do(f"load ptr, ptr {data}")
    none = code.do(f"getelementptr i64, ptr {data}, i64 1")
    none = code.do(f"load ptr, ptr {none}")
    code.add(f"call void {incref}(ptr {none})", f"ret ptr {none}")
    return code.text()


def source() -> str:
    """Return the source of the team's functions."""
    declared, _ = _pause()
    return "\n".join([*declared, _write_share(), _write_serve(), _write_pause()])


# -- the threads -----------------------------------------------------------------------------------

_kernel: CompiledKernel | None = None
_members = 0  # threads that were started; guarded by _lock
_lock = threading.Lock()
_is_prepared = False
_is_refused = False  # whether threads of Python share the calls for good


def is_ready(members: int) -> bool:
    """Return whether a number of members are there, at most `MOST_MEMBERS`; start them if not.

    The first call requests the team's functions, which are compiled once.
    """
    if 0 < min(members, MOST_MEMBERS) <= _members:
        return True
    return _start(min(members, MOST_MEMBERS))


def _start(members: int) -> bool:
    global _kernel, _is_refused
    if _is_refused:
        return False
    if _kernel is None:
        _kernel = HELPER.request(source(), _PARTS)
    if not _kernel.addresses:
        return False
    addresses = _kernel.addresses
    try:
        call_sheltered(lambda: _start_missing(addresses, members))
    except (RuntimeError, AttributeError):  # no thread can be started, or another interface
        _is_refused = True
        return False
    return _members >= members


def _start_missing(addresses: tuple[int, ...], members: int) -> None:
    """Start threads; an interrupted caller no longer waits for this, and another one may come."""
    global _members
    with _lock:
        _prepare(addresses)
        words = [array_calls.address_of("Py_IncRef"), id(None)]
        serve = array_calls.as_function(addresses[1], np.array(words, np.int64))
        for number in range(_members, members):
            place = _ASLEEP + number * _LINE
            WORDS[place : place + 2] = 0, _new_lock()
            own = WORDS, np.array([number], np.int64)
            threading.Thread(target=serve, args=own, name=f"team_{number}", daemon=True).start()
            _members = number + 1
            WORDS[_MEMBERS] = _members


def _prepare(addresses: tuple[int, ...]) -> None:
    """Write what the functions need into the words."""
    global _is_prepared
    if _is_prepared:
        return
    for word, name in (
        (_ACQUIRE, "PyThread_acquire_lock"), (_RELEASE, "PyThread_release_lock"),
        (_LEAVE, "PyEval_SaveThread"),
    ):  # fmt: skip
        WORDS[word] = array_calls.address_of(name)
    WORDS[_CALLER_LOCK] = _new_lock()
    words = [array_calls.address_of("Py_IncRef"), id(None)]
    pause = array_calls.as_function(addresses[2], np.array(words, np.int64))
    looks = 200
    count = np.array([looks], np.int64)
    seconds = []
    for _ in range(5):
        begun = time.perf_counter()
        pause(count)
        seconds.append((time.perf_counter() - begun) / looks)
    per_look = max(min(seconds), 1e-10)
    WORDS[_SPINS] = max(1, int(_SPIN_SECONDS / per_look))
    WORDS[_CALLER_SPINS] = max(1, int(_CALLER_SPIN_SECONDS / per_look))
    WORDS[_SHARE] = addresses[0]
    atexit.register(_end)
    work_sharder.before_sharing = rest
    _is_prepared = True


def _new_lock() -> int:
    """Return a lock of Python's interface that is held."""
    allocate = ctypes.pythonapi.PyThread_allocate_lock
    allocate.restype, allocate.argtypes = ctypes.c_void_p, []
    acquire = ctypes.pythonapi.PyThread_acquire_lock
    acquire.restype, acquire.argtypes = ctypes.c_int, [ctypes.c_void_p, ctypes.c_int]
    lock: int | None = allocate()
    if lock is None:
        raise RuntimeError("no lock can be allocated")
    acquire(lock, 0)
    return lock


def num_members() -> int:
    """Return how many threads there are beside the caller."""
    return _members


def rest() -> None:
    """Let members sleep until the next job: other threads are about to need the processors."""
    WORDS[_REST] = 1


def _end() -> None:
    """Let all members sleep: a process that ends takes the machine code from them."""
    WORDS[_STOP] = 1
    deadline = time.monotonic() + 0.1
    asleep = WORDS[_ASLEEP : _ASLEEP + _members * _LINE : _LINE]
    while not asleep.all() and time.monotonic() < deadline:
        time.sleep(0.0002)


def renew_after_fork() -> None:
    """Forget the threads in a child process, which does not inherit them."""
    global _lock, _members, _kernel, _is_refused
    _lock, _members, _is_refused = threading.Lock(), 0, False
    if _kernel is not None and not _kernel.addresses:
        _kernel = None  # the parent's request
    for word in (_BUSY, _GATE, _WAITING, _MISSES, _UNSHARED, _LEVEL, _CALM, _MEMBERS):
        WORDS[word] = 0
    if _is_prepared:
        WORDS[_CALLER_LOCK] = _new_lock()


forking.renew_in_child(sys.modules[__name__])
