/**
 * Provides code run before contest programs: the imports that contest sites and LiveCodeBench provide, and features
 * that Python in WebAssembly lacks.
 *
 * Names are imported in LiveCodeBench's order, and the modules after them, so that `bisect` and `random` are modules
 * and `sub` is the operator. Slow modules are imported only if a program uses one of their names. The rest is for right
 * programs that would fail because of where they run:
 *
 * - A program that calls `exit(1)` after its answer still counts: LiveCodeBench checks only its output.
 * - Threads run to completion when started, if this Python has none; programs use them to get a larger stack.
 * - `lru_cache` calls in Python, so that a cached recursion may be as deep as a plain one: calls through C code end a
 *   Python in WebAssembly after a few hundred.
 */

/** A module, and the names that require it; without names it costs nothing and is always imported. */
type Module = readonly [module: string, names?: string]

const modules: ReadonlyArray<Module> = [
  [
    "string",
    "ascii_letters ascii_lowercase ascii_uppercase capwords digits hexdigits octdigits printable punctuation whitespace Formatter Template"
  ],
  ["re", "match fullmatch search split findall finditer subn escape"],
  ["datetime", "date time timedelta timezone tzinfo MINYEAR MAXYEAR UTC"],
  ["collections"],
  ["heapq"],
  ["bisect"],
  ["copy", "deepcopy"],
  ["math"],
  [
    "random",
    "Random betavariate choice choices gauss getrandbits normalvariate randbytes randint randrange sample seed shuffle triangular uniform"
  ],
  [
    "statistics",
    "NormalDist correlation covariance fmean geometric_mean harmonic_mean linear_regression mean median median_grouped median_high median_low mode multimode pstdev pvariance quantiles stdev variance"
  ],
  ["itertools"],
  ["functools"],
  ["operator"],
  ["io"],
  ["sys"],
  ["json", "dump dumps load loads JSONDecoder JSONDecodeError JSONEncoder"],
  ["builtins"],
  [
    "typing",
    "Annotated Any AnyStr Callable ClassVar Collection Container DefaultDict Deque Dict Final FrozenSet Generator Generic Hashable Iterable Iterator List Literal Mapping MutableMapping MutableSequence MutableSet NamedTuple NewType Optional OrderedDict Protocol Reversible Self Sequence Set Sized Text Tuple Type TypeAlias TypeVar TypedDict Union cast overload"
  ]
]

const leaving = `def exit(*_):
    raise SystemExit
sys.exit = builtins.exit = builtins.quit = exit
`

const threads = `import threading as _threading
def _start(self, begin=_threading.Thread.start):
    if self._started.is_set():
        return begin(self)
    try:
        return begin(self)
    except RuntimeError:
        self._started.set()
        self._is_stopped = True
    try:
        self.run()
    except SystemExit:
        pass
    except BaseException:
        sys.excepthook(*sys.exc_info())
_threading.Thread.start = _start
`

/** Leaves generators, coroutines and functions of arbitrary arguments to the library. */
const remembering = `def _remember(function, library=functools.lru_cache(None)):
    code = getattr(function, "__code__", None)
    if code is None or code.co_flags & 0x2AC or code.co_kwonlyargcount:
        return library(function)
    names = ", ".join(code.co_varnames[:code.co_argcount])
    scope = {"_of_": function, "_memo_": {}}
    exec(f"def _get_({names}):\\n    _key_ = ({names})\\n    if _key_ in _memo_:\\n        return _memo_[_key_]\\n    _value_ = _memo_[_key_] = _of_({names})\\n    return _value_", scope)
    get, memo = functools.wraps(function)(scope["_get_"]), scope["_memo_"]
    get.__defaults__, get.cache_clear = function.__defaults__, memo.clear
    get.cache_info = lambda: functools._CacheInfo(0, len(memo), None, len(memo))
    return get
def lru_cache(maxsize=128, typed=False):
    return library_cache(maxsize, typed) if typed else _remember(maxsize) if callable(maxsize) else _remember
library_cache, functools.lru_cache = functools.lru_cache, lru_cache
cache = functools.cache = _remember
`

/** The names that a program uses, except as attributes. */
const namesOf = (program: string): ReadonlySet<string> => new Set(program.match(/(?<![\w.])[A-Za-z_]\w*/g) ?? [])

export const of = (program: string): string => {
  const used = namesOf(program)
  const needed = modules
    .filter(([module, names]) => names === undefined || [module, ...names.split(" ")].some((name) => used.has(name)))
    .map(([module]) => module)
  const isRemembering = used.has("lru_cache") || used.has("cache") || used.has("functools")
  return [
    ...needed.map((module) => `from ${module} import *`),
    // The library's classes, not typing's names for them.
    "from collections import Counter, OrderedDict",
    `import ${needed.join(", ")}`,
    "sys.setrecursionlimit(50000)",
    leaving,
    used.has("threading") ? threads : "",
    isRemembering ? remembering : ""
  ].join("\n")
}
