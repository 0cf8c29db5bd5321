/**
 * Builds the Python code with which a judge provides names of the standard library that its tests use without importing
 * them, such as `math.isclose`, `List[int]`, `Counter(xs)` or `sqrt(2)`.
 *
 * If the program provided such a name, it could be anything: a `Counter` that is always 7 makes any two of them equal.
 * But a program may be asked for its own `gcd`. Therefore: a name is the library's if the tests declare what they ask
 * for (`asks`) and it is not included; without a declaration, only classes of `typing`, `collections`, `datetime`,
 * `decimal` and `fractions` are. If nothing would be left to ask the program for, all names are the program's. A name
 * is a module if only attributes of it are used.
 */
const types = {
  typing:
    "AbstractSet Annotated Any Callable ClassVar Collection Container DefaultDict Deque Dict Final FrozenSet Generator Generic " +
    "Hashable Iterable Iterator List Literal Mapping MutableMapping MutableSequence MutableSet NamedTuple NoReturn Optional " +
    "Protocol Reversible Sequence Set Sized SupportsFloat SupportsInt Text Tuple Type TypeVar TypedDict Union cast",
  collections: "ChainMap Counter OrderedDict UserDict UserList UserString defaultdict deque namedtuple",
  datetime: "date datetime timedelta timezone",
  decimal: "Decimal InvalidOperation",
  fractions: "Fraction"
}

const others = {
  math:
    "acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees dist e erf erfc exp exp2 expm1 fabs factorial " +
    "floor fmod frexp fsum gamma gcd hypot inf isclose isfinite isinf isnan isqrt lcm ldexp lgamma log log10 log1p log2 modf nan " +
    "nextafter perm pi prod radians remainder sin sinh sqrt tan tanh tau trunc ulp",
  itertools:
    "accumulate chain combinations combinations_with_replacement compress count cycle dropwhile filterfalse groupby islice " +
    "pairwise permutations product repeat starmap takewhile tee zip_longest",
  functools: "cache cmp_to_key lru_cache partial reduce total_ordering wraps",
  heapq: "heapify heappop heappush heappushpop heapreplace merge nlargest nsmallest",
  bisect: "bisect bisect_left bisect_right insort insort_left insort_right",
  operator:
    "add attrgetter concat contains eq floordiv ge gt itemgetter le lt methodcaller mod mul ne neg sub truediv xor",
  statistics:
    "fmean geometric_mean harmonic_mean mean median median_high median_low mode multimode pstdev pvariance stdev variance",
  random: "choice choices randint random randrange sample seed shuffle uniform",
  re: "findall finditer fullmatch match search split sub",
  string: "ascii_letters ascii_lowercase ascii_uppercase digits hexdigits octdigits printable punctuation whitespace",
  copy: "copy deepcopy",
  json: "dumps loads"
}

/** By name, the module that has it. */
const table = (modules: { readonly [module: string]: string }): string =>
  JSON.stringify(
    Object.fromEntries(Object.entries(modules).flatMap(([module, names]) => names.split(" ").map((n) => [n, module])))
  )

/** Defines `library_of(sources, asks, entry)`, which imports only what these sources use. */
export const pythonLibrary = String.raw`
import ast, importlib
_types = ${table(types)}
_library = {**${table(others)}, **_types}

class Names(ast.NodeVisitor):
    "Names that are read, how often, how often for an attribute, and those that are bound somewhere."
    def __init__(self, sources):
        self.read, self.owners, self.bound = {}, {}, set()
        for source in sources:
            self.visit(ast.parse(source))
    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Load):
            self.read[node.id] = self.read.get(node.id, 0) + 1
        else:
            self.bound.add(node.id)
    def visit_Attribute(self, node):
        if isinstance(node.value, ast.Name):
            self.owners[node.value.id] = self.owners.get(node.value.id, 0) + 1
        self.generic_visit(node)
    def visit_arg(self, node):
        self.bound.add(node.arg)
        self.generic_visit(node)
    def visit_alias(self, node):
        self.bound.add((node.asname or node.name).partition(".")[0])
    def visit_ExceptHandler(self, node):
        self.bound.add(node.name)
        self.generic_visit(node)
    def visit_definition(self, node):
        self.bound.add(node.name)
        self.generic_visit(node)
    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_definition

def library_of(sources, asks, entry):
    names = Names(sources)
    own = {entry, *(asks or ())}
    free = {name for name in names.read if not hasattr(builtins, name)} - names.bound - own
    modules = {name for name in free & names.owners.keys() if names.owners[name] == names.read[name]} & sys.stdlib_module_names
    members = {name for name in free - modules if name in (_types if asks is None else _library)}
    if not own & names.read.keys() and not free - modules - members:
        members = set()
    found = {}
    for name in modules | members:
        try:
            found[name] = importlib.import_module(name if name in modules else _library[name])
            if name in members:
                found[name] = getattr(found[name], name)
        except (ImportError, AttributeError):
            # Not in this world: the tests that use it say so.
            found.pop(name, None)
    return found
`
