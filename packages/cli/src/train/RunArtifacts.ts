/**
 * Writes the artifacts of a run for later use: its newest checkpoint, the command that serves it, and a `--config` file
 * for each environment, with which other commands sample the served policy as in training.
 */
import type { TrainerFields } from "@atropos/trainer/run/TrainerSettings"
import { Console, Effect, FileSystem, Path } from "effect"
import type { RunSettings } from "../config/RunSettings.ts"
import * as RunFolder from "./RunFolder.ts"

export interface RunArtifacts {
  readonly step: number
  /** Flags of `atropos policy`; undefined if the weights are on a server. */
  readonly policy: string | undefined
  readonly configs: ReadonlyArray<{ readonly environment: string; readonly word: string; readonly config: string }>
}

const servedAt = "http://localhost:9004/v1"

const quoted = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)

/** A relative path, quoted for the shell. */
const typed = Effect.fnUntraced(function* (path: string) {
  const { relative } = yield* Path.Path
  const near = relative(process.cwd(), path)
  return quoted(near === "" || near.startsWith("..") ? path : near)
})

export const write = Effect.fn("RunArtifacts.write")(function* (options: {
  readonly run: RunFolder.RunFolder
  readonly model: { readonly name: string }
  /** Checkpoints are adapters. */
  readonly isAdapter: boolean
  readonly isHere: boolean
  readonly settings: ReadonlyArray<RunSettings>
  /** Quantization of the frozen weights under the adapter; it is served with the same. */
  readonly quantize: TrainerFields["quantize"]
}) {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  const { stringify } = yield* Effect.promise(() => import("yaml"))
  const { isAdapter, isHere, model, quantize, run, settings } = options
  const step = yield* RunFolder.stepsIn(run.folder)
  const checkpoint = join(run.folder, `step_${step}`)
  const isWhole = isHere && !isAdapter
  const configs = yield* Effect.forEach(
    settings,
    Effect.fnUntraced(function* ({ input, selected, word }) {
      const environment = selected.environment.environmentName
      const config = join(run.folder, `${environment.replaceAll(/[^\w-]+/g, "-")}.yaml`)
      const { total_steps: _, ...env } = input
      const content = {
        env: { ...env, tokenizer_name: isWhole ? checkpoint : model.name },
        openai: { base_url: servedAt }
      }
      yield* fs.writeFileString(config, stringify(content))
      return { environment, word: quoted(word), config: yield* typed(config) }
    })
  )
  const at = yield* typed(checkpoint)
  const rounded = quantize === "none" ? "" : ` --quantize ${quantize}`
  return {
    step,
    policy: !isHere ? undefined : isWhole ? `--model ${at}` : `--model ${quoted(model.name)} --adapter ${at}${rounded}`,
    configs
  } satisfies RunArtifacts
})

export const tellStopped = Effect.fn("RunArtifacts.tellStopped")(function* (folder: string, steps: number) {
  const { join } = yield* Path.Path
  const step = yield* RunFolder.stepsIn(folder)
  const at = yield* typed(join(folder, `step_${step}`))
  yield* Console.log(
    step === 0
      ? "stopped before the first checkpoint: the same command starts over"
      : step < steps
        ? `stopped after step ${step} of ${steps}, saved in ${at}: the same command continues from there`
        : `stopped after the last of ${steps} steps, saved in ${at}`
  )
})
