/** Limits of the Tinker server per client: resources and their lifetimes. */
import { field, fromFields } from "@atropos/core/base/Settings"
import { Schema } from "effect"

const positive = Schema.Int.check(Schema.isGreaterThan(0))

const fields = {
  maxRank: field(positive, 32, "max rank of an adapter; the sampler allocates this rank for every adapter"),
  loraAlpha: field(
    Schema.Finite.check(Schema.isGreaterThan(0)),
    32,
    "alpha of all adapters: they are scaled by alpha / rank"
  ),
  tokenBudget: field(
    Schema.NullOr(positive),
    null,
    "max tokens of a micro-batch, including padding (a longer sequence is alone); if unset, what this machine's cores compute fastest"
  ),
  maxSessions: field(positive, 64, "max concurrent sessions"),
  maxModels: field(positive, 16, "max models in training"),
  maxQueued: field(positive, 256, "max waiting operations per model; excess ones must be retried later"),
  maxSamples: field(positive, 4096, "max running and waiting completions; excess requests must be retried later"),
  maxBodyMegabytes: field(positive, 64, "max size of a request body"),
  maxPolicies: field(positive, 8, "max weights the sampler keeps in memory; others are loaded again when used"),
  sessionSeconds: field(positive, 300, "a session without heartbeats ends after this time"),
  gapSeconds: field(positive, 120, "how long operations wait for a missing one with a smaller number"),
  snapshotSeconds: field(positive, 3600, "how long weights saved for a sampling session are kept after their last use")
}

export type ServerSettings = Schema.Struct.Type<typeof fields>

export const settings = fromFields(fields)

export const defaults: ServerSettings = settings.complete({})
