/**
 * Writes the samples of a suite as an inspect_ai log (version 2, JSON), for `inspect view` and `read_eval_log`,
 * streamed in constant memory.
 *
 * The answers to an item are epochs of one sample. Scores keep the suite's names; the main one carries the parsed
 * answer. The file name begins with the end time, without which inspect's viewer does not list JSON files.
 */
import * as Comparison from "@atropos/core/evaluation/Comparison"
import { DateTime, Effect, FileSystem, Path, Stream } from "effect"
import { CommandFailed } from "../base/Failure.ts"
import * as Samples from "./Samples.ts"
import type { Figures } from "./SuiteFigures.ts"

export interface Log {
  readonly name: string
  readonly description: string
  readonly main: string
  readonly model: string
  readonly dataset: string
  readonly version: string
  readonly startedMillis: number
  readonly endedMillis: number
  /** Sampling parameters, by inspect's names. */
  readonly generation: { readonly [name: string]: unknown }
  readonly epochs: number
  readonly figures: Figures
  readonly items: number
  readonly failures: number
}

const time = (millis: number): string => DateTime.formatIso(DateTime.makeUnsafe(millis)).replace("Z", "+00:00")

const messageOf = ({ content, role }: { readonly role: string; readonly content: unknown }, model: string) => ({
  role: role === "assistant" || role === "system" || role === "tool" ? role : "user",
  content: typeof content === "string" ? content : JSON.stringify(content ?? ""),
  ...(role === "assistant" && { source: "generate", model })
})

const reasons: { readonly [reason: string]: string } = { stop: "stop", length: "max_tokens", tool_calls: "tool_calls" }

const sampleOf = (sample: Samples.Sample, epoch: number, { main, model }: Log) => {
  const chat = (sample.messages ?? []).map((message) => messageOf(message, model))
  const answered = chat.findLastIndex(({ role }) => role === "assistant")
  const prompt = answered === -1 ? chat : chat.slice(0, answered)
  const rewards = { [main]: sample.score, ...sample.rewards }
  return {
    id: Comparison.idOf(sample),
    epoch,
    input: prompt.length === 0 ? (sample.label ?? "") : prompt,
    target: sample.gold === undefined || sample.gold.length === 0 ? "" : sample.gold,
    messages: chat,
    output: {
      model,
      choices: [
        {
          message: { role: "assistant", content: sample.completion ?? "", source: "generate", model },
          stop_reason: reasons[sample.finish_reason ?? "stop"] ?? "unknown"
        }
      ],
      completion: sample.completion ?? ""
    },
    scores: Object.fromEntries(
      Object.entries(rewards).map(([name, value]) => [
        name,
        { value, ...(name === main && { answer: sample.parsed ?? null, explanation: sample.completion ?? "" }) }
      ])
    ),
    metadata: {
      ...(sample.category !== undefined && { category: sample.category }),
      row: sample.row ?? null,
      ...(sample.correct !== undefined && { correct: sample.correct })
    }
  }
}

const metric = (name: string, value: number) => ({ [name]: { name, value, params: {} } })

const headerOf = (log: Log) => {
  const { figures } = log
  const config = { epochs: log.epochs }
  return {
    version: 2,
    status: "success",
    eval: {
      eval_id: `${log.name}-${log.startedMillis}`,
      run_id: `${log.name}-${log.startedMillis}`,
      created: time(log.startedMillis),
      task: log.name,
      task_id: log.name,
      task_version: 0,
      task_display_name: log.name,
      task_description: log.description,
      dataset: { name: log.dataset, location: log.dataset, samples: log.items, shuffled: false },
      model: log.model,
      model_generate_config: log.generation,
      config,
      packages: { atropos: log.version },
      metadata: { failed_items: log.failures, categories: figures.categories, derived: figures.derived }
    },
    plan: { name: "plan", steps: [{ solver: "generate", params: {} }], config: log.generation },
    results: {
      total_samples: (log.items + log.failures) * log.epochs,
      completed_samples: log.items * log.epochs,
      scores: Object.entries(figures.scores).map(([name, { stderr, value }]) => ({
        name,
        scorer: name,
        params: {},
        metrics: { ...metric("mean", value), ...(stderr !== undefined && metric("stderr", stderr)) }
      }))
    },
    stats: { started_at: time(log.startedMillis), completed_at: time(log.endedMillis), model_usage: {} }
  }
}

/** Writes the log next to the samples file and returns its name. */
export const write = Effect.fn("InspectLog.write")(function* (samplesFile: string, log: Log) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const stamp = time(log.endedMillis).slice(0, 19).replaceAll(":", "-")
  const name = `${stamp}_${log.name}.json`
  const file = path.join(path.dirname(samplesFile), name)
  const epochs = new Map<string, number>()
  const samples = Samples.read(samplesFile).pipe(
    Stream.map((sample) => {
      const epoch = (epochs.get(Comparison.idOf(sample)) ?? 0) + 1
      const separator = epochs.size === 0 ? "" : ",\n"
      epochs.set(Comparison.idOf(sample), epoch)
      return `${separator}${JSON.stringify(sampleOf(sample, epoch, log))}`
    })
  )
  const head = JSON.stringify(headerOf(log))
  yield* Stream.make(`${head.slice(0, -1)},\n"samples": [\n`).pipe(
    Stream.concat(samples),
    Stream.concat(Stream.make("\n]}\n")),
    Stream.encodeText,
    Stream.run(fs.sink(file)),
    Effect.mapError((cause) => new CommandFailed({ message: `cannot write ${file}: ${cause.message}`, cause }))
  )
  return name
})
