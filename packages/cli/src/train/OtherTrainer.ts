/**
 * Warns a trainer that joins a run which another one trains on: the service gives each batch to one of them, so that
 * each learns from a part, and both send their weights. A batch that this folder's trainer held before does not count.
 */
import * as Waiting from "@atropos/core/base/Waiting"
import * as ServiceApi from "@atropos/core/service/ServiceApi"
import * as LeaseJournal from "@atropos/trainer/checkpoint/LeaseJournal"
import { Effect, Option, type Redacted } from "effect"

export interface Options {
  readonly url: string
  readonly run: string
  readonly token: Option.Option<Redacted.Redacted>
  /** Of this trainer's checkpoints. */
  readonly folder: string
}

const advice = "stop one of them, or train another run (--run)"

const look = Effect.fn("OtherTrainer.look")(function* ({ folder, run, token, url }: Options) {
  const { api, call } = yield* ServiceApi.make({ url, run, ...(Option.isSome(token) && { token: token.value }) })
  const own = yield* LeaseJournal.read(folder)
  const known = new Set(Option.match(own, { onNone: () => [], onSome: ({ leases }) => leases.map(({ id }) => id) }))
  const { batches } = yield* call(api.reading.batches({ params: { run } }))
  const held = batches.find(({ id, state }) => state === "leased" && !known.has(id))
  if (held !== undefined) {
    const { leaseOwner: owner, leaseUntil, step } = held
    const until = leaseUntil === null ? null : new Date(leaseUntil).toISOString()
    return yield* Effect.logWarning("another trainer holds batches of this run, and each will learn from a part", {
      run,
      owner,
      step,
      until,
      advice
    })
  }
  const { checkpointDir, currentStep, registered } = yield* call(api.runs.get({ params: { run } }))
  if (!registered || Option.isSome(own) || checkpointDir === folder) return
  yield* Effect.logWarning("this run was begun by another trainer, with other checkpoints", {
    run,
    checkpoints: checkpointDir,
    step: currentStep,
    advice
  })
})

export const warn = (options: Options) =>
  look(options).pipe(
    Waiting.telling((seconds) => Effect.logWarning("waiting for the trajectory service to answer", { seconds })),
    // The trainer itself reports a service that cannot be reached.
    Effect.ignore
  )
