import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Expression from "../../viewer/src/query/Expression.ts"
import * as Filter from "../../viewer/src/query/Filter.ts"

const queryOf = (text: string) => Filter.toQuery({ ...Filter.none, text })

const problemOf = (text: string) => Filter.problemOf({ ...Filter.none, text })

describe("filters written into the search", () => {
  it("are bounds, names and flags, between words that are searched", () => {
    assert.deepStrictEqual(
      queryOf(
        'lyon score>=0.25 step<=9 env:math "two words" component.format<=0.5 item:a:b state:consumed is:truncated'
      ),
      {
        text: 'lyon "two words"',
        score_from: 0.25,
        step_to: 9,
        environment: "math",
        component: "format",
        component_to: 0.5,
        item: "a:b",
        state: "consumed",
        truncated: "true"
      }
    )
    assert.deepStrictEqual(queryOf("best=1 has:tool_errors is:newly_solved"), {
      best_from: 1,
      best_to: 1,
      tool_errors: "true",
      newly_solved: "true"
    })
  })

  it.prop("exclude the bound itself with < and >", [Schema.Finite], ([bound]) => {
    const { score_from, score_to } = { ...queryOf(`score>${bound}`), ...queryOf(`score<${bound}`) }
    if (Math.abs(bound) > 1e300) return
    assert.isAbove(score_from!, bound)
    assert.isBelow(score_to!, bound)
    assert.closeTo(score_from!, score_to!, Math.max(Math.abs(bound) * 1e-15, 1e-300))
  })

  it("take whole steps next to a bound", () => {
    assert.deepStrictEqual(queryOf("step>3 step<7"), { step_from: 4, step_to: 6 })
    assert.deepStrictEqual(queryOf("staleness>2.5"), { staleness_from: 3 })
    assert.deepStrictEqual(queryOf("step>=2.5 step<=7.5"), { step_from: 3, step_to: 7 })
  })

  it.prop("leave other words as they are", [Schema.String], ([text]) => {
    const plain = text.replaceAll(/[<>=:]/g, " ")
    assert.deepStrictEqual(Expression.apply({ ...Filter.none, text: plain }), {
      filter: { ...Filter.none, text: plain.replaceAll(/\s+/g, " ").trim() },
      problem: null
    })
  })

  it("leave phrases, addresses and comparisons of other names to the search", () => {
    const others = ['"score>1"', "“score>1 b”", "https://a.example/b?c=1", "x>1", "12:30", "score:high"]
    for (const text of [...others, "constructor:x", "constructor<3", "toString=1"]) {
      assert.deepStrictEqual(queryOf(text), { text })
    }
  })

  it("that cannot be read are named, as is a range that runs backwards", () => {
    assert.strictEqual(problemOf("score>high"), "score>high: expected a number, or a known value.")
    assert.strictEqual(problemOf("a state:odd b"), "state:odd: expected a number, or a known value.")
    assert.strictEqual(problemOf("env:"), "env:: expected a number, or a known value.")
    assert.strictEqual(problemOf("step>=3 step<=2"), "Step: the minimum 3 exceeds the maximum 2.")
    assert.strictEqual(problemOf("step=2.5"), "step=2.5: expected a number, or a known value.")
    assert.isNull(problemOf("score>0 lyon"))
  })

  it("narrow each other and the fields of the form, and are named where they contradict", () => {
    const form = { ...Filter.none, stepFrom: 5, environment: "math" }
    const query = (text: string) => Filter.toQuery({ ...form, text })
    assert.deepStrictEqual(query("step>=3 step<=9 step<=7 env:math"), { step_from: 5, step_to: 7, environment: "math" })
    const problem = (text: string) => Filter.problemOf({ ...form, text })
    assert.strictEqual(problem("env:code"), "env:code: contradicts another filter.")
    assert.strictEqual(problem("component.a<1 component.b>0"), "component.b>0: contradicts another filter.")
    assert.isNull(problem("component.a<1 component.a>0"))
    assert.strictEqual(problem("step<4"), "Step: the minimum 5 exceeds the maximum 3.")
  })

  it("take values with spaces in quotes", () => {
    assert.deepStrictEqual(queryOf('env:"my math" lyon "in two"'), { environment: "my math", text: 'lyon "in two"' })
  })
})
