/** Limits of the generation engine. */
import { field } from "@atropos/core/base/Settings"
import { Schema } from "effect"

const positive = Schema.Int.check(Schema.isGreaterThan(0))

export const EngineSettings = Schema.Struct({
  maxRows: field(positive, 128, "completions to sample concurrently"),
  maxWaiting: field(positive, 1024, "max waiting completions; excess requests are rejected"),
  maxSequenceTokens: field(Schema.Natural, 0, "max tokens of prompt and completion together; 0: the model's maximum"),
  kvMemoryMegabytes: field(positive, 2048, "memory of the KV cache of running sequences"),
  prefixCacheMegabytes: field(
    Schema.Natural,
    512,
    "memory of the prefix cache, which the next turn of a conversation reuses; 0: none"
  ),
  prefillTokens: field(positive, 512, "prompt tokens processed between two decoding steps"),
  speculativeTokens: field(
    Schema.Natural,
    0,
    "tokens to speculate from earlier text of the sequence (prompt lookup); faster if few concurrent answers copy much; 0: none"
  ),
  weightUpdates: field(
    Schema.Literals(["pinned", "in_flight"]),
    "pinned",
    "in-flight requests on new weights: finish on the old ones (pinned), or switch, keeping their KV cache (in_flight)"
  ),
  threads: field(Schema.Natural, 0, "CPU threads per graph run; 0: one for small models, otherwise one per core")
})
export type EngineSettings = typeof EngineSettings.Type

export const defaults: EngineSettings = Schema.decodeSync(EngineSettings)({})
