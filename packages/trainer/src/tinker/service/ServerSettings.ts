/** Limits of the Tinker server per client: resources and their lifetimes. */
import { field, fromFields } from "@atropos/core/base/Settings"
import { Schema } from "effect"

const positive = Schema.Int.check(Schema.isGreaterThan(0))

const fields = {
  maxRank: field(positive, 32, "largest rank of an adapter; the sampler's weights are as large for every adapter"),
  loraAlpha: field(
    Schema.Finite.check(Schema.isGreaterThan(0)),
    32,
    "alpha of all adapters: they are scaled by alpha / rank"
  ),
  tokenBudget: field(positive, 8192, "most positions of a micro-batch, padding included"),
  maxSessions: field(positive, 64, "sessions at a time"),
  maxModels: field(positive, 16, "models in training at a time"),
  maxQueued: field(positive, 256, "operations of a model that may wait; further ones are told to come again"),
  maxQueuedMegabytes: field(positive, 512, "bodies of waiting operations, of all models together"),
  maxSamples: field(
    positive,
    4096,
    "completions that may be under way and wait; further requests are told to come again"
  ),
  maxBodyMegabytes: field(positive, 64, "largest request body"),
  maxPolicies: field(positive, 8, "weights the sampler keeps in memory; others are read again when they are used"),
  sessionSeconds: field(positive, 300, "a session without heartbeats ends after this time"),
  gapSeconds: field(positive, 120, "how long operations wait for one with a smaller number that has not come"),
  resultSeconds: field(positive, 1800, "how long results are kept"),
  snapshotSeconds: field(positive, 3600, "how long weights saved for a sampling session are kept after their last use")
}

export type ServerSettings = Schema.Struct.Type<typeof fields>

export const settings = fromFields(fields)

export const defaults: ServerSettings = settings.complete({})
