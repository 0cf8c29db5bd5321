/**
 * Serves evaluations in files to the viewer: each file with samples (`samples.jsonl` of `evaluate`) is an evaluation
 * whose id is the file's position from 1. Lines become visible as they are read.
 */
import * as EvaluationStore from "@atropos/api/store/EvaluationStore"
import { StoreError } from "@atropos/api/store/TrajectoryStore"
import type { TrajectoryApi } from "@atropos/core"
import * as Comparison from "@atropos/core/evaluation/Comparison"
import * as Summary from "@atropos/core/evaluation/Summary"
import { Effect, Layer, Option } from "effect"
import { statSync } from "node:fs"
import type { CommandFailed } from "../base/Failure.ts"
import type * as FileIndex from "./FileIndex.ts"
import type { SamplePage } from "./LineIndex.ts"

type Sample = SamplePage["samples"][number]

export interface Options {
  readonly files: ReadonlyArray<string>
  readonly index: FileIndex.FileIndex
  readonly names: ReadonlyArray<string>
}

/** The list row of an evaluation: metrics are not recorded but computed from the samples. */
export const rowOf = (
  { file, id, name }: { readonly file: string; readonly id: string; readonly name: string },
  samples: ReadonlyArray<Sample>
): TrajectoryApi.EvaluationRow => {
  const items = Comparison.byItem(
    samples.map(({ correct, item, rewards, score }) => ({
      ...(correct !== undefined && { correct }),
      id: item,
      item,
      rewards,
      score
    }))
  )
  const summary = Summary.of(items)
  return {
    id,
    at: Math.floor(statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0),
    run: name,
    name,
    model: "",
    step: null,
    seconds: 0,
    figures:
      summary === undefined
        ? {}
        : {
            ...(summary.correct && { "eval/percent_correct": summary.correct.value }),
            ...(summary.correct?.interval && {
              "eval/percent_correct_ci_low": summary.correct.interval.lower,
              "eval/percent_correct_ci_high": summary.correct.interval.upper
            }),
            "eval/mean_score": summary.score.value,
            "eval/items": summary.items
          },
    samples: samples.length,
    stored: samples.length
  }
}

const pageSize = 2000

const unreadable = (error: CommandFailed) =>
  new StoreError({ message: error.message, isTransient: false, cause: error })

export const layer = ({ files, index, names }: Options): Layer.Layer<EvaluationStore.EvaluationReader> => {
  const all = Effect.fnUntraced(function* (file: number) {
    const samples: Array<Sample> = []
    for (let from: number | null = 0; from !== null;) {
      const page: SamplePage = yield* Effect.mapError(index.samples(file, { from, limit: pageSize }), unreadable)
      samples.push(...page.samples)
      from = page.next
    }
    return samples
  })
  const evaluation = Effect.fnUntraced(function* (id: string) {
    const file = Number(id) - 1
    const [path, name] = [files[file], names[file]]
    if (path === undefined || name === undefined) return Option.none()
    const samples = yield* all(file)
    return samples.length === 0 ? Option.none() : Option.some(rowOf({ file: path, id, name }, samples))
  })
  return Layer.succeed(EvaluationStore.EvaluationReader, {
    evaluations: ({ run }) =>
      Effect.map(
        Effect.forEach(files, (_, file) => evaluation(String(file + 1))),
        (rows) => ({
          evaluations: rows
            .flatMap(Option.toArray)
            .filter((row) => run === undefined || row.run === run)
            .toReversed(),
          next: null
        })
      ),
    evaluation,
    samples: (id, page) =>
      files[Number(id) - 1] === undefined
        ? Effect.fail(new EvaluationStore.UnknownEvaluation({ id }))
        : Effect.mapError(index.samples(Number(id) - 1, page), unreadable),
    sample: (id, number) =>
      files[Number(id) - 1] === undefined
        ? Effect.succeedNone
        : Effect.map(Effect.mapError(index.sample(Number(id) - 1, number), unreadable), Option.fromNullishOr)
  })
}
