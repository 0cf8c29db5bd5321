/** Runs, environments and groups for the tests of stores. */
import type { TrajectoryApi } from "@atropos/core"
import type { Vitest } from "@effect/vitest"
import { Effect, Option } from "effect"
import { randomUUID } from "node:crypto"
import * as RolloutReader from "../../src/store/RolloutReader.ts"
import * as TrajectoryStore from "../../src/store/TrajectoryStore.ts"

export type StoreTests = Vitest.MethodsNonLive<TrajectoryStore.TrajectoryStore | RolloutReader.RolloutReader>

export const spec = (name: string, batchSize = 8): TrajectoryApi.RunSpec => ({
  name,
  batchSize,
  maxTokenLength: 512,
  startingStep: 3,
  numSteps: 100,
  checkpointDir: "/checkpoints",
  saveCheckpointInterval: 5,
  wandbGroup: "group",
  wandbProject: "project"
})

export const environment = (
  desiredName: string,
  more: Partial<TrajectoryApi.EnvironmentSpec> = {}
): TrajectoryApi.EnvironmentSpec => ({
  desiredName,
  weight: 1,
  groupSize: 4,
  maxTokenLength: 100,
  minBatchAllocation: null,
  ...more
})

/** A group of `sequences` whose payload contains `text`. */
export const submission = (
  sequences: number,
  envId: number | null,
  text: string,
  key: string | null = randomUUID()
): TrajectoryStore.Submission => ({
  sequences,
  tokens: sequences * 10,
  scores: Array.from({ length: sequences }, (_, i) => i / 2),
  envId,
  policyStep: null,
  key,
  payload: { format: "json", bytes: new TextEncoder().encode(JSON.stringify({ text, filling: "x".repeat(700) })) }
})

export const textOf = (group: TrajectoryStore.StoredGroup): string =>
  (JSON.parse(new TextDecoder().decode(group.payload.bytes)) as { text: string }).text

export const trainer = { owner: "trainer", lease: "60 seconds" } as const

let runs = 0
export const runName = (): string => `run-${runs++}`

export const started = Effect.fnUntraced(function* (batchSize = 8) {
  const store = yield* TrajectoryStore.TrajectoryStore
  const run = runName()
  yield* store.registerRun(spec(run, batchSize))
  yield* store.start(run)
  return { store, run, reader: yield* RolloutReader.RolloutReader }
})

export const claimed = Effect.fnUntraced(function* (store: TrajectoryStore.TrajectoryStoreShape, run: string) {
  return Option.getOrUndefined(yield* store.claim(run, trainer))
})
