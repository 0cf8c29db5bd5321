/** Runs that are learned out are told from those that are ill, whatever their course; and so are real ones. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { readFileSync } from "node:fs"
import * as Health from "../../src/health/Health.ts"
import * as SimulatedRun from "./SimulatedRun.ts"

const part = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))
const Drawn = Schema.Struct({
  seed: Schema.Int,
  steps: Schema.Int.check(Schema.isBetween({ minimum: 100, maximum: 300 })),
  groups: Schema.Int.check(Schema.isBetween({ minimum: 8, maximum: 32 })),
  size: Schema.Literals([4, 8, 16]),
  spread: part,
  start: part,
  end: part,
  speed: part,
  nats: part
})

const between = (low: number, high: number, share: number): number => low + (high - low) * share

const rules = (found: ReadonlyArray<Health.Found>): ReadonlyArray<string> => found.map(({ rule }) => rule)

/** From little to nearly all that can be had, and as certain as it is right. */
const learned = ({ end, nats, speed, start, steps, ...drawn }: typeof Drawn.Type) => {
  const [low, high] = [between(0.1, 0.4, start), between(0.9, 1, end)]
  const slowness = steps / between(4, 10, speed)
  const right = (step: number): number => high - (high - low) * Math.exp(-step / slowness)
  const entropy = (step: number): number => between(0.4, 1.5, nats) * (1 - right(step)) ** 1.5
  return { ...drawn, steps, right, entropy }
}

/** Certain from the middle of the run on, and right as often as `right` says. */
const certain = ({ nats, steps, ...drawn }: typeof Drawn.Type, right: (step: number) => number) => {
  const full = between(0.4, 1.5, nats)
  return { ...drawn, steps, right, entropy: (step: number) => (step < steps / 2 ? full : full / 20) }
}

describe("a run that is learned out", () => {
  it.prop(
    "is not ill, and has nothing broken on its way",
    [Drawn],
    ([drawn]) => {
      const recorded = SimulatedRun.record(learned(drawn), (soFar, step) => {
        if (step % 20 !== 0) return
        assert.notInclude(
          Health.judge(soFar).map(({ severity }) => severity),
          "broken"
        )
      })
      assert.deepStrictEqual(Health.judge(recorded), [])
    },
    SimulatedRun.few
  )

  it.prop(
    "is not ill either where the groups that are all right never reach the trainer",
    [Drawn],
    ([drawn]) => {
      const recorded = SimulatedRun.record({ ...learned(drawn), isFiltered: true })
      assert.deepStrictEqual(Health.judge(recorded), [])
    },
    SimulatedRun.few
  )

  it.prop(
    "is none in which every answer is wrong",
    [Drawn],
    ([drawn]) => {
      const recorded = SimulatedRun.record({ ...drawn, steps: 40, right: () => 0, entropy: () => 0.5 })
      assert.deepStrictEqual(rules(Health.judge(recorded)), ["skipped", "stuck", "identical"])
      for (const { message: says } of Health.judge(recorded)) assert.include(says, "0% of the answers are solved")
    },
    SimulatedRun.few
  )

  it.prop(
    "may be one from the beginning: every answer is right",
    [Drawn],
    ([drawn]) => {
      const recorded = SimulatedRun.record({ ...drawn, steps: 40, right: () => 1, entropy: () => 0.1 })
      assert.deepStrictEqual(Health.judge(recorded), [])
    },
    SimulatedRun.few
  )

  it.prop(
    "is none whose policy is certain while its reward stands still",
    [Drawn],
    ([drawn]) => {
      const [low, high] = [between(0.02, 0.1, drawn.start), between(0.2, 0.7, drawn.end)]
      const seen = new Set<string>()
      const run = certain(drawn, (step) => between(low, high, Math.min(1, (3 * step) / drawn.steps)))
      SimulatedRun.record(run, (soFar, step) => {
        if (step % 10 === 0) for (const rule of rules(Health.judge(soFar))) seen.add(rule)
      })
      assert.isTrue(seen.has("entropy_low"))
    },
    SimulatedRun.few
  )

  it.prop(
    "is none whose reward fell while its policy grew certain",
    [Drawn],
    ([drawn]) => {
      const [low, high] = [between(0.02, 0.2, drawn.start), between(0.6, 1, drawn.end)]
      const fallsAt = Math.round(0.7 * drawn.steps)
      const run = certain(drawn, (step) =>
        step < fallsAt ? between(low, high, Math.min(1, (2 * step) / fallsAt)) : low
      )
      const [first, ...others] = rules(Health.judge(SimulatedRun.record(run)))
      // It fell in one step, at which the policy stayed as certain as it was.
      assert.include(["grader", "collapse", "fall"], first)
      assert.include(others, "entropy_low")
    },
    SimulatedRun.few
  )
})

/** What a real run recorded: `of` says which; a source's metrics at its steps. */
const Curves = Schema.fromJsonString(
  Schema.Struct({
    of: Schema.String,
    sources: Schema.Record(
      Schema.String,
      Schema.Struct({
        steps: Schema.Array(Schema.Int),
        metrics: Schema.Record(Schema.String, Schema.Array(Schema.NullOr(Schema.Finite)))
      })
    )
  })
)

const curvesOf = (name: string) =>
  Schema.decodeSync(Curves)(readFileSync(new URL(`../fixtures/health/${name}.json`, import.meta.url), "utf8"))

describe.each(["sort-letters", "sort-letters-fast", "arithmetic-stories"])("a real run that learns: %s", (name) => {
  it("has no finding at any of its steps", () => {
    const { recorded, see } = Health.recorder()
    const { sources } = curvesOf(name)
    const last = Math.max(...Object.values(sources).flatMap(({ steps }) => steps))
    for (let step = 1; step <= last; step++) {
      for (const [source, { metrics, steps }] of Object.entries(sources)) {
        const at = steps.indexOf(step)
        if (at === -1) continue
        const told = Object.entries(metrics).flatMap(([metric, values]) => {
          const value = values[at] ?? null
          return value === null ? [] : [[metric, value] as const]
        })
        see(source, step, Object.fromEntries(told))
      }
      assert.deepStrictEqual(Health.judge(recorded), [], `step ${step}`)
    }
    assert.isAtLeast(last, 100)
  })
})
