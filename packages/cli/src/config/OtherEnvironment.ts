/**
 * Warns if another process runs an environment under this one's name in the same run. State is kept by name: each would
 * overwrite the other's, and both roll out the same items. A lock refuses a second one only where both share a folder.
 */
import * as ServiceApi from "@atropos/core/service/ServiceApi"
import { Effect, Option, type Redacted } from "effect"

export interface Options {
  readonly url: string
  readonly run: string
  readonly token: Option.Option<Redacted.Redacted>
  /** The name that the environment asks for. */
  readonly name: string
}

export interface Pauses {
  /** Between two looks: environments that run are heard of every five seconds. */
  readonly between: Effect.Effect<void>
  readonly after: Effect.Effect<void>
}

const usual: Pauses = { between: Effect.sleep("15 seconds"), after: Effect.sleep("1 minute") }

/** Runs until another one is found. Those that were killed are not heard of again, so that a restart finds none. */
export const watch = Effect.fn("OtherEnvironment.watch")(function* (
  { name, run, token, url }: Options,
  { after, between }: Pauses = usual
) {
  const { api, call } = yield* ServiceApi.make({ url, run, ...(Option.isSome(token) && { token: token.value }) })
  const heard = call(api.reading.environments({ params: { run } })).pipe(
    Effect.map(({ environments }) =>
      environments.filter(({ connected, desiredName }) => connected && desiredName === name)
    ),
    // A service that does not answer is reported by the environment itself.
    Effect.orElseSucceed(() => [])
  )
  for (;;) {
    const before = new Map((yield* heard).map(({ envId, lastSeen }) => [envId, lastSeen]))
    yield* between
    const alive = (yield* heard).filter(({ envId, lastSeen }) => lastSeen > (before.get(envId) ?? Infinity))
    if (alive.length > 1) {
      return yield* Effect.logWarning(
        "another process runs an environment of this name: they overwrite each other's state and roll out the same items; give each its own name (--env.wandb_name)",
        { registered: alive.map((one) => one.name).join(", ") }
      )
    }
    yield* after
  }
})
