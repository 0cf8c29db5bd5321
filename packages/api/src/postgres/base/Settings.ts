/** Configures limits and timings of the store. */
import { Context, type Duration } from "effect"

export interface Settings {
  /** Queued sequences of a run above which submissions are temporarily refused. */
  readonly maxQueuedSequences: number
  /** Queued bytes of a run above which submissions are temporarily refused. */
  readonly maxQueuedBytes: number
  /**
   * Max wait of odd-sized groups to be combined to their environment's group size; then they are queued unchanged.
   */
  readonly bufferPatience: Duration.Input
  /**
   * Stored bytes of consumed groups kept for browsing, including a KiB per group for its row and indexes; the oldest
   * batches are dropped above it.
   */
  readonly retainedBytes: number
  /** Stored bytes of evaluation samples kept; those of the oldest evaluations are dropped above it. */
  readonly retainedSampleBytes: number
  /** Retention of the keys of dropped groups, which detect late duplicates. */
  readonly keyMemory: Duration.Input
  /** Max age of cached knowledge about other processes' writes without a notification. */
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

export const StoreSettings = Context.Reference<Settings>("@atropos/api/PgTrajectoryStore/Settings", {
  defaultValue: () => defaults
})
