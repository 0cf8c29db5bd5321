/** A trainer that only counts: takes batches, acks them, and remembers what was handed out under which step. */
import { type TrajectoryApi, TrajectoryApi as Wire, type TrajectoryClient } from "@atropos/core"
import { assert } from "@effect/vitest"
import { Effect, Option } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import * as Groups from "./Groups.ts"

export const batchSize = 2 * Groups.size

/** A run for these trainers. */
export const run: TrajectoryApi.RunSpec = {
  name: "default",
  batchSize,
  maxTokenLength: 64,
  startingStep: 0,
  numSteps: 1_000_000,
  checkpointDir: "",
  saveCheckpointInterval: -1,
  wandbGroup: "",
  wandbProject: ""
}

/** Registers the run and an environment of the groups' size; the environment's id. */
export const begin = Effect.fnUntraced(function* (client: TrajectoryClient.TrajectoryClient) {
  yield* client.registerRun(run)
  // The first claim lets environments in.
  yield* client.claim({ owner: "trainer", wait: 0, lease: "2 seconds" })
  const registration = yield* client.registerEnvironment({
    desiredName: "numbers",
    weight: 1,
    groupSize: Groups.size,
    maxTokenLength: run.maxTokenLength,
    minBatchAllocation: null
  })
  return Option.getOrThrow(registration).envId
})

/** Batches by id, whoever took them. */
export type Taken = Map<string, { readonly step: number; readonly groups: ReadonlyArray<number> }>

/** Writes a batch down; a batch that comes again must be the same. */
export const note = (taken: Taken, id: string, step: number, groups: ReadonlyArray<number>): void => {
  const before = taken.get(id)
  if (before !== undefined) assert.deepStrictEqual({ step, groups }, before, `batch ${id} came again`)
  taken.set(id, { step, groups })
}

/**
 * Takes the next batch, if one comes in time, and acks it. On a machine that is busy elsewhere the lease may be over
 * before the ack: then the batch comes again, to be noted as the same.
 */
export const takeOne = Effect.fnUntraced(function* (
  client: TrajectoryClient.TrajectoryClient,
  taken: Taken,
  wait: number
) {
  const batch = Option.getOrUndefined(yield* client.claim({ owner: "trainer", wait, lease: "2 seconds" }))
  if (batch === undefined) return false
  note(taken, batch.id, batch.step, batch.groups.map(Groups.numberOf))
  yield* client.ack(batch).pipe(
    Effect.catchIf(
      ({ reason }) => reason === "leaseLost",
      () => Effect.void
    )
  )
  return true
})

/** What a `TrainerProcess` said it claimed. */
export const claimsIn = (said: string) =>
  Array.from(said.matchAll(/^claimed (\d+) (\d+) (\d+) (\S+)$/gm), ([, id = "", step, leaseUntil, groups = ""]) => ({
    id,
    step: Number(step),
    leaseUntil: Number(leaseUntil),
    groups: groups.split(",").map(Number)
  }))

/** How full the queue is. */
export const summary = (url: string): Effect.Effect<typeof Wire.QueueSummary.Type, unknown, HttpClient.HttpClient> =>
  Effect.flatMap(HttpClient.get(`${url}/v1/runs/default/summary`), HttpClientResponse.schemaBodyJson(Wire.QueueSummary))

/** Takes all there is, waiting for the leases of the dead to run out, until nothing is queued, formed or leased. */
export const drain = Effect.fnUntraced(function* (
  url: string,
  client: TrajectoryClient.TrajectoryClient,
  taken: Taken
) {
  for (;;) {
    if (yield* takeOne(client, taken, 1000)) continue
    const { bufferedGroups, formedBatches, leasedBatches, queuedGroups } = yield* summary(url)
    if (queuedGroups + bufferedGroups + formedBatches + leasedBatches === 0) return
  }
})

/** Sends one more group where one is missing to fill the last batch; which one it was is no matter. */
export const even = Effect.fnUntraced(function* (
  url: string,
  client: TrajectoryClient.TrajectoryClient,
  envId: number,
  filler: number
) {
  const { queuedSequences } = yield* summary(url)
  if (queuedSequences % batchSize !== 0) yield* client.submit(envId, [Groups.keyed(filler)])
})

/** Steps from 0 without gaps, each once; how many there are. */
export const checkSteps = (taken: Taken): number => {
  const steps = [...taken.values()].map(({ step }) => step).sort((a, b) => a - b)
  assert.deepStrictEqual(
    steps,
    steps.map((_, index) => index + 1),
    "steps have gaps or repeat"
  )
  return steps.length
}

/** The numbers of all groups, each once. */
export const checkGroups = (taken: Taken): ReadonlySet<number> => {
  const all = [...taken.values()].flatMap(({ groups }) => groups)
  const once = new Set(all)
  assert.strictEqual(once.size, all.length, "a group is in two batches")
  return once
}
