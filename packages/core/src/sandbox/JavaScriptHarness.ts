/**
 * The JavaScript on both sides of a test: values cross as JSON, as what they are underneath, and `assert` counts.
 *
 * A test is a script with `assert(value, message?)`, `assert.equal(actual, expected)` (as `Object.is`),
 * `assert.deepEqual` and `assert.throws(function, message pattern?)`; one that fails is counted and does not stop those
 * after it. Numbers, texts, big integers, undefined, arrays, plain objects, Map, Set and Date cross; functions and
 * promises do not. A test may be asynchronous: it is over when what it left to promises is done. One that got fewer
 * answers than it asked for fails, whatever it made of that.
 */
const values = String.raw`
const pack = (value) => {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value
  if (typeof value === "number") return Number.isFinite(value) && !Object.is(value, -0) ? value : { n: Object.is(value, -0) ? "-0" : String(value) }
  if (value === undefined) return { u: 0 }
  if (typeof value === "bigint") return { b: String(value) }
  if (Array.isArray(value)) return Array.from(value, pack)
  if (value instanceof Map) return { m: Array.from(value, ([key, one]) => [pack(key), pack(one)]) }
  if (value instanceof Set) return { s: Array.from(value, pack) }
  if (value instanceof Date) return { d: value.getTime() }
  if (value instanceof Promise) throw new TypeError("a promise cannot be handed over")
  if (typeof value === "object") return { o: Object.entries(value).map(([key, one]) => [key, pack(one)]) }
  throw new TypeError("a " + typeof value + " cannot be handed over")
}
const unpack = (value) => {
  if (Array.isArray(value)) return value.map(unpack)
  if (typeof value !== "object" || value === null) return value
  const [[tag, inner]] = Object.entries(value)
  if (tag === "n") return Number(inner)
  if (tag === "u") return undefined
  if (tag === "b") return BigInt(inner)
  if (tag === "m") return new Map(inner.map(([key, one]) => [unpack(key), unpack(one)]))
  if (tag === "s") return new Set(inner.map(unpack))
  if (tag === "d") return new Date(inner)
  if (tag === "o") return Object.fromEntries(inner.map(([key, one]) => [key, unpack(one)]))
  throw new TypeError("no such kind of value: " + tag)
}
`

/**
 * Evaluates to the runner's two ends: `begin(print, stdin)`, before the program, and `invoke(name, arguments)`, after
 * it.
 */
export const javaScriptRunner = String.raw`(() => {
${values}
const { parse, stringify } = JSON
const evaluate = eval
const known = new Set(Object.getOwnPropertyNames(globalThis))
const shown = (value) => {
  if (typeof value === "string") return value
  try { return stringify(pack(value)) === undefined ? String(value) : stringify(value) ?? String(value) } catch { return String(value) }
}
return {
  begin: (print, stdin) => {
    const to = (level) => (...values) => print(level, values.map(shown).join(" "))
    globalThis.console = { log: to("out"), info: to("out"), debug: to("out"), warn: to("error"), error: to("error") }
    globalThis.stdin = stdin
    known.add("console").add("stdin")
  },
  names: () => stringify(Object.getOwnPropertyNames(globalThis).filter((name) => !known.has(name))),
  invoke: (name, given) => {
    try {
      const target = evaluate(name)
      return stringify({ v: pack(target(...unpack(parse(given)))) })
    } catch (error) {
      return stringify({ e: [String(error?.name), String(error?.message ?? error)] })
    }
  }
}
})()`

/**
 * Evaluates to the judge's parts: `begin(ask, job)`, `test(index)` for each test, `end()` once what the test left to
 * promises is done, and `results()` as JSON; `begin` and `test` say why the tests are broken, if they are. `ask` gives
 * an empty text where the program has not answered.
 */
export const javaScriptJudge = String.raw`(() => {
${values}
const evaluate = eval
const plain = (value) => JSON.stringify(pack(value))
// The keys of an object have no order.
const sorted = (packed) => {
  if (Array.isArray(packed)) return packed.map(sorted)
  if (packed?.o === undefined) return packed
  return { o: packed.o.map(([key, value]) => [key, sorted(value)]).sort(([a], [b]) => (a < b ? -1 : 1)) }
}
const same = (a, b) => JSON.stringify(sorted(pack(a))) === JSON.stringify(sorted(pack(b)))
const results = []
let job, passed, failed, first, asked, answered, waits, hasSeen = false
const count = (holds, message) => {
  if (holds) passed++
  else { failed++; first ??= message }
}
const remoteOf = (ask) => (name) => (...given) => {
  const question = plain(given)
  asked++
  let thrown, value
  try {
    const reply = JSON.parse(ask(name, question))
    if ("v" in reply) value = unpack(reply.v)
    else thrown = Object.assign(new Error(String(reply.e[1])), { name: String(reply.e[0]) })
  } catch {
    // Whoever swallows it: it has not been counted as an answer.
    throw new Error("the program has not answered")
  }
  answered++
  if (thrown === undefined) return value
  throw thrown
}
const assert = (value, message = "not true: " + String(value)) => count(Boolean(value), message)
assert.equal = (actual, expected) => count(Object.is(actual, expected), plain(actual) + " is not " + plain(expected))
assert.deepEqual = (actual, expected) => count(same(actual, expected), plain(actual) + " is not " + plain(expected))
assert.throws = (attempt, pattern = /^/) => {
  try { attempt() } catch (error) { return count(pattern.test(String(error.message)), "it throws " + error.message) }
  count(false, "it does not throw")
}
return {
  begin: (ask, text) => {
    job = JSON.parse(text)
    const remote = remoteOf(ask)
    globalThis.assert = assert
    try { evaluate(job.setup) } catch (error) { return String(error) }
    for (const name of job.names) if (!(name in globalThis)) globalThis[name] = remote(name)
    if (job.entry !== null) globalThis[job.entry] = remote(job.entry)
    return ""
  },
  test: (index) => {
    passed = 0, failed = 0, first = null, asked = 0, answered = 0, waits = false
    try { new Function(job.tests[index]) } catch (error) { return String(error) }
    const fail = (error) => count(false, String(error))
    try {
      const value = evaluate("{" + job.tests[index] + "\n}")
      if (value instanceof Promise) {
        waits = true
        value.then(() => { waits = false }, (error) => { waits = false; fail(error) })
      }
    } catch (error) {
      fail(error)
    }
    return ""
  },
  end: () => {
    if (waits) count(false, "the test does not come to its end")
    if (answered < asked) count(false, "the program answered " + answered + " of " + asked + " calls")
    hasSeen ||= asked + passed + failed > 0
    const total = Math.max(passed + failed, 1)
    results.push([failed === 0 ? total : passed, total, first])
    return ""
  },
  results: () => JSON.stringify(
    hasSeen || results.length === 0
      ? { tests: results }
      : { broken: "the tests ask the program nothing and assert nothing: any program would pass" }
  )
}
})()`
