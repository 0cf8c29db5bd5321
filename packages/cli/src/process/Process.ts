/**
 * Rolls out an environment into a JSONL file without a service: the original's `process`, but concurrent and resumable,
 * and a failure only affects its own item.
 *
 * One line per group, in the wire format. As in the original, `total_steps` counts items that gave groups, including
 * dropped ones; items requeued by the environment are counted but not followed.
 */
import { Environment, SavedGroup, ServerManager, Trace } from "@atropos/core"
import * as Concurrency from "@atropos/core/rollout/Concurrency"
import { Array, Effect, Option } from "effect"
import * as Destination from "../job/Destination.ts"
import * as Job from "../job/Job.ts"
import * as NoSignal from "../job/NoSignal.ts"
import * as ResumableFile from "../job/ResumableFile.ts"
import * as Tally from "../job/Tally.ts"
import * as Heartbeat from "../base/Heartbeat.ts"
import * as Progress from "../base/Progress.ts"
import * as ProcessMetrics from "./ProcessMetrics.ts"
import * as Rolls from "./Rolls.ts"

export interface ProcessOptions {
  readonly path: string
  readonly resume: boolean
}

export interface Processed extends Job.JobResult {
  readonly destination: Destination.Destination
  readonly repairedBytes: number
  /** Results of earlier runs that this one resumed. */
  readonly before: number
  /** Describes which rollouts pass; absent if the environment does not state it. */
  readonly passing?: string
  /** Why no group has a learning signal, with likely causes, if none has. */
  readonly noSignal?: string
}

/** Settings that change how a run proceeds but not its lines. */
const runtimeOnly = new Set([
  "batch_size",
  "data_dir_to_save_evals",
  "data_path_to_save_groups",
  "eval_handling",
  "eval_limit_ratio",
  "inference_weight",
  "max_batches_offpolicy",
  "max_eval_workers",
  "max_num_workers",
  "max_num_workers_per_node",
  "min_batch_allocation",
  "min_items_sent_before_logging",
  "num_rollouts_per_group_for_logging",
  "num_rollouts_to_keep",
  "rollout_server_url",
  "steps_per_eval",
  "total_steps",
  "use_wandb",
  "wandb_name",
  "worker_timeout"
])

/** The settings and rows stored in a checkpoint, to decide if a run may resume from it. */
export const madeBy = (environment: Environment.EnvironmentShape, modelName: string) =>
  Effect.map(environment.itemsDigest, (rows) =>
    Destination.madeBy({
      ...Object.fromEntries(Object.entries(environment.encodedSettings).filter(([name]) => !runtimeOnly.has(name))),
      environment: environment.name,
      model: modelName,
      ...(rows !== undefined && { "digest of its rows": rows })
    })
  )

/** Rolls out, filters and writes until `total_steps` items gave groups. */
export const run = Effect.fn("Process.run")(function* ({ path, resume }: ProcessOptions) {
  const environment = yield* Environment.Environment
  const servers = yield* ServerManager.ServerManager
  const { settings } = environment

  const made = yield* madeBy(environment, servers.modelName)
  const destination = yield* Destination.find(path, made, { resume })
  const file = yield* ResumableFile.open(destination.path, made, destination.checkpoint)
  const before = Option.match(destination.checkpoint, { onNone: () => 0, onSome: ({ tally }) => tally.items })
  const target = settings.totalSteps < 0 ? undefined : settings.totalSteps
  const progress = yield* Progress.make({ unit: "groups", total: target ?? 0, done: before })

  const rolls = yield* Rolls.make
  const metrics = yield* ProcessMetrics.make(environment, { modelName: servers.modelName, before })
  const result = yield* Heartbeat.untilStarted("rolling out the first items", (onStarted) =>
    Job.run({
      items: environment.work,
      label: ({ label }) => label,
      roll: (work) =>
        rolls(work).pipe(
          Effect.tap(({ groups }) => metrics.rolled(groups)),
          Effect.map(written),
          Effect.withSpan(Trace.roots.item, { root: true, attributes: { "item.label": work.label.slice(0, 200) } })
        ),
      workers: Math.max(1, Concurrency.maximumWorkers(settings, servers.serverCount)),
      timeoutSeconds: settings.workerTimeout,
      target,
      file,
      from: destination.checkpoint,
      onProgress: (tally) => {
        onStarted()
        return progress.update(tally.items, detail(tally))
      },
      isFruitful: ({ kept }) => kept > 0
    })
  )
  const noSignal = NoSignal.ofGroups(result.tally, destination.path, environment.encodedSettings)
  return {
    ...result,
    destination,
    repairedBytes: file.repairedBytes,
    before,
    ...(Option.isSome(environment.solved) && { passing: environment.solved.value.meaning }),
    ...(noSignal !== undefined && { noSignal })
  } satisfies Processed
}, Effect.scoped)

/** The lines of an item's groups; a group that cannot be encoded is dropped. */
const written = ({ groups, ...rolled }: Rolls.Rolled): Job.ItemResult => {
  const [lines, unreadable] = Array.partition(groups, SavedGroup.encodeReadable)
  const [problem] = unreadable
  return problem === undefined
    ? { ...rolled, lines }
    : {
        ...rolled,
        lines,
        tally: Tally.add(
          { ...rolled.tally, kept: rolled.tally.kept - unreadable.length },
          { ...Tally.empty, dropped: { unreadable: unreadable.length } }
        ),
        whyDropped: rolled.whyDropped ?? `its line could not be reread: ${problem}`
      }
}

const detail = (tally: Tally.Tally): string => {
  const mean = Tally.meanScore(tally)
  return mean === undefined ? "" : `mean score ${mean.value.toFixed(3)}, ${tally.kept} kept`
}
