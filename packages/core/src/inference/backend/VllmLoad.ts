/**
 * Reads the load of a vLLM engine from its Prometheus metrics (`GET /metrics`): waiting requests and preemptions summed
 * over its engines, and the KV cache usage of the fullest.
 */
import { Effect } from "effect"
import type { Load } from "./Backend.ts"
import { rootOf } from "./Identify.ts"
import type { InferenceError } from "../wire/Inference.ts"
import { malformed, type Transport } from "../wire/Transport.ts"

/** V0 engines of older versions call the usage `gpu_cache_usage_perc`. */
const names = {
  kvUsage: ["vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"],
  preemptions: ["vllm:num_preemptions_total"],
  waiting: ["vllm:num_requests_waiting"]
}

/** Values of each metric: one per engine and model. */
const valuesOf = (text: string): ReadonlyMap<string, ReadonlyArray<number>> => {
  const values = new Map<string, Array<number>>()
  for (const line of text.split("\n")) {
    if (!line.startsWith("vllm:")) continue
    const labels = line.indexOf("{")
    const name = line.slice(0, labels < 0 ? line.indexOf(" ") : labels)
    // Label values may contain spaces and braces.
    const value = Number(
      line
        .slice(line.lastIndexOf("}") + 1 || name.length)
        .trim()
        .split(" ")[0]
    )
    if (Number.isFinite(value)) values.set(name, [...(values.get(name) ?? []), value])
  }
  return values
}

const sum = (list: ReadonlyArray<number>): number => list.reduce((total, one) => total + one, 0)

/** The load in a metrics page; undefined if it lacks one of the figures. */
export const parse = (text: string): Load | undefined => {
  const values = valuesOf(text)
  const of = (figure: keyof typeof names) => names[figure].flatMap((name) => values.get(name) ?? [])
  const [usage, preemptions, waiting] = [of("kvUsage"), of("preemptions"), of("waiting")]
  if ([usage, preemptions, waiting].some(({ length }) => length === 0)) return undefined
  return { kvUsage: Math.max(...usage), preemptions: sum(preemptions), waiting: sum(waiting) }
}

export const read = (
  { apiKey, server }: { readonly apiKey: string; readonly server: string },
  transport: Transport
): Effect.Effect<Load, InferenceError> => {
  const url = `${rootOf(server)}/metrics`
  return Effect.flatMap(transport.text({ server, url, apiKey }), (text) => {
    const load = parse(text)
    return load === undefined
      ? Effect.fail(
          malformed(
            server,
            `GET ${url}: no ${Object.values(names)
              .map(([name]) => name)
              .join(", ")}`
          )
        )
      : Effect.succeed(load)
  })
}
