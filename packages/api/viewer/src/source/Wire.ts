/**
 * The JSON the viewer reads, as it stands on the wire: snake_case, times in milliseconds since the epoch.
 *
 * The service's definitions are in `packages/core/src/service/TrajectoryApi.ts`; a saved page (`StaticData`)
 * carries the same rows.
 */
import type * as PackedPage from "@atropos/api/rollout/PackedPage"
import type { Baseline, Scale } from "@atropos/core/ScoreAdvantage"

/** How a trainer makes advantages of scores. */
export interface AdvantageRecipe {
  /** Name of the loss. */
  readonly loss: string
  readonly baseline: Baseline
  readonly advantage_scale: Scale
  /** Whether the loss looks at advantages at all. */
  readonly is_used: boolean
}

/** A training run. */
export interface Run {
  readonly name: string
  readonly batch_size: number
  readonly max_token_length: number
  readonly starting_step: number
  /** Steps the trainer means to take; -1 or 0 where it did not say. */
  readonly num_steps: number
  readonly registered: boolean
  readonly started: boolean
  /** Null where the run's trainer did not say. */
  readonly advantages: AdvantageRecipe | null
  /** Step of the newest batch. */
  readonly current_step: number
  /** It was reset: its consumed groups can still be read. */
  readonly ended: boolean
}

export type RolloutState = "buffered" | "queued" | "formed" | "leased" | "consumed"

/** One stored group without its numbers. */
export interface RolloutRow {
  readonly id: string
  readonly environment: string | null
  readonly env_id: number | null
  /** The step that is made of its batch, where the group is in one. */
  readonly step: number | null
  readonly state: RolloutState
  readonly created_at: number
  readonly sequences: number
  readonly tokens: number
  readonly scores: ReadonlyArray<number>
  /** Trainer step of the weights that sampled it. */
  readonly policy_step: number | null
  /** The beginning of the item's question: of the prompt's last user message. */
  readonly preview: string | null
}

/**
 * A stored group; `group` is the original's object of 14 keys and `policy_versions`, not checked here (see
 * `groups/Group.ts`).
 */
export interface Rollout extends RolloutRow {
  readonly group: unknown
}

export interface RolloutQuery {
  readonly environment?: string
  readonly step_from?: number
  readonly step_to?: number
  /** Bounds of the mean score. */
  readonly score_from?: number
  readonly score_to?: number
  /** Every word must occur, as the beginning of a word; quotes keep a phrase of whole words together. */
  readonly text?: string
  readonly before?: string
  readonly limit?: number
}

/**
 * Rollouts newest first; `next` is the `before` of the page after. On the first page only: how many match in all, and
 * how many groups of the run are not searchable yet.
 */
export interface RolloutPage {
  readonly rows: ReadonlyArray<RolloutRow>
  readonly next: string | null
  readonly total: number | null
  readonly unindexed: number | null
}

/** Text of token ids. */
export type Pieces = { readonly [id: string]: string }

export interface MetricsRow {
  readonly id: string
  /** `trainer` or an environment's name. */
  readonly source: string
  readonly step: number
  readonly at: number
  /** JSON has neither NaN nor infinities: they are strings. */
  readonly values: { readonly [name: string]: number | string | null }
}

export interface MetricsQuery {
  readonly after?: string
  readonly source?: string
  readonly from_step?: number
  readonly limit?: number
}

/** Metrics oldest first; `next` is the `after` of the page after. */
export interface MetricsPage {
  readonly metrics: ReadonlyArray<MetricsRow>
  readonly next: string | null
}

export interface ServerReport {
  readonly server: string
  readonly split: "train" | "eval"
  readonly healthy: boolean
  readonly in_flight: number
  /** Seconds. */
  readonly latency_mean: number | null
  readonly latency_p95: number | null
  readonly tokens_per_second: number | null
  readonly failures: number
}

/** What an environment said of itself, `at` this time. */
export interface EnvironmentReport {
  readonly at: number
  /** Items being rolled out. */
  readonly running: number
  /** Groups the service has not answered for. */
  readonly unsent: number
  readonly items_per_minute: number
  readonly failures: number
  readonly last_error: { readonly at: number; readonly message: string } | null
  readonly servers: ReadonlyArray<ServerReport>
}

export interface EnvironmentRow {
  readonly env_id: number
  readonly name: string
  readonly desired_name: string
  readonly weight: number
  readonly group_size: number
  readonly max_token_length: number
  readonly min_batch_allocation: number | null
  readonly connected: boolean
  readonly last_seen: number
  readonly report: EnvironmentReport | null
  /** Of the sequences of the last 20 batches. */
  readonly share: number | null
  /** Sequences that came in the last minute. */
  readonly rollouts_per_minute: number
}

export interface BatchRow {
  readonly id: string
  readonly step: number
  readonly sequences: number
  readonly groups: number
  readonly state: "leased" | "free" | "acked"
  /** Who claimed it last. */
  readonly lease_owner: string | null
  readonly lease_until: number | null
  readonly deliveries: number
  readonly created_at: number
  readonly acked_at: number | null
}

export interface QueueSummary {
  readonly current_step: number
  readonly queued_groups: number
  readonly queued_sequences: number
  readonly queued_bytes: number
  readonly buffered_groups: number
  readonly formed_batches: number
  readonly leased_batches: number
  readonly stuck: ReadonlyArray<{
    readonly env_id: number | null
    readonly environment: string | null
    readonly sequences: number
    readonly count: number
    readonly reason: string
    readonly age_seconds: number
  }>
}

/**
 * What a saved page carries in `#atropos-data`: lines of base64 of gzipped parts. The first is this as JSON; where the
 * groups are packed (`PackedPage`), the columns `ids`, `high` and `low` follow.
 */
export interface StaticData {
  readonly title: string
  readonly runs: ReadonlyArray<{
    readonly name: string
    readonly rows: ReadonlyArray<RolloutRow>
    readonly groups: { readonly [id: string]: unknown }
    readonly pieces?: Pieces
    readonly metrics?: ReadonlyArray<MetricsRow>
  }>
  readonly tables?: PackedPage.Tables
}
