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
  /** Time after which a streamed response begins, with or without text; a failure until then has an HTTP status. */
  readonly streamBegins: Duration.Input
  /** The same of a response that is not streamed: it begins with white space, and a later failure breaks it off. */
  readonly responseBegins: Duration.Input
  /** Max time without a byte of a response that has begun. */
  readonly keepAlive: Duration.Input
}

export const defaults: Limits = {
  bodyBytes: 16 * 1024 * 1024,
  promptTokens: 1_048_576,
  sessions: 4096,
  idle: Duration.minutes(30),
  requestsPerSession: 64,
  answersKept: 1024,
  rewardsPerSession: 4096,
  streamBegins: Duration.seconds(2),
  responseBegins: Duration.minutes(1),
  keepAlive: Duration.seconds(10)
}
