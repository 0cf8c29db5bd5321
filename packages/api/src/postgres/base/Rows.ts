/** Converts between database rows and the store's values. */
import { Effect, Result } from "effect"
import { PgTypes } from "@effect/sql-pg"
import type { RegisteredEnvironment, Run, StoredGroup } from "../../store/TrajectoryStore.ts"
import * as Codec from "./Codec.ts"

/** Stored instead of null for a missing environment id, so that the column works in plain indexes. */
export const noEnvironment = -2147483648

/** Ids beyond 32 bits belong to no environment. */
export const toEnvColumn = (envId: number | null): number =>
  envId === null || !Number.isInteger(envId) || Math.abs(envId) > 2147483647 ? noEnvironment : envId

export const fromEnvColumn = (envId: number): number | null => (envId === noEnvironment ? null : envId)

/** An array parameter; type inference fails on empty arrays and nulls. */
export const array = (type: keyof typeof PgTypes.OID, values: ReadonlyArray<unknown>): PgTypes.Parameter =>
  Result.getOrThrow(PgTypes.array(values, PgTypes.OID[type]))

/** Clamps to the range of safe integers in JSON, so that one odd row does not fail a whole result. */
export const toInt = (value: number | bigint): number =>
  Number.isSafeInteger(Number(value)) ? Number(value) : value < 0 ? Number.MIN_SAFE_INTEGER : Number.MAX_SAFE_INTEGER

/** The columns of a `Run`, with JSON numbers. */
export interface RunJson {
  readonly id: number
  readonly name: string
  readonly created_at: string
  readonly is_registered: boolean
  readonly is_started: boolean
  readonly batch_size: number
  readonly max_token_length: number
  readonly starting_step: number
  readonly num_steps: number
  readonly checkpoint_dir: string
  readonly save_checkpoint_interval: number
  readonly wandb_group: string
  readonly wandb_project: string
  readonly advantages: Run["advantages"]
  readonly wait_at_staleness: number | null
  readonly batches: number
}

export const toRun = (row: RunJson): Run => ({
  id: row.id,
  createdAt: Date.parse(row.created_at),
  name: row.name,
  registered: row.is_registered,
  started: row.is_started,
  batchSize: row.batch_size,
  maxTokenLength: row.max_token_length,
  startingStep: toInt(row.starting_step),
  numSteps: toInt(row.num_steps),
  checkpointDir: row.checkpoint_dir,
  saveCheckpointInterval: toInt(row.save_checkpoint_interval),
  wandbGroup: row.wandb_group,
  wandbProject: row.wandb_project,
  advantages: row.advantages,
  waitAtStaleness: row.wait_at_staleness,
  currentStep: toInt(row.starting_step + row.batches)
})

export interface EnvironmentJson {
  readonly env_id: number
  readonly desired_name: string
  readonly name: string
  readonly weight: number
  readonly group_size: number
  readonly max_token_length: number
  readonly min_batch_allocation: number | null
  readonly is_connected: boolean
  readonly last_seen: string
}

export const toEnvironment = (row: EnvironmentJson): RegisteredEnvironment => ({
  envId: row.env_id,
  desiredName: row.desired_name,
  name: row.name,
  weight: row.weight,
  groupSize: row.group_size,
  maxTokenLength: row.max_token_length,
  minBatchAllocation: row.min_batch_allocation,
  connected: row.is_connected,
  lastSeen: Date.parse(row.last_seen)
})

export interface EnvelopeRow {
  readonly id: bigint
  readonly env_id: number
  readonly sequences: number
  readonly tokens: bigint
  readonly scores: ReadonlyArray<number>
  readonly policy_step: bigint | null
  readonly created_at: Date
}

export interface GroupRow extends EnvelopeRow {
  readonly encoding: number
  readonly payload: Uint8Array
}

export const toEnvelope = (row: EnvelopeRow) => ({
  id: String(row.id),
  sequences: row.sequences,
  tokens: Number(row.tokens),
  scores: row.scores,
  envId: fromEnvColumn(row.env_id),
  policyStep: row.policy_step === null ? null : Number(row.policy_step),
  createdAt: row.created_at.getTime()
})

export const toStoredGroup = (row: GroupRow): Effect.Effect<StoredGroup> =>
  Effect.map(Codec.decode({ encoding: row.encoding, bytes: row.payload }), (payload) => ({
    ...toEnvelope(row),
    payload
  }))
