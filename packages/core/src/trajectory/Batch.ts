/** A batch: groups with exactly the run's batch size of sequences, handed out under a lease. */
import type { ScoredGroup } from "./ScoredGroup.ts"

export interface Batch {
  /** The service's id of this batch, sent back in `ack` and `nack`. */
  readonly id: string
  /** The trainer step this batch is for: the run's starting step + 1 for the first batch. */
  readonly step: number
  /** Authorizes the ack; changes with every delivery. */
  readonly leaseToken: string
  /** Lease expiry, in milliseconds since the epoch; the batch then goes to the next claimer. */
  readonly leaseUntil: number
  /** Counts from 1. */
  readonly deliveries: number
  readonly groups: ReadonlyArray<ScoredGroup>
  /** When this process received the batch, in milliseconds since the epoch, if recorded. */
  readonly claimedAt?: number
}
