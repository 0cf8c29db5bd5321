/**
 * Pushes adapters to an SGLang server: `POST /load_lora_adapter` and `/unload_lora_adapter`, whose bodies contain
 * `success` (https://docs.sglang.ai/advanced_features/lora.html). Needs `--enable-lora`; clients select a version by
 * `lora_path: <name>`.
 */
import { Effect, Option, Schema } from "effect"
import * as HttpTarget from "./HttpTarget.ts"
import type { Target } from "./Target.ts"

const loadPath = "/load_lora_adapter"
const unloadPath = "/unload_lora_adapter"

const decodeOutcome = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Struct({ success: Schema.optionalKey(Schema.Boolean) }))
)

/** Some versions report errors with status 200. */
const hasSucceeded = (answer: HttpTarget.Answer): boolean =>
  HttpTarget.isSuccess(answer) &&
  Option.match(decodeOutcome(answer.text), { onNone: () => true, onSome: ({ success }) => success ?? true })

export const sglang = Effect.fnUntraced(function* (options: HttpTarget.Options) {
  const name = `sglang ${HttpTarget.rootOf(options.url)}`
  const post = yield* HttpTarget.poster(name, options)
  const models = yield* HttpTarget.models(name, options)
  // Older versions list no adapters, so a list without one proves nothing before it has had one.
  let isListing = false
  return {
    name,
    has: (adapter) =>
      Effect.map(models, (ids) => {
        const isListed = ids.includes(adapter)
        isListing ||= isListed
        return isListed || !isListing
      }),
    load: Effect.fn("Sglang.load")(function* ({ folder, name: adapter }, isRepeated) {
      const answer = yield* post(loadPath, { lora_name: adapter, lora_path: yield* folder })
      const isThere = isRepeated && /already/i.test(answer.reason)
      if (!hasSucceeded(answer) && !isThere) return yield* HttpTarget.refused(name, loadPath, answer)
    }),
    unload: Effect.fn("Sglang.unload")(function* (adapter) {
      const answer = yield* post(unloadPath, { lora_name: adapter })
      const isGone = /not (been )?(loaded|found|exist)|does not exist/i.test(answer.reason)
      if (!hasSucceeded(answer) && !isGone) return yield* HttpTarget.refused(name, unloadPath, answer)
    })
  } satisfies Target
})
