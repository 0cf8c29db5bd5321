/** Writes the results of a suite next to its samples: its metrics, and a log for inspect_ai. */
import { createHash } from "node:crypto"
import type { Environment } from "@atropos/core"
import { Suite } from "@atropos/envs"
import * as Comparison from "@atropos/core/evaluation/Comparison"
import { Clock, Effect, Stream, Struct } from "effect"
import type { JobResult } from "../job/Job.ts"
import * as InspectLog from "./InspectLog.ts"
import * as Samples from "./Samples.ts"
import * as SuiteFigures from "./SuiteFigures.ts"

export interface Told {
  readonly suite: Suite.Suite
  /** Version of this package. */
  readonly version: string
}

/** Identifies a suite by its full content, so that a changed suite starts a new file. */
export const fingerprint = ({ suite }: Told): string =>
  createHash("sha256").update(JSON.stringify(suite)).digest("hex").slice(0, 12)

interface Evaluated {
  readonly samples: string
  readonly environment: Pick<Environment.EnvironmentShape, "encodedSettings" | "settings">
  readonly modelName: string
  readonly result: JobResult
}

/** Drops the fields that metrics and comparisons do not need. */
const lean: (sample: Samples.Sample) => Samples.Sample = Struct.omit(["completion", "messages"])

export const write = Effect.fn("SuiteResults.write")(function* (
  { suite, version }: Told,
  { environment, modelName, result, samples: file }: Evaluated
) {
  const samples = yield* Samples.read(file).pipe(Stream.map(lean), Stream.runCollect)
  const main = Suite.mainOf(suite)
  const isRating = Object.values(suite.score).some(({ by }) => by === "rating")
  const figures = SuiteFigures.of(samples, { main, isRating })
  const { data, samples: epochs, temperature, top_p: topP } = environment.encodedSettings
  const now = yield* Clock.currentTimeMillis
  const log = yield* InspectLog.write(file, {
    name: suite.name,
    description: `${suite.title}: ${suite.about}`,
    main,
    model: modelName,
    dataset: typeof data === "string" ? data : Suite.sourceOf(suite),
    version,
    startedMillis: now - result.tally.millis,
    endedMillis: now,
    generation: { temperature, top_p: topP, max_tokens: environment.settings.maxTokenLength },
    epochs: Number(epochs),
    figures,
    items: Comparison.byItem(samples).size,
    failures: result.failures
  })
  return { figures, log }
})
