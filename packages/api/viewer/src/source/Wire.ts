/**
 * Defines the JSON the viewer reads: snake_case, times in milliseconds since the epoch. Types are those of the
 * service's definitions; a saved page (`StaticData`) has the same rows.
 */
import type * as PackedPage from "@atropos/api/rollout/PackedPage"
import type { TrajectoryApi } from "@atropos/core"

export type Run = Omit<
  (typeof TrajectoryApi.RunRow)["Encoded"],
  "checkpoint_dir" | "save_checkpoint_interval" | "wandb_group" | "wandb_project"
>

export type AdvantageRecipe = NonNullable<Run["advantages"]>

export type ConsoleOutput = (typeof TrajectoryApi.ConsoleOutput)["Encoded"]
export type Caller = (typeof TrajectoryApi.Caller)["Encoded"]

export type RolloutRow = (typeof TrajectoryApi.RolloutRow)["Encoded"]

export type RolloutState = RolloutRow["state"]

/**
 * A stored group; `group` is the original's object of 14 keys, `policy_versions`, `version_runs`, `timings` and the
 * trainer's logprobs, not validated here (see `groups/Group.ts`).
 */
export type Rollout = (typeof TrajectoryApi.Rollout)["Encoded"]

export type RolloutQuery = (typeof TrajectoryApi.RolloutQuery)["Encoded"]

export type RolloutPage = (typeof TrajectoryApi.RolloutPage)["Encoded"]

/**
 * Results of re-scoring a run's groups with the current environment. Rows are groups, or the samples of an item, whose
 * scores changed or that could not be scored (`reason`); values are in the rollouts' order.
 */
export interface Reverified {
  readonly environment: string
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
  readonly components?: {
    readonly [name: string]: readonly [before: ReadonlyArray<number | null>, after: ReadonlyArray<number | null>]
  }
  readonly reason?: string
}

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

/** Histograms of a rollout measure over the steps of a run. */
export type Distribution = (typeof TrajectoryApi.Distribution)["Encoded"]

export type DistributionQuery = (typeof TrajectoryApi.DistributionQuery)["Encoded"]

/** Settings of a run's source at its start. */
export type SourceSettings = (typeof TrajectoryApi.SourceSettingsRow)["Encoded"]

export type QueueSummary = (typeof TrajectoryApi.QueueSummary)["Encoded"]

export type Note = (typeof TrajectoryApi.Note)["Encoded"]

export type NoteChange = (typeof TrajectoryApi.NoteChange)["Encoded"]

/** An evaluation; `stored` of its `samples` have arrived. */
export type EvaluationRow = (typeof TrajectoryApi.EvaluationRow)["Encoded"]

/** A sample's list row: without its chat, long texts truncated. */
export type EvaluationSampleRow = (typeof TrajectoryApi.EvaluationSampleRow)["Encoded"]

/**
 * The content of `#atropos-data` in a saved page: lines of base64 of gzipped parts. The first is this as JSON; if the
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
  /** For sample files: the chat of a sample is that of the group `group` of the run. */
  readonly evaluations?: ReadonlyArray<{
    readonly row: EvaluationRow
    readonly samples: ReadonlyArray<{
      readonly head: EvaluationSampleRow
      readonly group: string
      /** Fields of the line other than its chat. */
      readonly fields: { readonly [name: string]: unknown }
    }>
  }>
}
