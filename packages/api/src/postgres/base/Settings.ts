/** Bounds and habits of the store. */
import { Context, type Duration } from "effect"

export interface Settings {
  /** Sequences waiting in a run's queue beyond which submissions are refused for a while. */
  readonly maxQueuedSequences: number
  /** Stored bytes waiting in a run's queue beyond which submissions are refused for a while. */
  readonly maxQueuedBytes: number
  /**
   * How long odd-sized groups wait to be combined to their environment's group size before they are queued as they are.
   */
  readonly bufferPatience: Duration.Input
  /**
   * Stored bytes of consumed groups kept for browsing, a KiB for each group's row and indexes among them; the oldest
   * batches are dropped beyond it.
   */
  readonly retainedBytes: number
  /** Stored bytes of evaluations' samples kept; those of the oldest evaluations are dropped beyond it. */
  readonly retainedSampleBytes: number
  /** How long the keys of dropped groups are remembered, so that a late repetition is recognised. */
  readonly keyMemory: Duration.Input
  /** How old what this process knows of other processes' writes may be where no notification came. */
  readonly viewLifetime: Duration.Input
  /** Payload bytes of queued groups kept in memory, so that a claim need not read them back. */
  readonly cacheBytes: number
}

export const defaults: Settings = {
  maxQueuedSequences: 1_000_000,
  maxQueuedBytes: 8 * 1024 ** 3,
  bufferPatience: "60 seconds",
  retainedBytes: 1024 ** 3,
  retainedSampleBytes: 1024 ** 3,
  keyMemory: "1 hour",
  viewLifetime: "250 millis",
  cacheBytes: 128 * 1024 ** 2
}

/** Settings of the store, with defaults. */
export const StoreSettings = Context.Reference<Settings>("@atropos/api/PgTrajectoryStore/Settings", {
  defaultValue: () => defaults
})
