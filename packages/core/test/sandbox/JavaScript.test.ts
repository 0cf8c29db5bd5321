import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as Sandbox from "../../src/sandbox/Sandbox.ts"

const run = (source: string, limits?: Sandbox.RunLimits, stdin = "") =>
  Effect.flatMap(Sandbox.Sandbox, (sandbox) => sandbox.run({ language: "javascript", source, stdin }, limits))

const test = (source: string, tests: ReadonlyArray<string>, more: Partial<Sandbox.Tests> & Sandbox.RunLimits = {}) =>
  Effect.flatMap(Sandbox.Sandbox, (sandbox) =>
    sandbox.test({ language: "javascript", source }, { tests, ...more }, more)
  )

const results = ({ tests }: Sandbox.Tested) => tests.map(({ passed, total }) => `${passed}/${total}`)

const good = "const double = (x) => 2 * x"
const doubles = { entry: "double" }
const tests = [
  "assert.equal(double(2), 4)",
  "assert.deepEqual([double(1), double(0.25)], [2, 0.5]); assert(double(3) > 5)",
  "for (const x of [1, 2, 3]) assert(double(x) === x + x)"
]

/** None of them doubles. */
const hostile: { readonly [kind: string]: string } = {
  "runs for ever": "while (true) {}",
  "runs for ever when called": "function double() { for (;;) try { for (;;) {} } catch {} }",
  "eats memory": "function double() { const kept = []; for (;;) kept.push(new Uint8Array(1 << 20)) }",
  "joins strings": "function double() { let text = 'x'; for (;;) text += text }",
  recurses: "function double(x) { return double(x) }",
  "prints megabytes": "function double() { for (;;) console.log('x'.repeat(100000)) }",
  "runs for ever in promises": "const again = () => Promise.resolve().then(again); again()",
  "equals everything":
    "function double() { return { valueOf: () => 4, toString: () => '4', toJSON: () => 4, [Symbol.toPrimitive]: () => 4 } }",
  "patches the language":
    "function double(x) { return x + 3 }\nJSON.stringify = () => '{\"v\":4}'; Object.is = () => true; Array.prototype.map = () => []; globalThis.assert = () => true",
  leaves: "quit(); process.exit(0)",
  "reaches for this machine":
    "function double(x) { for (const name of ['process', 'require', 'fetch', 'std', 'os', 'WebAssembly']) if (name in globalThis) return 2 * x; try { return import('node:fs') } catch { return x + 3 } }",
  "leaves its engine":
    "function double(x) { try { return double.constructor.constructor('return process')().exit(0) } catch { return x + 3 } }",
  "does not parse": "function double(x {",
  "defines nothing": ""
}

layer(Sandbox.layerWasi({ workers: 2, timeMillis: 30_000, memoryBytes: 32 * 2 ** 20 }), { excludeTestServices: true })(
  "Sandbox, JavaScript",
  (it) => {
    it.effect("gives a program its input and takes down what it prints and how it ends", () =>
      Effect.gen(function* () {
        const spoken = yield* run(
          "console.log('Grüße,', stdin, { a: [1] }, undefined); console.error('oh')",
          {},
          "Welt"
        )
        assert.deepInclude(spoken, {
          ending: "finished",
          exitCode: 0,
          stdout: 'Grüße, Welt {"a":[1]} undefined\n',
          stderr: "oh\n"
        })
        const failed = yield* run("console.log(1)\nnull.x")
        assert.deepInclude(failed, { ending: "failed", exitCode: 1, stdout: "1\n" })
        assert.match(failed.stderr, /^TypeError: cannot read property 'x' of null\n[^]*program\.js:2/)
        const later = yield* run("const wait = async () => 7; wait().then((n) => console.log(n))")
        assert.strictEqual(later.stdout, "7\n")
      })
    )

    it.effect("ends a run at its limits", () =>
      Effect.gen(function* () {
        assert.strictEqual((yield* run("while (true) {}", { timeMillis: 200 })).ending, "timeLimit")
        const loud = yield* run("while (true) console.log('loud')", { outputBytes: 1000 })
        assert.strictEqual(loud.ending, "outputLimit")
        assert.strictEqual(loud.stdout.length, 1000)
        assert.strictEqual((yield* run("const kept = []; while (true) kept.push({ a: 1 })")).ending, "memoryLimit")
      })
    )

    it.effect("judges by tests that the program does not see, and counts what holds", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(results(yield* test(good, tests, doubles)), ["1/1", "2/2", "3/3"])
        const half = yield* test("function double(x) { return x === 2 ? 4 : 5 }", tests, doubles)
        assert.deepStrictEqual(results(half), ["1/1", "0/2", "1/3"])
        assert.strictEqual(half.tests[1]!.error, "[5,5] is not [2,0.5]")
      })
    )

    it.effect("carries plain values of every kind there and back, and exceptions", () =>
      Effect.gen(function* () {
        const values = [
          "null",
          "undefined",
          "-0",
          "NaN",
          "2n ** 80n",
          "'\\u2603\\ud800'",
          "[1, [2]]",
          "{ b: 1, a: { __proto__: null } }",
          "new Map([[1, 'a']])",
          "new Set([1, [2]])",
          "new Date(5)"
        ]
        const echoed = yield* test(
          "const echo = (value) => value",
          values.map((value) => `assert.deepEqual(echo(${value}), ${value})`),
          { entry: "echo" }
        )
        assert.deepStrictEqual(
          echoed.tests.map(({ error }) => error),
          values.map(() => undefined)
        )
        const thrown = yield* test("function fail() { throw new RangeError('too far') }", [
          "assert.throws(() => fail(), /too far/)",
          "assert.throws(() => fail(), /near/)"
        ])
        assert.deepStrictEqual(results(thrown), ["1/1", "0/1"])
      })
    )

    it.effect("waits for what a test leaves to promises", () =>
      Effect.gen(function* () {
        const waiting =
          "(async () => { await null; assert.equal(double(2), 4); await null; assert(double(3) === 6) })()"
        assert.deepStrictEqual(results(yield* test(good, [waiting], doubles)), ["2/2"])
        assert.deepStrictEqual(results(yield* test("const double = () => 5", [waiting], doubles)), ["0/2"])
        const never = yield* test(
          good,
          ["(async () => { double(1); await new Promise(() => {}); assert(false) })()"],
          doubles
        )
        assert.strictEqual(never.tests[0]!.error, "the test does not come to its end")
        const thrown = yield* test(good, ["(async () => { await null; double(1); throw new Error('oh') })()"], doubles)
        assert.strictEqual(thrown.tests[0]!.error, "Error: oh")
        const promised = yield* test("const double = async (x) => x + 3", ["assert(double(2))"], doubles)
        assert.strictEqual(promised.tests[0]!.error, "TypeError: a promise cannot be handed over")
      })
    )

    it.effect("takes no end of a program for an exception that a test expects, and no answer that cannot be read", () =>
      Effect.gen(function* () {
        const expecting = ["assert.throws(() => double(2))", "try { double(2) } catch {}"]
        const programs = {
          "runs for ever": "function double() { for (;;); }",
          "prints without end": "function double() { for (;;) console.log('x'.repeat(10000)) }",
          "breaks what answers": "function double() { throw { get name() { throw 1 } } }",
          "answers nonsense": "function double() { return 4 }\nObject.prototype.toJSON = () => 'nonsense'",
          "answers no value": "function double() { return {} }\nObject.entries = () => ({ map: () => 5 })"
        }
        for (const [kind, source] of Object.entries(programs)) {
          const tested = yield* test(source, expecting, { ...doubles, timeMillis: 1000 })
          assert.isTrue(
            tested.tests.every(({ passed, total }) => passed < total),
            `${kind}: ${results(tested).join(" ")}`
          )
        }
        assert.deepStrictEqual(results(yield* test("function double() { throw 1 }", expecting, doubles)), [
          "1/1",
          "1/1"
        ])
      })
    )

    it.effect("says so where the tests would pass any program", () =>
      Effect.gen(function* () {
        const { message } = yield* Effect.flip(test(good, ["const test = () => { assert.equal(double(2), 4) }"]))
        assert.strictEqual(message, "the tests ask the program nothing and assert nothing: any program would pass")
      })
    )

    it.effect("says so where the tests are at fault", () =>
      Effect.gen(function* () {
        assert.match((yield* Effect.flip(test(good, ["assert.equal(double(2) 4)"], doubles))).message, /SyntaxError/)
      })
    )

    it.effect("gives no pass to any program that tries something else than the task, and goes on as before", () =>
      Effect.gen(function* () {
        const verdicts = yield* Effect.forEach(
          Object.entries(hostile),
          ([kind, source]) =>
            Effect.map(test(source, tests, { ...doubles, timeMillis: 500 }), (tested) => ({ kind, tested })),
          { concurrency: 2 }
        )
        const passing = verdicts.filter(({ tested }) => tested.tests.some(({ passed, total }) => passed === total))
        assert.deepStrictEqual(
          passing.map(({ kind }) => kind),
          []
        )
        assert.deepStrictEqual(results(yield* test(good, tests, doubles)), ["1/1", "2/2", "3/3"])
      })
    )
  }
)
