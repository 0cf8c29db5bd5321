/**
 * The JSON the viewer reads, as it stands on the wire: snake_case, times in milliseconds since the epoch. Its types are
 * those of the service's definitions; a saved page (`StaticData`) carries the same rows.
 */
import type * as PackedPage from "@atropos/api/rollout/PackedPage"
import type { TrajectoryApi } from "@atropos/core"

/** A training run. */
export type Run = Omit<
  (typeof TrajectoryApi.RunRow)["Encoded"],
  "checkpoint_dir" | "save_checkpoint_interval" | "wandb_group" | "wandb_project"
>

/** How a trainer makes advantages of scores. */
export type AdvantageRecipe = NonNullable<Run["advantages"]>

/** What whoever looks may do. */
export type Caller = (typeof TrajectoryApi.Caller)["Encoded"]

/** One stored group without its numbers. */
export type RolloutRow = (typeof TrajectoryApi.RolloutRow)["Encoded"]

export type RolloutState = RolloutRow["state"]

/**
 * A stored group; `group` is the original's object of 14 keys, `policy_versions`, `timings` and what its
 * trainer computed, not checked here (see
 * `groups/Group.ts`).
 */
export type Rollout = (typeof TrajectoryApi.Rollout)["Encoded"]

export type RolloutQuery = (typeof TrajectoryApi.RolloutQuery)["Encoded"]

export type RolloutPage = (typeof TrajectoryApi.RolloutPage)["Encoded"]

/**
 * What scoring a run's groups again came to, by the environment of today. Rows are groups, or the samples of an item,
 * whose scores changed or that could not be scored (`reason`); values are told in the rollouts' order.
 */
export interface Reverified {
  readonly environment: string
  /** How many stayed the same. */
  readonly same: number
  readonly rows: ReadonlyArray<ReverifiedRow>
}

export interface ReverifiedRow {
  /** One, or a group for each sample. */
  readonly groups: ReadonlyArray<string>
  readonly item: string | null
  readonly label?: string
  readonly before?: ReadonlyArray<number>
  readonly after?: ReadonlyArray<number>
  /** Components that changed. */
  readonly components?: {
    readonly [name: string]: readonly [before: ReadonlyArray<number | null>, after: ReadonlyArray<number | null>]
  }
  readonly reason?: string
}

/** Text of token ids. */
export type Pieces = (typeof TrajectoryApi.Pieces)["Encoded"]["pieces"]

/** JSON has neither NaN nor infinities: as values they are strings. */
export interface MetricsRow extends Omit<(typeof TrajectoryApi.MetricsRow)["Encoded"], "values"> {
  readonly values: { readonly [name: string]: number | string | null }
}

export type MetricsQuery = (typeof TrajectoryApi.MetricsQuery)["Encoded"]

export interface MetricsPage extends Omit<(typeof TrajectoryApi.MetricsPage)["Encoded"], "metrics"> {
  readonly metrics: ReadonlyArray<MetricsRow>
}

export type ServerReport = (typeof TrajectoryApi.ServerReport)["Encoded"]

export type EnvironmentRow = (typeof TrajectoryApi.EnvironmentRow)["Encoded"]

export type BatchRow = (typeof TrajectoryApi.BatchRow)["Encoded"]

/** How a measure of rollouts is spread over the steps of a run. */
export type Distribution = (typeof TrajectoryApi.Distribution)["Encoded"]

export type DistributionQuery = (typeof TrajectoryApi.DistributionQuery)["Encoded"]

/** What a source of a run was started with. */
export type SourceSettings = (typeof TrajectoryApi.SourceSettingsRow)["Encoded"]

export type QueueSummary = (typeof TrajectoryApi.QueueSummary)["Encoded"]

/** What somebody noted on a rollout. */
export type Note = (typeof TrajectoryApi.Note)["Encoded"]

export type NoteChange = (typeof TrajectoryApi.NoteChange)["Encoded"]

/** An evaluation; `stored` of its `samples` are there. */
export type EvaluationRow = (typeof TrajectoryApi.EvaluationRow)["Encoded"]

/** A sample as lists show it: without its chat, long texts cut. */
export type EvaluationSampleRow = (typeof TrajectoryApi.EvaluationSampleRow)["Encoded"]

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
    readonly reverified?: Reverified
    readonly settings?: ReadonlyArray<SourceSettings>
  }>
  readonly tables?: PackedPage.Tables
  /** Of files that are samples: the chat of a sample is that of the group `group` of the run. */
  readonly evaluations?: ReadonlyArray<{
    readonly row: EvaluationRow
    readonly samples: ReadonlyArray<{
      readonly head: EvaluationSampleRow
      readonly group: string
      /** What the line has beside its chat. */
      readonly fields: { readonly [name: string]: unknown }
    }>
  }>
}
