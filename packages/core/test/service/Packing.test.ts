import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { readFileSync } from "node:fs"
import * as Packing from "../../src/service/Packing.ts"
import * as Growth from "../base/Growth.ts"

interface Golden {
  readonly find_groups: ReadonlyArray<{ sizes: Array<number>; target: number; indices: Array<number> }>
  readonly grab_exact: ReadonlyArray<{ sizes: Array<number>; batch_size: number; batch: Array<number> | null }>
  readonly min_alloc: ReadonlyArray<{
    items: Array<{ size: number; env_id: number | null }>
    batch_size: number
    envs: Array<{ registered_id: number; connected: boolean; min_batch_allocation: number | null }>
    batch: Array<number> | null
  }>
}
const golden = JSON.parse(readFileSync(new URL("../fixtures/packing.json", import.meta.url), "utf8")) as Golden

const sum = (numbers: ReadonlyArray<number>): number => numbers.reduce((total, n) => total + n, 0)

/** All subsets (ascending positions) that sum to `target`, oldest first; sizes of zero never take part. */
const exactSubsets = (sizes: ReadonlyArray<number>, target: number): Array<Array<number>> => {
  const found: Array<Array<number>> = []
  const walk = (i: number, missing: number, taken: Array<number>): void => {
    if (missing === 0) return void found.push(taken)
    if (i === sizes.length) return
    if (sizes[i]! > 0 && sizes[i]! <= missing) walk(i + 1, missing - sizes[i]!, [...taken, i])
    walk(i + 1, missing, taken)
  }
  walk(0, target, [])
  return found
}

/** Whether some subset sums to `target`, whatever the number of groups. */
const isReachable = (sizes: ReadonlyArray<number>, target: number): boolean => {
  const reached = new Set([0])
  for (const size of sizes) for (const at of Array.from(reached)) if (at + size <= target) reached.add(at + size)
  return reached.has(target)
}

const ofSizes = (sizes: ReadonlyArray<number>) => sizes.map((size) => ({ size, envId: null }))

const assertFills = (sizes: ReadonlyArray<number>, batch: ReadonlyArray<number> | undefined, target: number) => {
  assert.isDefined(batch)
  assert.strictEqual(sum(batch.map((i) => sizes[i]!)), target)
  assert.deepStrictEqual(
    batch,
    [...new Set(batch)].toSorted((a, b) => a - b)
  )
}

describe("Packing.fill", () => {
  it("forms a batch for every recorded queue with an exact fill, and only those", () => {
    for (const { batch, batch_size, sizes } of golden.grab_exact) {
      const ours = Packing.fill(ofSizes(sizes), batch_size)
      const isFillable = batch_size > 0 && isReachable(sizes, batch_size)
      if (isFillable) assertFills(sizes, ours, batch_size)
      else assert.isUndefined(ours, JSON.stringify({ sizes, batch_size }))
      assert.isTrue(batch === null || isFillable)
    }
  })

  it("forms a batch for every recorded queue with minimum shares, and meets the shares at least as well", () => {
    for (const { batch, batch_size, envs, items } of golden.min_alloc) {
      const minimums = new Map(
        envs
          .filter(({ connected, min_batch_allocation }) => connected && min_batch_allocation !== null)
          .map((env) => [env.registered_id, env.min_batch_allocation!])
      )
      const groups = items.map(({ env_id, size }) => ({ size, envId: env_id }))
      const sizes = groups.map(({ size }) => size)
      const ours = Packing.fill(groups, batch_size, minimums)
      if (!isReachable(sizes, batch_size)) {
        assert.isUndefined(ours)
        continue
      }
      assertFills(sizes, ours, batch_size)
      if (batch === null) continue
      const met = (taken: ReadonlyArray<number>) =>
        sum(
          [...minimums].map(([envId, share]) => {
            const given = sum(taken.map((i) => (groups[i]!.envId === envId ? sizes[i]! : 0)))
            return Math.min(Math.floor(batch_size * share), given)
          })
        )
      assert.isAtLeast(met(ours!), met(batch), JSON.stringify({ groups, batch, ours }))
    }
  })

  const Sizes = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 9 }))).check(
    Schema.isMaxLength(11)
  )
  const BatchSize = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 24 }))

  it.prop("takes the oldest exact subset, or none where there is none", [Sizes, BatchSize], ([sizes, batchSize]) => {
    assert.deepStrictEqual(Packing.fill(ofSizes(sizes), batchSize), exactSubsets(sizes, batchSize)[0])
  })

  const Group = Schema.Struct({
    size: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 6 })),
    envId: Schema.NullOr(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 })))
  })
  const Shares = Schema.Tuple([
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10 })),
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10 }))
  ])

  it.prop(
    "meets minimum shares as far as any exact fill can",
    [Schema.Array(Group).check(Schema.isMaxLength(10)), BatchSize, Shares],
    ([groups, batchSize, [first, second]]) => {
      const minimums = new Map([
        [0, first / 10],
        [1, second / 10]
      ])
      const sizes = groups.map(({ size }) => size)
      const present = [...minimums.keys()].filter((envId) =>
        groups.some((group) => group.envId === envId && group.size <= batchSize)
      )
      const promised = (envId: number) => Math.floor(batchSize * minimums.get(envId)!)
      const total = sum(present.map(promised))
      const scale = total > batchSize ? batchSize / total : 1
      const met = (batch: ReadonlyArray<number>) =>
        sum(
          present.map((envId) =>
            Math.min(
              Math.floor(promised(envId) * scale),
              sum(batch.map((i) => (groups[i]!.envId === envId ? sizes[i]! : 0)))
            )
          )
        )
      const all = exactSubsets(sizes, batchSize)
      const ours = Packing.fill(groups, batchSize, minimums)
      if (all.length === 0) return assert.isUndefined(ours)
      assertFills(sizes, ours, batchSize)
      assert.strictEqual(met(ours!), Math.max(...all.map(met)))
    }
  )

  it("fills from 30,000 groups of awkward sizes in linear time", () => {
    const filling = (count: number) => {
      const groups = Array.from({ length: count }, (_, i) => ({ size: 3 + ((i * 7) % 11), envId: i % 5 }))
      const minimums = new Map(groups.slice(0, 5).map(({ envId }) => [envId, 0.2]))
      return () =>
        assertFills(
          groups.map(({ size }) => size),
          Packing.fill(groups, 256, minimums),
          256
        )
    }
    assert.isTrue(Growth.isLinear(30_000, filling))
  })
})

describe("Packing.findGroups", () => {
  it("chooses as the original does", () => {
    for (const { indices, sizes, target } of golden.find_groups) {
      assert.deepStrictEqual(Packing.findGroups(sizes, target), indices, JSON.stringify({ sizes, target }))
    }
  })
})
