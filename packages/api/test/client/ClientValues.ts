/** Shared values of the client suites: a kind of client, a run, an environment. */
import { assert, type Vitest } from "@effect/vitest"
import type { TrajectoryClient } from "@atropos/core"
import { Effect, Option, type Scope } from "effect"
import type { TrajectoryStore } from "../../src/store/TrajectoryStore.ts"

export type Client = TrajectoryClient.TrajectoryClient

export interface Kind<R> {
  readonly name: string
  /** A client of an unused run. */
  readonly client: (run: string) => Effect.Effect<Client, never, R | TrajectoryStore | Scope.Scope>
}

export type ClientTests<R> = Vitest.MethodsNonLive<R | TrajectoryStore>

/** The run of a test. */
export const runOf = <R>(kind: Kind<R>, test: string): string => `${kind.name.replaceAll(/\W/g, "-")}-${test}`

export const spec = (name: string) => ({
  name,
  batchSize: 4,
  maxTokenLength: 64,
  startingStep: 7,
  numSteps: 100,
  checkpointDir: "/checkpoints",
  saveCheckpointInterval: 5,
  wandbGroup: "group",
  wandbProject: "project"
})

export const environment = {
  desiredName: "add",
  weight: 1,
  groupSize: 2,
  maxTokenLength: 64,
  minBatchAllocation: null
}

export const claimed = { owner: "trainer", wait: 0, lease: "1 minute" } as const
export const keyed = (group: Parameters<Client["submit"]>[1][number]["group"]) => ({ key: crypto.randomUUID(), group })

export const started = Effect.fnUntraced(function* (client: Client, run: string) {
  yield* client.registerRun(spec(run))
  assert.isTrue(Option.isNone(yield* client.claim(claimed)))
  return (yield* Effect.flatMap(client.registerEnvironment(environment), Effect.fromOption)).envId
})

export const claimOne = (client: Client) => Effect.flatMap(client.claim(claimed), Effect.fromOption)
