/** What every sandbox for Python has to do, whatever it is made of. */
import { assert, layer } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import * as Sandbox from "../../src/sandbox/Sandbox.ts"
import { garbled, hostile, saying, swallowing, tests as hostileTests } from "./Hostile.ts"

const good = "def double(x):\n    return 2 * x"

/** Whether every test held. */
const holds = ({ tests }: Sandbox.Tested): boolean => tests.every(({ passed, total }) => passed === total)

const run = (source: string, limits?: Sandbox.RunLimits, stdin?: string) =>
  Effect.flatMap(Sandbox.Sandbox, (sandbox) => sandbox.run({ source, ...(stdin !== undefined && { stdin }) }, limits))

const test = (source: string, tests: Sandbox.Tests | ReadonlyArray<string>, limits?: Sandbox.RunLimits) =>
  Effect.flatMap(Sandbox.Sandbox, (sandbox) => sandbox.test({ source }, "tests" in tests ? tests : { tests }, limits))

/** The layer is to have two workers and at least 20 seconds for a run: machines that run tests are busy. */
export const suite = (name: string, sandbox: Layer.Layer<Sandbox.Sandbox>) =>
  layer(sandbox, { excludeTestServices: true, timeout: "2 minutes" })(name, (it) => {
    it.effect("gives a program its input and takes down what it prints and how it exits", () =>
      Effect.gen(function* () {
        const spoken = yield* run("import sys\nprint('Grüße,', input())\nsys.stderr.write('oh')", {}, "Welt\n")
        assert.deepInclude(spoken, { ending: "finished", exitCode: 0, stdout: "Grüße, Welt\n", stderr: "oh" })
        const left = yield* run("import sys\nprint('so')\nsys.exit(3)")
        assert.deepInclude(left, { ending: "failed", exitCode: 3, stdout: "so\n" })
        const failed = yield* run("def f():\n    return 1 / 0\nf()")
        assert.deepInclude(failed, { ending: "failed", exitCode: 1 })
        assert.match(failed.stderr, /line 3, in <module>[^]*line 2, in f[^]*ZeroDivisionError: division by zero/)
      })
    )

    it.effect("runs a program as the main one, with what is usually there", () =>
      Effect.gen(function* () {
        const { stdout } = yield* run(
          "import sys, time\nfrom dataclasses import dataclass\n@dataclass\nclass Point:\n    x: int\n" +
            "time.sleep(0.01)\nprint(__name__, sys.argv, Point(3))\nif __name__ == '__main__':\n    exit(0)"
        )
        assert.strictEqual(stdout, "__main__ ['program.py'] Point(x=3)\n")
      })
    )

    it.effect("ends a run at its limits of time and of output, and keeps what was printed", () =>
      Effect.gen(function* () {
        const late = yield* run("print('begun', flush=True)\nwhile True:\n    pass", { timeMillis: 500 })
        assert.deepInclude(late, { ending: "timeLimit", stdout: "begun\n" })
        const loud = yield* run("while True:\n    print('loud')", { outputBytes: 1000 })
        assert.strictEqual(loud.ending, "outputLimit")
        assert.strictEqual(loud.stdout.length, 1000)
        const large = yield* run("kept = []\nwhile True:\n    kept.append(bytearray(1 << 20))")
        assert.deepInclude(large, { ending: "memoryLimit" })
      })
    )

    it.effect("bounds what a run writes to files, wherever it may write", () =>
      Effect.gen(function* () {
        const { stdout } = yield* run(
          "import os\nwritten = 0\nfor folder in ('/', '/tmp', '/dev', '/dev/shm', '/usr', '/lib', '/etc', '/proc', '/sys', '/bin'):\n" +
            "    for n in range(100):\n        try:\n            with open(os.path.join(folder, 'f%d' % n), 'wb') as file:\n" +
            "                written += file.write(b'x' * (1 << 20))\n        except OSError:\n            break\nprint(written >> 20)"
        )
        assert.isAtMost(Number(stdout), 32)
        assert.isAtLeast(Number(stdout), 16)
      })
    )

    it.effect("gives every run a world of its own", () =>
      Effect.gen(function* () {
        const leave =
          "import builtins, json, os\nbuiltins.left = json.left = 1\n" +
          "for folder in ('/', '/tmp', '/lib', '/dev'):\n    try:\n        open(folder + '/left', 'w').write('x')\n    except OSError:\n        pass"
        yield* Effect.replicateEffect(run(leave), 3)
        const look =
          "import builtins, json, os\nprint(hasattr(builtins, 'left'), hasattr(json, 'left'), " +
          "any(os.path.exists(folder + '/left') for folder in ('/', '/tmp', '/lib', '/dev')))"
        const seen = yield* Effect.replicateEffect(run(look), 3)
        assert.deepStrictEqual(
          seen.map(({ stdout }) => stdout),
          Array.from({ length: 3 }, () => "False False False\n")
        )
      })
    )

    it.effect("does the same at every run", () =>
      Effect.gen(function* () {
        const outputs = yield* Effect.replicateEffect(run("print({'a', 'b', 'c', 'd', 'e'}, hash('word'))"), 3)
        assert.strictEqual(new Set(outputs.map(({ stdout }) => stdout)).size, 1)
      })
    )

    it.effect("runs several programs at once, each with its own result", () =>
      Effect.gen(function* () {
        const numbers = Array.from({ length: 8 }, (_, index) => index)
        const outcomes = yield* Effect.forEach(
          numbers,
          (n) =>
            Effect.zip(run(`print(${n} * 11)`), test(good, [`assert double(${n}) == ${2 * n}`]), { concurrent: true }),
          { concurrency: "unbounded" }
        )
        for (const [n, [printed, tested]] of outcomes.entries()) {
          assert.strictEqual(printed.stdout, `${n * 11}\n`)
          assert.isTrue(holds(tested))
        }
      })
    )

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

    it.effect("fails tests that swallow what goes wrong on the line, however they do", () =>
      Effect.gen(function* () {
        const tested = yield* Effect.forEach(
          garbled,
          (frame) => Effect.map(test(saying(frame), swallowing), ({ tests }) => ({ frame, tests })),
          { concurrency: 2 }
        )
        const passing = tested.flatMap(({ frame, tests }) =>
          tests.flatMap(({ passed, total }, index) =>
            passed === total ? [`${frame.slice(0, 40)}: ${swallowing[index]}`] : []
          )
        )
        assert.deepStrictEqual(passing, [])
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
            error: "Garbled: what the other side said cannot be read: TypeError at: assert keyed(1) != 3"
          },
          { passed: 1, total: 1 }
        ])
      })
    )

    it.effect("counts an assertion that fails, whatever the text of its message does", () =>
      Effect.gen(function* () {
        const source =
          "class Odd:\n    def __str__(self):\n        raise ValueError('no text')\ndef double(x):\n    return Odd()"
        const { tests } = yield* test(source, [
          "try:\n    assert double(2) == 4, double(2)\nexcept Exception:\n    pass"
        ])
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
          const passedBy = (source: string, tests: Parameters<typeof test>[1]) =>
            Effect.map(test(source, tests), ({ tests }) => tests.filter(({ passed, total }) => passed === total).length)
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

    it.effect(
      "gives no pass to any program that tries something else than the task, and goes on as before",
      () =>
        Effect.gen(function* () {
          const results = yield* Effect.forEach(
            hostile,
            ({ kind, source }) =>
              Effect.map(test(source, hostileTests, { timeMillis: 500 }), (tested) => ({ kind, tested })),
            { concurrency: 2 }
          )
          const passing = results.filter(({ tested }) => tested.tests.some(({ passed, total }) => passed === total))
          assert.deepStrictEqual(
            passing.map(({ kind }) => kind),
            []
          )
          const after = yield* Effect.forEach([1, 2, 3, 4], () => test(good, hostileTests), {
            concurrency: "unbounded"
          })
          assert.isTrue(after.every(holds))
        }),
      // Some of them are only stopped by the clock.
      120_000
    )

    it.effect("is as good as new after a run was interrupted", () =>
      Effect.gen(function* () {
        const endless = run("while True:\n    pass")
        yield* Effect.forEach([1, 2, 3], () => Effect.timeoutOption(endless, "300 millis"), {
          concurrency: "unbounded"
        })
        const after = yield* Effect.forEach([1, 2], () => test(good, hostileTests), { concurrency: "unbounded" })
        assert.isTrue(after.every(holds))
      })
    )
  })
