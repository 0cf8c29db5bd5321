/** Limits of the generation engine. */
import { field } from "@atropos/core/base/Settings"
import { Schema } from "effect"

const positive = Schema.Int.check(Schema.isGreaterThan(0))

export const EngineSettings = Schema.Struct({
  maxRows: field(positive, 128, "completions to sample concurrently"),
  maxWaiting: field(positive, 1024, "completions that may wait for a row; beyond that requests are refused"),
  maxSequenceTokens: field(
    Schema.Natural,
    0,
    "longest prompt and completion together; 0: as long as the model's positions go"
  ),
  kvMemoryMegabytes: field(positive, 2048, "memory for keys and values of running sequences"),
  prefixCacheMegabytes: field(
    Schema.Natural,
    512,
    "memory for keys and values of prompts that have ended, which the next turn of a conversation begins with; 0: none"
  ),
  prefillTokens: field(positive, 512, "prompt tokens processed between two decoding steps"),
  speculativeTokens: field(
    Schema.Natural,
    0,
    "tokens to guess ahead from what the sequence said before (prompt lookup); pays where few answers at once copy much; 0: none"
  ),
  weightUpdates: field(
    Schema.Literals(["pinned", "in_flight"]),
    "pinned",
    "what requests that are running do when new weights come: end on those they began with (pinned), or go on under the new ones, with the keys and values they have (in_flight)"
  ),
  threads: field(Schema.Natural, 0, "threads of one graph run; 0: one for small models, else one for each core")
})
export type EngineSettings = typeof EngineSettings.Type

export const defaults: EngineSettings = Schema.decodeSync(EngineSettings)({})
