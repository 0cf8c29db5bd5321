import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as RolloutOrder from "@atropos/core/service/api/RolloutOrder"
import * as Filter from "../../viewer/src/query/Filter.ts"
import * as Presets from "../../viewer/src/query/Presets.ts"

const bound = Schema.NullOr(Schema.Finite)
const step = Schema.NullOr(Schema.Int)
const Filters = Schema.Struct({
  isNewestRun: Schema.Boolean,
  environment: Schema.NullOr(Schema.NonEmptyString),
  item: Schema.NullOr(Schema.NonEmptyString.check(Schema.isMaxLength(128))),
  stepFrom: step,
  stepTo: step,
  scoreFrom: bound,
  scoreTo: bound,
  text: Schema.String,
  state: Schema.NullOr(Schema.Literals(["buffered", "queued", "formed", "leased", "consumed"])),
  bestTo: bound,
  bestFrom: bound,
  disagreementFrom: bound,
  disagreementTo: bound,
  deviationFrom: bound,
  deviationTo: bound,
  lengthFrom: bound,
  lengthTo: bound,
  stalenessFrom: bound,
  stalenessTo: bound,
  isNewlySolved: Schema.Boolean,
  hasToolErrors: Schema.Boolean,
  isTruncated: Schema.Boolean,
  component: Schema.NullOr(Schema.Literals(["format", "a.b"])),
  componentFrom: bound,
  componentTo: bound,
  value: Schema.NullOr(Schema.Literals(["score", "advantage", "length"])),
  valueFrom: bound,
  valueBelow: bound,
  valueTo: bound,
  sort: Schema.NullOr(Schema.Literals(RolloutOrder.sorts)),
  isAscending: Schema.Boolean
})

const address = (filter: Filter.Filter): URLSearchParams => {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(Filter.toSearch(filter))) {
    if (value !== null) search.set(name, String(value))
  }
  return new URLSearchParams(search.toString())
}

describe("Filter", () => {
  it.prop("comes back from the address as it was", [Filters], ([filter]) => {
    // -0 is 0 in an address; lone halves of surrogate pairs cannot stand in one.
    const known = JSON.parse(JSON.stringify({ ...filter, text: filter.text.toWellFormed() })) as Filter.Filter
    if (filter.environment?.isWellFormed() === false || filter.item?.isWellFormed() === false) return
    assert.deepStrictEqual(Filter.fromSearch(address(known)), {
      ...known,
      isAscending: known.sort !== null && known.isAscending,
      text: known.text.slice(0, Filter.maxTextLength)
    })
  })

  it("asks the service for the groups of an item", () => {
    const filter = Filter.fromSearch(new URLSearchParams("item=0123456789abcdef"))
    assert.deepStrictEqual(Filter.toQuery(filter), { item: "0123456789abcdef" })
    assert.strictEqual(Filter.active(filter), 1)
  })

  it("takes parameters that make no sense as not given", () => {
    const search = new URLSearchParams("step_from=x&step_to=&score_from=NaN&score_to=1e999&environment=")
    assert.deepStrictEqual(Filter.fromSearch(search), Filter.none)
  })

  it("asks the service for what is given only, steps as whole numbers", () => {
    const filter = Filter.fromSearch(new URLSearchParams("step_from=2.9&score_to=-0.5&text=%20a%20b%20"))
    assert.deepStrictEqual(Filter.toQuery(filter), { step_from: 2, score_to: -0.5, text: "a b" })
    assert.deepStrictEqual(Filter.toQuery(Filter.none), {})
    const byNothing = Filter.fromSearch(new URLSearchParams("sort=component&order=ascending&state=odd"))
    assert.deepStrictEqual(Filter.toQuery(byNothing), {})
  })

  it("takes back what a preset set when another is chosen, and nothing else", () => {
    const [wrong, solved, longest] = Presets.presets
    const own = { ...Filter.none, environment: "a" }
    const set = Presets.toggled(own, wrong!)
    assert.deepStrictEqual(set, { ...own, bestTo: 0 })
    assert.isTrue(Presets.isSet(set, wrong!))
    assert.isFalse(Presets.isSet(set, solved!))
    assert.deepStrictEqual(Presets.toggled(set, longest!), { ...own, bestFrom: 1e-9, sort: "longest_best" })
    assert.deepStrictEqual(Presets.toggled(set, wrong!), own)
  })

  it("counts kinds of filters, not fields", () => {
    assert.strictEqual(Filter.active({ ...Filter.none, stepFrom: 1, stepTo: 2, text: " " }), 1)
    assert.strictEqual(Filter.active({ ...Filter.none, scoreTo: 0, environment: "a", text: "b" }), 3)
  })

  it("says of a range that runs backwards what is wrong with it", () => {
    assert.strictEqual(
      Filter.problemOf({ ...Filter.none, stepFrom: 3, stepTo: 2 }),
      "Step: the minimum 3 exceeds the maximum 2."
    )
    const lengths = { ...Filter.none, lengthFrom: 9, lengthTo: 8 }
    assert.strictEqual(Filter.problemOf(lengths), "Length: the minimum 9 exceeds the maximum 8.")
    assert.isNull(Filter.problemOf({ ...Filter.none, scoreFrom: 1, scoreTo: 1 }))
  })
})
