/**
 * Serves saved groups in JSON Lines files as rollouts for the viewer: each file is a run, each line a group with its
 * line number as id. Files have no steps, environments, batches or metrics: those are empty.
 */
import * as RolloutReader from "@atropos/api/store/RolloutReader"
import * as TrajectoryStore from "@atropos/api/store/TrajectoryStore"
import type { Tokenizer, TrajectoryApi } from "@atropos/core"
import { Effect, Layer, Option, Stream } from "effect"
import { basename, extname } from "node:path"
import type { CommandFailed } from "../base/Failure.ts"
import type * as FileIndex from "./FileIndex.ts"
import type { IndexedRow } from "./LineSearch.ts"

/** Run names for some files: their own, restricted to valid characters and made unique. */
export const runNames = (files: ReadonlyArray<string>): ReadonlyArray<string> => {
  const taken = new Set<string>()
  return files.map((file) => {
    const stem =
      basename(file, extname(file))
        .replaceAll(/[^A-Za-z0-9._-]+/g, "-")
        .slice(0, 100) || "groups"
    let name = stem
    for (let number = 2; taken.has(name); number++) name = `${stem}-${number}`
    taken.add(name)
    return name
  })
}

const toRow = ({ at, number, ...row }: IndexedRow): TrajectoryApi.RolloutRow => ({
  ...row,
  id: String(number),
  environment: null,
  step: null,
  state: "consumed",
  createdAt: at
})

const unreadable = (error: CommandFailed) =>
  new TrajectoryStore.StoreError({ message: error.message, isTransient: false, cause: error })

/** Text of token ids, as far as single ids have a text. */
const piecesBy =
  (tokenizer: Option.Option<Tokenizer.TokenizerShape>) =>
  (ids: ReadonlyArray<number> = []): ReadonlyMap<number, string> =>
    Option.match(tokenizer, {
      onNone: () => new Map(),
      onSome: ({ decode, vocabularySize }) =>
        new Map(ids.filter((id) => id < vocabularySize).map((id) => [id, decode([id])]))
    })

export interface Options {
  readonly files: ReadonlyArray<string>
  readonly index: FileIndex.FileIndex
  readonly tokenizer: Option.Option<Tokenizer.TokenizerShape>
}

export const layer = ({ files, index, tokenizer }: Options): Layer.Layer<RolloutReader.RolloutReader> => {
  const names = runNames(files)
  const pieces = piecesBy(tokenizer)
  const known = <A>(run: string, value: (file: number) => Effect.Effect<A, CommandFailed>) => {
    const file = names.indexOf(run)
    return file < 0 ? Effect.fail(new TrajectoryStore.UnknownRun({ run })) : Effect.mapError(value(file), unreadable)
  }
  return Layer.succeed(RolloutReader.RolloutReader, {
    runs: Effect.succeed(
      names.map((name) => ({
        name,
        batchSize: 0,
        maxTokenLength: 0,
        startingStep: 0,
        numSteps: -1,
        checkpointDir: "",
        saveCheckpointInterval: 0,
        wandbGroup: "",
        wandbProject: "",
        advantages: null,
        registered: false,
        started: false,
        currentStep: 0,
        ended: false
      }))
    ),
    rollouts: (run, { before, ...filter }) =>
      known(run, (file) =>
        Effect.map(
          index.page(file, { ...filter, ...(before !== undefined && { before: Number(before) }) }),
          ({ next, rows, total, unindexed }) => ({
            rows: rows.map(toRow),
            next: next === null ? null : String(next),
            total,
            unindexed
          })
        )
      ),
    rollout: (run, id) =>
      known(run, (file) =>
        Effect.map(index.group(file, Number(id)), (found) =>
          found === undefined
            ? Option.none()
            : Option.some({
                ...toRow(found.row),
                payload: { format: "packed", bytes: found.packed },
                ...(found.trained && { trained: found.trained })
              })
        )
      ),
    pieces: (run, ids) => known(run, () => Effect.succeed(pieces(ids))),
    metrics: (run) => known(run, () => Effect.succeed({ metrics: [], next: null })),
    metricsToCome: (run) => known(run, () => Effect.succeed(Stream.never)),
    environments: (run) => known(run, () => Effect.succeed([])),
    distribution: (run) => known(run, () => Effect.succeed(null)),
    settings: (run) => known(run, () => Effect.succeed([])),
    batches: (run) => known(run, () => Effect.succeed([]))
  })
}
