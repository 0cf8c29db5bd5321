/** What one gateway takes on at most. Requests at once at a server are `ServerManager`'s to limit. */
import { Duration } from "effect"

export interface Limits {
  /** Bytes of a request's body. */
  readonly bodyBytes: number
  /** Tokens of a prompt, where no longest sequence is known; the longest contexts that models have. */
  readonly promptTokens: number
  /** Sessions open at once. */
  readonly sessions: number
  /** How long a session may be without a request before it is closed. */
  readonly idle: Duration.Input
  /** Requests of one session at once. */
  readonly requestsPerSession: number
  /** Earlier answers that a session keeps for dialects that refer to them; the oldest are forgotten first. */
  readonly answersKept: number
  /** Rewards that one session may report. */
  readonly rewardsPerSession: number
}

export const defaults: Limits = {
  bodyBytes: 16 * 1024 * 1024,
  promptTokens: 1_048_576,
  sessions: 4096,
  idle: Duration.minutes(30),
  requestsPerSession: 64,
  answersKept: 1024,
  rewardsPerSession: 4096
}
