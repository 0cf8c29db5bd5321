/** What every sandbox for Python does with a program under tests. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { good, holds, type SandboxTests, test } from "./Programs.ts"

/** How many of the tests a program passes. */
const passedBy = (source: string, asked: Parameters<typeof test>[1]) =>
  Effect.map(test(source, asked), ({ tests }) => tests.filter(({ passed, total }) => passed === total).length)

export const suite = (it: SandboxTests) => {
  it.effect("counts the assertions that hold, those after a failed one too", () =>
    Effect.gen(function* () {
      const { outcome, tests } = yield* test("def half(x):\n    return x // 2", [
        "assert half(4) == 2\nassert half(5) == 2.5\nassert half(6) == 3\nassert True",
        "for x in (2, 4, 5):\n    assert half(x) * 2 == x, 'not a half'",
        "half(2)",
        "half('two')\nassert half(2) == 1",
        "assert half(2) == 1"
      ])
      assert.strictEqual(outcome.ending, "finished")
      assert.deepStrictEqual(tests, [
        { passed: 2, total: 3, error: "AssertionError at: assert half(5) == 2.5" },
        { passed: 2, total: 3, error: "AssertionError: not a half at: assert half(x) * 2 == x, 'not a half'" },
        { passed: 1, total: 1 },
        {
          passed: 0,
          total: 1,
          error: "TypeError: unsupported operand type(s) for //: 'str' and 'int' at: half('two')"
        },
        { passed: 1, total: 1 }
      ])
    })
  )

  it.effect("carries plain values of every kind there and back", () =>
    Effect.gen(function* () {
      const values = [
        "None",
        "True",
        "-7",
        "10 ** 400",
        "-(1 << 53)",
        "0.1",
        "float('inf')",
        "'a\\n\\u2603\\ud800'",
        "b'\\xff\\x00'",
        "bytearray(b'xy')",
        "3 + 4j",
        "[1, [2, ()]]",
        "(1,)",
        "{1: 'a', (2, 3): [4], None: {}}",
        "{1, 'b', frozenset({2})}",
        "range(2, 9, 3)",
        "Decimal('1.10')",
        "Fraction(2, 3)",
        "deque([1, 2])",
        "date(2024, 2, 29)",
        "datetime(2024, 2, 29, 1, 2, 3, 4)",
        "timedelta(1, 2, 3)"
      ]
      const { tests } = yield* test("def echo(value):\n    return value", {
        setup:
          "from decimal import Decimal\nfrom fractions import Fraction\nfrom collections import deque\n" +
          "from datetime import date, datetime, timedelta",
        tests: values.map(
          (value) => `value = ${value}\nassert echo(value) == value and type(echo(value)) is type(value)`
        )
      })
      assert.deepStrictEqual(
        tests.map(({ error }, index) => [values[index], error]),
        values.map((value) => [value, undefined])
      )
    })
  )

  it.effect("lets tests hand out functions, use objects and expect exceptions", () =>
    Effect.gen(function* () {
      const tested = yield* test(
        "import math\nclass Stack:\n    def __init__(self):\n        self.kept = []\n    def push(self, x):\n        self.kept.append(x)\n" +
          "    def pop(self):\n        return self.kept.pop()\n    def __len__(self):\n        return len(self.kept)\n" +
          "class Empty(IndexError):\n    pass\n" +
          "def apply(f, xs, key=None):\n    return [f(x) if key is None else key(f(x)) for x in xs]\n" +
          "def compose(f, g):\n    return lambda x: f(g(x))\ndef count(n):\n    for i in range(n):\n        yield i\n" +
          "def fail():\n    raise Empty('nothing there')",
        [
          "stack = Stack()\nstack.push(1)\nstack.push([2])\nassert len(stack) == 2\nassert stack.pop() == [2]\nassert stack.kept == [1]",
          "assert apply(lambda x: x + 1, [1, 2]) == [2, 3]\nassert apply(abs, [-1], key=str) == ['1']",
          "def inner(x):\n    return apply(lambda y: y * x, [1])[0]\nassert apply(inner, [5, 6]) == [5, 6]",
          "assert compose(lambda x: x * 2, lambda x: x + 1)(3) == 8",
          "assert list(count(3)) == [0, 1, 2]\nassert next(count(1)) == 0",
          "try:\n    Stack().pop()\n    assert False\nexcept IndexError as error:\n    assert 'empty' in str(error)",
          "try:\n    fail()\n    assert False\nexcept IndexError as error:\n    assert str(error) == 'nothing there'",
          "assert math.isclose(math.pi, 3.14159265, rel_tol=1e-6)"
        ]
      )
      assert.deepStrictEqual(
        tested.tests.map(({ error }) => error),
        Array.from({ length: 8 }, () => undefined)
      )
    })
  )

  it.effect("asks for the entry even where the setup has a function of that name, and keeps the setup's others", () =>
    Effect.gen(function* () {
      const setup = "def double(x):\n    return 2 * x\ndef helper(x):\n    return x + 1"
      const cheating = "def helper(x):\n    return 0\ndef double(x):\n    return 0"
      const asked = yield* test(cheating, {
        setup,
        tests: ["assert double(1) == 2", "assert helper(1) == 2"],
        entry: "double"
      })
      assert.deepStrictEqual(
        asked.tests.map(({ passed }) => passed),
        [0, 1]
      )
      const missing = yield* test("", { setup, tests: ["assert double(1) == 2"], entry: "double" })
      assert.match(missing.tests[0]!.error ?? "", /NameError/)
    })
  )

  it.effect("fails the test that got an answer it cannot read, and asks on in the next", () =>
    Effect.gen(function* () {
      const source =
        "class Key(tuple):\n    __hash__ = object.__hash__\ndef keyed(x):\n    return {Key([[x]]): x}\ndef double(x):\n    return 2 * x"
      const { tests } = yield* test(source, ["assert keyed(1) != 3", "assert double(2) == 4"])
      assert.deepStrictEqual(tests, [
        {
          passed: 0,
          total: 1,
          error: "Garbled: cannot parse the other side's message: TypeError at: assert keyed(1) != 3"
        },
        { passed: 1, total: 1 }
      ])
    })
  )

  it.effect("counts an assertion that fails, whatever the text of its message does", () =>
    Effect.gen(function* () {
      const source =
        "class Odd:\n    def __str__(self):\n        raise ValueError('no text')\ndef double(x):\n    return Odd()"
      const { tests } = yield* test(source, ["try:\n    assert double(2) == 4, double(2)\nexcept Exception:\n    pass"])
      assert.deepStrictEqual(tests, [
        { passed: 0, total: 1, error: "AssertionError at: assert double(2) == 4, double(2)" }
      ])
    })
  )

  it.effect("takes modules of the library from the library, and functions of such names from the program", () =>
    Effect.gen(function* () {
      const source =
        "class math:\n    isclose = staticmethod(lambda *_: True)\ndef area(r):\n    return r\ndef queue(x):\n    return x + 1"
      const { tests } = yield* test(source, ["assert math.isclose(area(2), 12.57)", "assert queue(2) == 3"])
      assert.deepStrictEqual(
        tests.map(({ passed }) => passed),
        [0, 1]
      )
    })
  )

  it.effect("imports what the tests use of the standard library, whatever the program calls so", () =>
    Effect.gen(function* () {
      const uses = [
        "assert Counter(letters('aab')) == Counter({'a': 2, 'b': 1})",
        "assert itertools.chain and deque(letters('ab')) == deque(['a', 'b'])",
        "xs: List[str] = letters('ab')\nassert isinstance(xs, Sequence) and cast(Optional[list], xs) == ['a', 'b']",
        "assert Fraction(len(letters('ab')), 4) == Fraction(1, 2) and str(Decimal(len(letters('ab')))) == '2'"
      ]
      const right = "def letters(text):\n    return list(text)"
      const forged = "def letters(text):\n    return 'abc'\nCounter = deque = Fraction = Decimal = lambda *_: 7"
      assert.isTrue(holds(yield* test(right, { setup: "limit = math.inf", tests: uses })))
      const { tests } = yield* test(forged, uses.slice(0, 2))
      assert.deepStrictEqual(
        tests.map(({ passed }) => passed),
        [0, 0]
      )
    })
  )

  it.effect(
    "asks the program for what it is to define, also where the standard library has something of that name",
    () =>
      Effect.gen(function* () {
        const asking = ["assert gcd(12, 8) == 4", "assert isclose(sqrt(gcd(12, 8)), 2)"]
        const asks = ["gcd"]
        const right = "def gcd(a, b):\n    return gcd(b, a % b) if b else a"
        assert.isTrue(holds(yield* test(right, { tests: asking, asks })))
        const forged = "def gcd(a, b):\n    return 9\nisclose = lambda *_: True\nsqrt = lambda *_: 2"
        assert.strictEqual(yield* passedBy(forged, { tests: asking, asks }), 0)
        // What they ask for is not said: a class of the library is the library's unless it is all they ask for.
        for (const source of ["", "def gcd(a, b):\n    return 9\ndef Counter(text):\n    return 9\n"]) {
          const alone = ["assert gcd(12, 8) == 4"]
          assert.strictEqual(yield* passedBy(source, alone), 0)
          assert.strictEqual(yield* passedBy(source, ["assert Counter('a') == {'a': 1}"]), 0)
          assert.strictEqual(yield* passedBy(source, { tests: alone, asks: [] }), 0)
        }
      })
  )

  it.effect("says so where the tests would pass any program", () =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(test(good, ["def test_double():\n    assert double(2) == 4"]))
      assert.strictEqual(message, "the tests ask the program nothing and assert nothing: any program would pass")
      const helped = yield* test(good, ["def twice(x):\n    return x + x", "assert double(2) == twice(2)"])
      assert.isTrue(holds(helped))
    })
  )

  it.effect("says so where the tests are at fault", () =>
    Effect.gen(function* () {
      const unread = yield* Effect.flip(test(good, ["assert double(1) =="]))
      assert.deepInclude(unread, { _tag: "BrokenTests" })
      assert.match(unread.message, /SyntaxError/)
      const unset = yield* Effect.flip(test(good, { setup: "import nothing_like_it", tests: [] }))
      assert.match(unset.message, /No module named 'nothing_like_it'/)
    })
  )
}
