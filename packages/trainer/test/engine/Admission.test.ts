import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Admission from "../../src/engine/Admission.ts"
import { bytesFor } from "../../src/engine/cache/KvShape.ts"
import { PolicyTable, type Version } from "../../src/engine/PolicyTable.ts"

const shape = { layers: 1, kvHeads: 1, headDim: 1 }
const limits = { maxRows: 6, maxWaiting: 10, kvBytes: bytesFor(shape, Array<number>(8).fill(200)), shape }

interface Job {
  readonly name: number
  readonly lane: string
  readonly demand: Admission.Demand
}

const Arrival = Schema.Struct({
  choices: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 })),
  prompt: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 150 })),
  more: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 150 })),
  lane: Schema.Literals(["a", "b"]),
  finish: Schema.Natural
})

describe("Admission", () => {
  it.prop(
    "keeps to rows, memory and order, and lets everyone begin in the end",
    [Schema.Array(Arrival)],
    ([arrivals]) => {
      const admission = new Admission.Admission<Job, string>(limits)
      const running: Array<Job> = []
      const begun: Array<number> = []
      const counts = new Map<number, number>()
      const admit = () => {
        for (;;) {
          const next = admission.next(({ lane }) => lane)
          if (next === undefined) break
          for (let i = 0; i < next.choices; i++) running.push(next.job)
          begun.push(next.job.name)
          counts.set(next.job.name, (counts.get(next.job.name) ?? 0) + next.choices)
          if (next.isLast) admission.promptDone(next.job)
          assert.isAtMost(running.length, limits.maxRows)
          assert.isAtMost(admission.bytes, limits.kvBytes)
          assert.strictEqual(admission.rows, running.length)
        }
      }
      const finish = (at: number) => {
        const [job] = running.splice(at % running.length, 1)
        admission.release(job!.lane, job!.demand)
      }
      let offered = 0
      const accepted: Array<Job> = []
      for (const [name, { choices, finish: at, lane, more, prompt }] of arrivals.entries()) {
        const demand = { choices, promptTokens: prompt, totalTokens: prompt + more }
        const job = { name, lane, demand }
        if (!admission.fits(demand)) continue
        if (admission.offer(job, demand)) {
          accepted.push(job)
          offered += choices
        } else assert.isAbove(admission.waiting + choices, limits.maxWaiting)
        admit()
        if (running.length > 0 && at % 2 === 0) finish(at)
      }
      admit()
      while (running.length > 0) {
        finish(0)
        admit()
      }
      assert.strictEqual(
        [...counts.values()].reduce((a, b) => a + b, 0),
        offered
      )
      for (const { demand, name } of accepted) assert.strictEqual(counts.get(name), demand.choices)
      assert.deepStrictEqual(
        begun,
        begun.toSorted((a, b) => a - b)
      )
      assert.strictEqual(admission.waiting, 0)
      assert.strictEqual(admission.bytes, 0)
    }
  )

  it("gives the place of what is withdrawn to the next", () => {
    const admission = new Admission.Admission<string, string>({ ...limits, maxRows: 1 })
    const demand = { choices: 1, promptTokens: 1, totalTokens: 2 }
    for (const job of ["first", "second", "third"]) assert.isTrue(admission.offer(job, demand))
    assert.strictEqual(admission.next(() => "lane")?.job, "first")
    admission.withdraw("second")
    assert.strictEqual(admission.waiting, 1)
    admission.release("lane", demand)
    assert.strictEqual(admission.next(() => "lane")?.job, "third")
  })
})

const Event = Schema.Struct({
  what: Schema.Literals(["load", "unload", "begin", "end"]),
  policy: Schema.Literals(["a", "b", "c"]),
  at: Schema.Natural
})

describe("PolicyTable", () => {
  it.prop("frees each version once, when it is neither current nor used", [Schema.Array(Event)], ([events]) => {
    const freed: Array<number> = []
    const table = new PolicyTable<number>(({ weights }) => freed.push(weights))
    const current = new Map<string, number>()
    const users: Array<Version<number>> = []
    for (const [weights, { at, policy, what }] of events.entries()) {
      if (what === "load") {
        table.load(policy, weights, weights)
        current.delete(policy)
        current.set(policy, weights)
      } else if (what === "unload") {
        assert.strictEqual(table.unload(policy), current.delete(policy))
      } else if (what === "begin") {
        const version = table.resolve(at % 2 === 0 ? policy : undefined)
        assert.strictEqual(version?.weights, at % 2 === 0 ? current.get(policy) : [...current.values()].at(-1))
        if (version !== undefined) {
          table.acquire(version)
          users.push(version)
        }
      } else if (users.length > 0) {
        table.release(users.splice(at % users.length, 1)[0]!)
      }
      const needed = new Set([...current.values(), ...users.map(({ weights }) => weights)])
      assert.deepStrictEqual(new Set(table.versions.map(({ weights }) => weights)), needed)
      assert.isFalse(freed.some((weights) => needed.has(weights)))
      assert.strictEqual(new Set(freed).size, freed.length)
    }
  })
})
