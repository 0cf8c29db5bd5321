/** Limits of one gateway. Concurrent requests per server are limited by `ServerManager`. */
import { Duration } from "effect"

export interface Limits {
  readonly bodyBytes: number
  /** Max tokens of a prompt if no max sequence length is known: the longest context of current models. */
  readonly promptTokens: number
  readonly sessions: number
  /** Time without a request after which a session is closed. */
  readonly idle: Duration.Input
  readonly requestsPerSession: number
  /** Max earlier answers that a session stores for dialects that refer to them; the oldest are dropped first. */
  readonly answersKept: number
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
