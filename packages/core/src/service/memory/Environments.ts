/** The environments of the in-memory run: their names and connections, and their views of the queue. */
import { Effect } from "effect"
import type * as Packing from "../Packing.ts"
import { size, type ScoredGroup } from "../../trajectory/ScoredGroup.ts"
import type { EnvironmentSpec, EnvironmentStatus } from "../TrajectoryApi.ts"
import { TrajectoryError } from "../TrajectoryError.ts"

export interface Registered extends EnvironmentSpec {
  readonly envId: number
  /** Desired name, underscore, number of earlier ones of that name. */
  readonly name: string
  isConnected: boolean
}

export interface Environments {
  readonly register: (spec: EnvironmentSpec) => Registered
  readonly get: (envId: number) => Effect.Effect<Registered, TrajectoryError>
  /** Guaranteed shares of every batch, of connected environments. */
  readonly minimumShares: () => Packing.MinimumShares
  readonly status: (own: Registered, queue: Queue) => EnvironmentStatus
}

/** The state of the run that an environment's status depends on. */
export interface Queue {
  readonly step: number
  /** 0 while no run is registered. */
  readonly batchSize: number
  readonly groups: ReadonlyArray<ScoredGroup>
}

/** An environment's share of the inference servers is proportional to this. */
const claimOf = ({ maxTokenLength, weight }: EnvironmentSpec): number => maxTokenLength * Math.max(0, weight)

const sequencesOf = (groups: ReadonlyArray<ScoredGroup>): ReadonlyMap<number, number> => {
  const sequences = new Map<number, number>()
  for (const group of groups) {
    const envId = group.envId ?? -1
    sequences.set(envId, (sequences.get(envId) ?? 0) + size(group))
  }
  return sequences
}

export const make = (): Environments => {
  const environments: Array<Registered> = []

  /** Sequences of other environments, in whole groups, beyond their guaranteed shares. */
  const othersAhead = (
    own: Registered,
    sequences: ReadonlyMap<number, number>,
    { batchSize, maxGroupSize }: { readonly batchSize: number; readonly maxGroupSize: number }
  ): number => {
    if (maxGroupSize <= 1) return 0
    let others = 0
    for (const [envId, count] of sequences) {
      if (envId === own.envId) continue
      const packed = Math.ceil(count / maxGroupSize) * maxGroupSize
      const other = environments[envId]
      const promised = Math.trunc(batchSize * ((other?.isConnected && other.minBatchAllocation) || 0))
      others += Math.max(0, packed - promised)
    }
    return others
  }

  return {
    register: (spec) => {
      const number = environments.filter(({ desiredName }) => desiredName === spec.desiredName).length
      const registered = {
        ...spec,
        envId: environments.length,
        name: `${spec.desiredName}_${number}`,
        isConnected: true
      }
      environments.push(registered)
      return registered
    },
    get: (envId) =>
      Effect.suspend(() => {
        const registered = environments[envId]
        return registered === undefined
          ? Effect.fail(
              new TrajectoryError({
                reason: "notFound",
                message: `no environment ${envId} is registered; register it first`
              })
            )
          : Effect.succeed(registered)
      }),
    minimumShares: () =>
      new Map(
        environments.flatMap(({ envId, isConnected, minBatchAllocation }) =>
          isConnected && minBatchAllocation !== null ? [[envId, minBatchAllocation]] : []
        )
      ),
    status: (own, { batchSize, groups, step }) => {
      const connected = environments.filter(({ isConnected }) => isConnected)
      const claims = connected.reduce((sum, environment) => sum + claimOf(environment), 0)
      const reserved = connected.reduce((sum, { minBatchAllocation }) => sum + (minBatchAllocation ?? 0), 0)
      const maxGroupSize = groups.reduce((largest, group) => Math.max(largest, size(group)), 1)
      const sequences = sequencesOf(groups)
      const mine = sequences.get(own.envId) ?? 0
      const others = othersAhead(own, sequences, { batchSize, maxGroupSize })
      return {
        currentStep: step,
        queueSize: Math.floor((mine + others) / own.groupSize),
        selfQueueSize: Math.floor(mine / own.groupSize),
        maxGroupSize,
        envWeight: claims === 0 ? 1 / Math.max(1, connected.length) : Math.max(0.01, claimOf(own) / claims),
        unallocatedFraction: 1 - Math.min(1, reserved)
      }
    }
  }
}
