/** The queue of the in-memory run, and its batches with their leases. */
import { Clock, Duration, Effect } from "effect"
import type { Batch } from "../../trajectory/Batch.ts"
import * as Packing from "../Packing.ts"
import { size, type ScoredGroup } from "../../trajectory/ScoredGroup.ts"
import type { KeyedGroup } from "../EnvironmentClient.ts"
import type { Leased } from "../TrainerClient.ts"
import type { SubmitOutcome } from "../TrajectoryApi.ts"
import { TrajectoryError } from "../TrajectoryError.ts"

interface Formed {
  batch: Batch
  isFree: boolean
}

export interface Batches {
  /** Groups not in a batch. */
  readonly queue: () => ReadonlyArray<ScoredGroup>
  /** Batches formed so far, not counting the starting step. */
  readonly formed: () => number
  readonly submit: (envId: number, group: KeyedGroup) => SubmitOutcome
  /** An unleased batch, else a new one; undefined if the queue has no exact fill. */
  readonly claim: (options: {
    readonly batchSize: number
    readonly startingStep: number
    readonly minimumShares: Packing.MinimumShares
    readonly lease: Duration.Input
  }) => Effect.Effect<Batch | undefined>
  readonly ack: (batch: Leased) => Effect.Effect<void, TrajectoryError>
  readonly nack: (batch: Leased) => Effect.Effect<void, TrajectoryError>
  readonly extend: (batch: Leased, lease: Duration.Input) => Effect.Effect<void, TrajectoryError>
}

export const make = (): Batches => {
  let queue: Array<ScoredGroup> = []
  let batches: Array<Formed> = []
  let formed = 0
  let deliveries = 0
  const keys = new Set<string>()
  const ackedTokens = new Set<string>()

  const fromQueue = (batchSize: number, minimumShares: Packing.MinimumShares) => {
    const waiting = queue.map((group) => ({ size: size(group), envId: group.envId ?? null }))
    const fill = Packing.fill(waiting, batchSize, minimumShares)
    if (fill === undefined) return undefined
    const groups = fill.map((index) => queue[index]!)
    const inBatch = new Set(fill)
    queue = queue.filter((_, index) => !inBatch.has(index))
    return groups
  }

  const leased = ({ id, leaseToken }: Leased): Effect.Effect<Formed, TrajectoryError> =>
    Effect.suspend(() => {
      const match = batches.find(({ batch }) => batch.id === id && batch.leaseToken === leaseToken)
      return match === undefined || match.isFree
        ? Effect.fail(
            new TrajectoryError({ reason: "leaseLost", message: `${id} is acknowledged or leased to another trainer` })
          )
        : Effect.succeed(match)
    })

  return {
    queue: () => queue,
    formed: () => formed,
    submit: (envId, { group, key }) => {
      if (keys.has(key)) return { status: "duplicate" }
      keys.add(key)
      queue.push({ ...group, envId })
      return { status: "received" }
    },
    claim: ({ batchSize, lease, minimumShares, startingStep }) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        deliveries++
        const term = { leaseToken: `lease-${deliveries}`, leaseUntil: now + Duration.toMillis(lease) }
        const free = batches.find(({ batch, isFree }) => isFree || batch.leaseUntil <= now)
        if (free !== undefined) {
          free.isFree = false
          free.batch = { ...free.batch, ...term, deliveries: free.batch.deliveries + 1 }
          return free.batch
        }
        const groups = fromQueue(batchSize, minimumShares)
        if (groups === undefined) return undefined
        formed++
        const step = startingStep + formed
        const batch: Batch = { id: `batch-${step}`, step, ...term, deliveries: 1, groups }
        batches.push({ batch, isFree: false })
        return batch
      }),
    ack: (batch) =>
      Effect.suspend(() =>
        ackedTokens.has(batch.leaseToken)
          ? Effect.void
          : Effect.map(leased(batch), (acked) => {
              ackedTokens.add(batch.leaseToken)
              batches = batches.filter((other) => other !== acked)
            })
      ),
    nack: (batch) => Effect.map(leased(batch), (nacked) => void (nacked.isFree = true)),
    extend: (batch, lease) =>
      Effect.flatMap(leased(batch), (extended) =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          extended.batch = { ...extended.batch, leaseUntil: now + Duration.toMillis(lease) }
        })
      )
  }
}
