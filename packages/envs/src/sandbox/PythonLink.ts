/**
 * Contains the Python code that connects two interpreters: one runs the program, one the tests, and only plain values
 * cross.
 *
 * A frame is one line of JSON: `[0, what, target, ...]` a question, `[1, value]` an answer, `[2, [class names], text]`
 * an exception. The side that waits for an answer answers questions meanwhile, so a test may pass functions. Numbers,
 * texts, lists, dictionaries and the like are copied as their underlying type: a program's own `__eq__`, `__lt__` or
 * `__hash__` is left behind. Everything else crosses as a reference that can be called, inspected and iterated, and
 * that only equals itself. A program may only ask the tests to call functions they passed. Only built-in modules are
 * imported here.
 *
 * The waiting side sees an answer, an exception raised by the other side, or one of the link's own: `Gone`, `Garbled`.
 * The link's are not `Exception`s, and anything that reading a frame raises becomes one of them: a `StopIteration` of
 * the reader would end a loop over `map(function, ...)` as if it were complete, an `AttributeError` would be a "no" to
 * `hasattr`. Code that swallows them anyway is detected by counting: `asked` and `answered` differ. Questions are
 * numbered, and an answer names its question: a program that forks answers twice, and the second answer must not pass
 * for that to the next question.
 */
export const pythonLink = String.raw`
import builtins, os, sys
from _json import encode_basestring_ascii, make_encoder, make_scanner

class Gone(BaseException):
    "The other side has ended. Not an Exception, so that no test takes it for one that it expects."

class Garbled(BaseException):
    "The other side's message is invalid. Not an Exception either."

class Foreign(Exception):
    "An exception of the other side that has no counterpart here."

class _Context:
    strict, memo, object_pairs_hook = True, {}, None
    parse_float, parse_int, parse_constant = float, int, float

_encoder = make_encoder(None, None, encode_basestring_ascii, None, ":", ",", False, False, True)

def write_json(value):
    return "".join(_encoder(value, 0))

def read_json(text, hook=None):
    context = _Context()
    context.object_hook = hook
    value, end = make_scanner(context)(text, 0)
    if end != len(text):
        raise ValueError("more than one value")
    return value

def lines(descriptor):
    "Gives one line at each call; Gone at the end."
    read, buffer, start = os.read, bytearray(), 0
    def line():
        nonlocal start
        while True:
            end = buffer.find(b"\n", start)
            if end >= 0:
                found = buffer[:end].decode()
                del buffer[:end + 1]
                start = 0
                return found
            start = len(buffer)
            chunk = read(descriptor, 65536)
            if not chunk:
                raise Gone("end of input")
            buffer.extend(chunk)
    return line

def sender(descriptor):
    write = os.write
    def send(text):
        data = memoryview((text + "\n").encode())
        while data:
            data = data[write(descriptor, data):]
    return send

_parts = {
    "decimal.Decimal": lambda v: [str(v)],
    "fractions.Fraction": lambda v: [v.numerator, v.denominator],
    "collections.deque": lambda v: [list(v)],
    "datetime.date": lambda v: [v.year, v.month, v.day],
    "datetime.datetime": lambda v: [v.year, v.month, v.day, v.hour, v.minute, v.second, v.microsecond],
    "datetime.timedelta": lambda v: [v.days, v.seconds, v.microseconds],
    "numpy.array": lambda v: [v.tolist(), v.dtype.str],
}
_aliases = {"numpy.ndarray": "numpy.array"}
_views = ("dict_keys", "dict_values", "dict_items")
_longest_walk = 10000

class Remote:
    "What the other side keeps."
    def __init__(self, link, number, kind):
        self.__dict__.update(_link=link, _number=number, _kind=kind)
    def __call__(self, *args, **named):
        return self._link.request("call", self._number, list(args), named)
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self._link.request("get", self._number, name)
    def __setattr__(self, name, value):
        self._link.request("set", self._number, name, value)
    def __getitem__(self, key):
        return self._link.request("item", self._number, key)
    def __len__(self):
        return self._link.request("len", self._number)
    def __iter__(self):
        return self._link.request("iter", self._number)
    def __str__(self):
        return self._link.request("str", self._number)
    def __repr__(self):
        return "<%s>" % self._kind
    def __bool__(self):
        raise TypeError("a %s is neither true nor false here" % self._kind)

class Link:
    def __init__(self, receive, send):
        self.receive, self.send = receive, send
        self.kept, self.numbers, self.remotes = [], {}, {}
        self.asked, self.answered = 0, 0

    def keep(self, value):
        number = self.numbers.get(id(value))
        if number is None:
            number = self.numbers[id(value)] = len(self.kept)
            self.kept.append(value)
        return number

    def pack(self, value):
        kind, pack = type(value), self.pack
        if value is None or kind is bool or kind is str or kind is float:
            return value
        if kind is int:
            return value if -(1 << 53) < value < 1 << 53 else {"i": hex(value)}
        if isinstance(value, list):
            return [pack(one) for one in list(value)]
        if isinstance(value, tuple):
            return {"t": [pack(one) for one in tuple(value)]}
        if isinstance(value, dict):
            return {"d": [[pack(key), pack(one)] for key, one in value.items()]}
        if isinstance(value, int):
            return pack(int(value))
        if isinstance(value, float):
            return float(value)
        if isinstance(value, str):
            return str.__str__(value)
        if isinstance(value, (set, frozenset)):
            return {"z" if isinstance(value, frozenset) else "s": [pack(one) for one in value]}
        if isinstance(value, (bytes, bytearray)):
            return {"a" if isinstance(value, bytearray) else "b": value.hex()}
        if kind is complex:
            return {"c": [value.real, value.imag]}
        if kind is range:
            return {"g": [value.start, value.stop, value.step]}
        if kind is Remote:
            return {"m": value._number}
        name = "%s.%s" % (kind.__module__, kind.__qualname__)
        name = _aliases.get(name, name)
        if name in _parts:
            return {"x": [name, [pack(one) for one in _parts[name](value)]]}
        if kind.__module__ == "numpy" and hasattr(value, "item"):
            return pack(value.item())
        if kind.__name__ in _views:
            return [pack(one) for one in value]
        if hasattr(kind, "__next__"):
            return {"n": [pack(one) for one, _ in zip(value, range(_longest_walk))]}
        return {"r": [self.keep(value), kind.__name__]}

    def unpack(self, found):
        ((tag, value),) = found.items()
        if tag == "d":
            return dict(value)
        if tag in _plain:
            return _plain[tag](value)
        if tag == "m":
            return self.kept[value]
        if tag == "r":
            number, kind = value
            if number not in self.remotes:
                self.remotes[number] = Remote(self, number, str(kind))
            return self.remotes[number]
        name, args = value
        if tag != "x" or name not in _parts:
            raise ValueError("no such kind of value: %r" % name)
        module, _, attribute = name.rpartition(".")
        return getattr(__import__(module), attribute)(*args)

    def send_value(self, value):
        self.send(write_json(value))

    def hear(self):
        "A question as (0, its number, its parts), an answer to one as (1, number, value), an exception as (2, number, it)."
        text = self.receive()
        try:
            kind, number, *heard = read_json(text, self.unpack)
            if kind == 0:
                what, target, *rest = heard
                return 0, number, heard
            if kind == 1:
                (value,) = heard
                return 1, number, value
            names, text = heard
            if kind == 2:
                return 2, number, revived(names, text)
        except BaseException as error:
            raise Garbled("cannot parse the other side's message: %s" % type(error).__name__) from None
        raise Garbled("the other side's message is neither a question nor an answer")

    def request(self, what, target, *rest):
        number = self.asked + 1
        question = [0, number, what, target, *map(self.pack, rest)]
        self.asked = number
        self.send_value(question)
        while True:
            kind, about, heard = self.hear()
            if kind == 0:
                self.answer(about, *heard)
                continue
            if about != number:
                raise Garbled("an answer to another question")
            self.answered += 1
            if kind == 2:
                raise heard
            return heard

    def answer(self, number, what, target, *rest):
        try:
            answer = [1, number, self.pack(self.do(what, target, *rest))]
        except Gone:
            raise
        except BaseException as error:
            answer = [2, number, *error_text(error)]
        self.send_value(answer)

    def do(self, what, target, *rest):
        if what != "call":
            raise TypeError("the tests hand out functions to be called, and nothing else")
        args, named = rest
        return self.kept[target](*args, **named)

_plain = {
    "t": tuple, "s": set, "z": frozenset, "n": iter,
    "b": bytes.fromhex, "a": bytearray.fromhex,
    "i": lambda v: int(v, 16), "c": lambda v: complex(*v), "g": lambda v: range(*v),
}

def error_text(error):
    "The names of an exception's classes, and its text."
    try:
        text = str(error)
    except BaseException:
        text = "?"
    return [kind.__name__ for kind in type(error).__mro__], text

# A function that raises these would end a loop over map(function, ...) as if it were complete.
_endings = (StopIteration, StopAsyncIteration)

def revived(names, text):
    "The exception of the nearest class that is known here."
    for name in names:
        kind = getattr(builtins, name, None)
        if isinstance(kind, type) and issubclass(kind, Exception) and not issubclass(kind, _endings):
            try:
                return kind(text)
            except TypeError:
                continue
    return Foreign("%s: %s" % (names[0], text))
`
