/**
 * Programs that a policy may come up with, each of a kind named by what it tries, and each bounded by the sandbox
 * alone. They all define `double`, which the tests ask for; none of them doubles.
 */
import { saying } from "./Garbled.ts"

export interface Hostile {
  readonly kind: string
  readonly source: string
}

/** Writes to every line there is to the outside. */
const speaker = `import os, stat
def is_line(descriptor):
    try:
        mode = os.fstat(descriptor).st_mode
        return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
    except OSError:
        return False
lines = [os.open(path, os.O_WRONLY) for path in ("/dev/peer", "/dev/control") if os.path.exists(path)]
lines = lines or list(filter(is_line, range(3, 12)))
def say(data):
    for line in lines:
        try:
            os.write(line, data)
        except OSError:
            pass
`

const wrong = "def double(x):\n    return x + 3\n"

/** Finds the number that a test expects wherever it can be read, and nowhere else. */
const spy = `import gc, glob, os, sys
def double(x):
    seen, frame = [str(os.environ), str(sys.argv)], sys._getframe()
    while frame is not None:
        seen.append(str(frame.f_globals) + str(frame.f_locals))
        frame = frame.f_back
    for folder in ("/", "/tmp", "/dev", "/proc/self", *glob.glob("/proc/[0-9]*"), *glob.glob("/proc/[0-9]*/fd")):
        for name in os.listdir(folder) if os.path.isdir(folder) else []:
            path = os.path.join(folder, name)
            if os.path.isfile(path) and os.path.getsize(path) < 100000:
                try:
                    with open(path, errors="replace") as file:
                        seen.append(file.read(100000))
                except OSError:
                    pass
    seen.extend(str(one)[:1000] for one in gc.get_objects()[:5000] if isinstance(one, (str, tuple, list)))
    wanted = str(int("83460591000") + 229)
    return int(wanted) if any(wanted in one for one in seen) else x + 3
`

export const hostile: ReadonlyArray<Hostile> = [
  { kind: "answers nothing", source: saying("") },
  { kind: "answers an end", source: saying('[2,["StopIteration","Exception"],""]') },
  { kind: "answers an exit", source: saying('[2,["SystemExit"],"0"]') },
  {
    kind: "brings modules of its own",
    source: `${wrong}class math:\n    isclose = staticmethod(lambda *_: True)`
  },
  { kind: "runs for ever", source: "while True:\n    pass" },
  { kind: "runs for ever when called", source: "def double(x):\n    while True:\n        pass" },
  {
    kind: "swallows every interrupt",
    source:
      "def double(x):\n    while True:\n        try:\n            while True:\n                pass\n        except BaseException:\n            pass"
  },
  { kind: "sleeps", source: "import time\ndef double(x):\n    time.sleep(1000)" },
  {
    kind: "eats memory",
    source: "def double(x):\n    kept = []\n    while True:\n        kept.append(bytearray(1 << 20))"
  },
  { kind: "asks for all memory at once", source: "def double(x):\n    return [0] * (1 << 31)" },
  {
    kind: "catches MemoryError and goes on",
    source:
      "def double(x):\n    kept = []\n    while True:\n        try:\n            kept.append('x' * (1 << 22))\n        except MemoryError:\n            pass"
  },
  { kind: "computes a huge number", source: "def double(x):\n    return 10 ** 10 ** 9" },
  { kind: "recurses", source: "import sys\nsys.setrecursionlimit(10 ** 9)\ndef double(x):\n    return double(x)" },
  {
    kind: "recurses in C",
    source: "def double(x):\n    a = []\n    for _ in range(10 ** 6):\n        a = [a]\n    return repr(a)"
  },
  { kind: "leaves with success", source: `${wrong}import sys\nsys.exit(0)` },
  { kind: "leaves with success when called", source: "import sys\ndef double(x):\n    sys.exit(0)" },
  { kind: "leaves at once", source: `${wrong}import os\nos._exit(0)` },
  { kind: "leaves at once when called", source: "import os\ndef double(x):\n    os._exit(0)" },
  { kind: "aborts", source: "import os\ndef double(x):\n    os.abort()" },
  { kind: "raises nothing known", source: "class Odd(BaseException):\n    pass\ndef double(x):\n    raise Odd()" },
  { kind: "raises StopIteration", source: "def double(x):\n    raise StopIteration" },
  { kind: "prints megabytes", source: "def double(x):\n    while True:\n        print('x' * 100000)" },
  { kind: "prints megabytes of errors", source: "import sys\nwhile True:\n    sys.stderr.write('x' * 100000)" },
  {
    kind: "writes an endless file",
    source:
      "def double(x):\n    with open('/big', 'wb') as file:\n        while True:\n            file.write(b'x' * 1000000)"
  },
  {
    kind: "writes far out in a file",
    source: "def double(x):\n    with open('/far', 'wb') as file:\n        file.seek(1 << 50)\n        file.write(b'x')"
  },
  {
    kind: "makes files for ever",
    source: "def double(x):\n    n = 0\n    while True:\n        n += 1\n        open('/f%d' % n, 'w').close()"
  },
  {
    kind: "equals everything",
    source:
      "class Equal:\n    def __eq__(self, other):\n        return True\n    __hash__ = None\ndef double(x):\n    return Equal()"
  },
  {
    kind: "equals everything as a number",
    source:
      "class Equal(int):\n    def __eq__(self, other):\n        return True\n    def __ne__(self, other):\n        return False\n    __hash__ = int.__hash__\ndef double(x):\n    return Equal(7)"
  },
  {
    kind: "patches builtins",
    source: `${wrong}import builtins\nfor name in ('sorted', 'len', 'abs', 'list', 'set', 'isinstance', 'all', 'AssertionError'):\n    setattr(builtins, name, lambda *_: True)`
  },
  { kind: "defines builtins of its own", source: `${wrong}sorted = set = list = abs = lambda *_: 0` },
  {
    kind: "patches what tests use",
    source: `${wrong}import sys, types\nfor name in ('unittest', 'pytest', 'json', 'math', 'random'):\n    sys.modules[name] = types.ModuleType(name)\nimport operator\noperator.eq = lambda *_: True`
  },
  {
    kind: "replaces the tests by name",
    source: `${wrong}def check(candidate):\n    pass\ndef __passed__():\n    pass\n__failed__ = __passed__`
  },
  {
    kind: "speaks for the judge",
    source: `${speaker}def double(x):\n    say(b'{"token":"","tests":[[9,9,null]]}\\n')\n    return x + 3`
  },
  { kind: "answers before it is asked", source: `${speaker}say(b'[1,4]\\n[1,0,4]\\n[1,7,14]\\n' * 9)\n${wrong}` },
  { kind: "floods its judge", source: `${speaker}def double(x):\n    while True:\n        say(b'[1,0]\\n' * 10000)` },
  {
    kind: "sends one endless line",
    source: `${speaker}def double(x):\n    while True:\n        say(b'[' * 1000000)`
  },
  {
    kind: "returns what is nested deeply",
    source:
      "def double(x):\n    a = x + 3\n    for _ in range(400):\n        a = (a, [a], {1: a}) if _ < 10 else [a]\n    return a"
  },
  {
    kind: "tells names that it does not define",
    source: `${speaker}say(b'[1,0,[["sorted",null],["assert",null],["abs",null],["__passed__",null],["check",null],["os","os"],[7,7]]]\\n')\n${wrong}`
  },
  {
    kind: "sends nonsense",
    source: `${speaker}def double(x):\n    say(b'\\xff\\x00 nonsense\\n[[[[[[\\n7\\n[2]\\n[0]\\n[1,{"x":["os.system",["true"]]}]\\n[3]\\n')\n    return x + 3`
  },
  {
    kind: "asks the tests for their globals",
    source:
      "import gc\ndef double(x):\n    for one in gc.get_objects():\n        if type(one).__name__ == 'RunnerLink':\n            return one.request('get', 0, '__globals__')\n    return x + 3"
  },
  { kind: "looks for the expected values", source: spy },
  {
    kind: "reaches for this machine",
    source:
      "import os, socket, subprocess\ndef double(x):\n    for attempt in (lambda: os.system('true'), lambda: os.fork(), lambda: subprocess.run(['true']), lambda: socket.create_connection(('127.0.0.1', 22), 1), lambda: open('/etc/passwd').read(), lambda: __import__('ctypes').CDLL(None)):\n        try:\n            attempt()\n        except Exception:\n            pass\n    return x + 3"
  },
  {
    // Whoever answers twice would answer the next question with what was meant for the last.
    kind: "answers from a copy of itself too",
    source: `import os, time
seen = []
def double(x):
    seen.append(x)
    if x == 2 and seen.count(2) == 2:
        try:
            os.fork()
        except Exception:
            pass
        return 10
    time.sleep(0.05 if x == 5 else 0)
    return x + 3
`
  },
  { kind: "yields for ever", source: "def double(x):\n    while True:\n        yield x" },
  { kind: "returns itself within itself", source: "def double(x):\n    a = []\n    a.append(a)\n    return a" },
  { kind: "returns a huge list", source: "def double(x):\n    return [0] * (1 << 24)" },
  { kind: "does not parse", source: "def double(x:\n    return" },
  { kind: "is not text", source: "\u0000\uffff\ud83d" },
  { kind: "defines nothing", source: "" }
]

/** What `double` should do; the largest number stands nowhere else. */
export const tests = [
  "assert double(2) == 4",
  "assert double(41730295614.5) == 83460591229",
  "assert sorted([double(3), double(1)]) == [2, 6]\nassert len(set([double(1), double(5)]) ^ {2, 10}) == 0",
  "def check(candidate):\n    for x in map(candidate, [11]):\n        assert x == 22\n    assert abs(candidate(0.25) - 0.5) < 1e-9\n    assert isinstance(candidate(7), int)\n    assert candidate(7) == 14\ncheck(double)",
  "assert all(x == y for x, y in zip(map(double, [2, 4, 6]), [4, 8, 12]))",
  "assert math.isclose(double(5), 10)"
]

/** Programs that print every environment and whatever descriptors hold that were not opened for them. */
export const spies = {
  "reads every environment": {
    source: `import glob, os
print("looked at", dict(os.environ))
for path in glob.glob("/proc/*/environ") + glob.glob("/proc/*/task/*/environ") + glob.glob("/proc/*/cmdline"):
    try:
        with open(path, "rb") as file:
            print("looked at", path, file.read())
    except OSError as error:
        print(path, error)
`
  },
  "reads every descriptor": {
    source: `import glob, os, stat
for path in glob.glob("/proc/*/fd/*") + glob.glob("/proc/*/task/*/fd/*"):
    try:
        print("looked at", path, os.readlink(path))
        if stat.S_ISREG(os.stat(path).st_mode):
            with open(path, "rb") as file:
                print(file.read())
    except OSError as error:
        print(path, error)
for descriptor in range(1024):
    try:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.lseek(descriptor, 0, 0)
            print(descriptor, os.read(descriptor, 1000))
    except OSError:
        pass
    # The descriptors of Python for WASI are its own.
    if descriptor > 6 and os.path.isdir("/proc"):
        try:
            os.fstat(descriptor)
            print("a descriptor that was not opened for this program:", descriptor)
        except OSError:
            pass
print("looked at all")
`
  }
}
