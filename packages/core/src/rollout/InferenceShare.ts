/**
 * Limits this program's share of the inference servers: the sum of its environments' shares, as assigned by the
 * service.
 */
import { Context, Effect } from "effect"
import { ServerManager } from "../inference/ServerManager.ts"

export class InferenceShare extends Context.Service<
  InferenceShare,
  { readonly set: (environment: string, share: number) => Effect.Effect<void> }
>()("@atropos/core/rollout/InferenceShare") {}

export const make = Effect.gen(function* () {
  const servers = yield* ServerManager
  const shares = new Map<string, number>()
  return InferenceShare.of({
    set: (environment, share) =>
      Effect.suspend(() => {
        if (shares.get(environment) === share) return Effect.void
        shares.set(environment, share)
        let sum = 0
        for (const one of shares.values()) sum += one
        return servers.setWeight(Math.min(1, Math.max(0.01, sum)))
      })
  })
})
