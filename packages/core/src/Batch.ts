/** A batch: groups whose sequences number exactly the run's batch size, handed out under a lease. */
import type { ScoredGroup } from "./ScoredGroup.ts"

export interface Batch {
  /** The service's id of this batch; goes back in `ack` and `nack`. */
  readonly id: string
  /** The step that is made of this batch, as its trainer counts: the run's starting step + 1 for the first. */
  readonly step: number
  /** Proves the right to ack: changes with every delivery. */
  readonly leaseToken: string
  /** When the lease runs out and the batch goes to the next claimer, in milliseconds since the epoch. */
  readonly leaseUntil: number
  /** 1 at the first delivery. */
  readonly deliveries: number
  readonly groups: ReadonlyArray<ScoredGroup>
  /** When this process got it, in milliseconds since the epoch, where somebody wrote that down. */
  readonly claimedAt?: number
}
