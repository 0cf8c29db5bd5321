/**
 * Pushes adapters to a vLLM server, or to our policy server: `POST /v1/load_lora_adapter` and `/v1/unload_lora_adapter`
 * (https://docs.vllm.ai/en/stable/features/lora.html).
 *
 * vLLM needs `--enable-lora`, `--max-lora-rank` of at least the adapter's, and VLLM_ALLOW_RUNTIME_LORA_UPDATING=True;
 * its clients select a version by its name as the model. Ours serves the newest under its own model name.
 */
import { Effect } from "effect"
import * as HttpTarget from "./HttpTarget.ts"
import type { Target } from "./Target.ts"

const loadPath = "/v1/load_lora_adapter"
const unloadPath = "/v1/unload_lora_adapter"

const advice: { readonly [status: number]: string } = {
  404: ". vLLM has this endpoint with --enable-lora and VLLM_ALLOW_RUNTIME_LORA_UPDATING=True",
  405: ". vLLM has this endpoint with --enable-lora and VLLM_ALLOW_RUNTIME_LORA_UPDATING=True"
}

const make = Effect.fnUntraced(function* (kind: "vllm" | "policy", options: HttpTarget.Options) {
  const name = `${kind} ${HttpTarget.rootOf(options.url)}`
  const post = yield* HttpTarget.poster(name, options)
  const models = yield* HttpTarget.models(name, options)
  return {
    name,
    has: (adapter) => Effect.map(models, (ids) => ids.includes(adapter)),
    load: Effect.fn("Vllm.load")(function* ({ folder, name: adapter, version }, isRepeated) {
      const answer = yield* post(loadPath, {
        lora_name: adapter,
        lora_path: yield* folder,
        ...(kind === "policy" && { policy_version: version })
      })
      // The previous attempt succeeded, but its response was lost.
      const isThere = isRepeated && /already been loaded/i.test(answer.reason)
      if (!HttpTarget.isSuccess(answer) && !isThere) {
        return yield* HttpTarget.refused(name, loadPath, answer, kind === "vllm" ? advice[answer.status] : "")
      }
    }),
    unload: Effect.fn("Vllm.unload")(function* (adapter) {
      const answer = yield* post(unloadPath, { lora_name: adapter })
      const isGone = answer.status === 404 || /cannot be found|not found/i.test(answer.reason)
      if (!HttpTarget.isSuccess(answer) && !isGone) return yield* HttpTarget.refused(name, unloadPath, answer)
    })
  } satisfies Target
})

export const vllm = (options: HttpTarget.Options) => make("vllm", options)

/** Our own policy server on this machine, or on one that shares the folder. */
export const policyServer = (options: HttpTarget.Options) => make("policy", options)
