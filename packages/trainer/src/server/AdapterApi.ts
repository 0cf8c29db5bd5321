/**
 * LoRA hot swap over HTTP, in vLLM's format: `POST /v1/load_lora_adapter` and `/v1/unload_lora_adapter`; and the model
 * list.
 *
 * `lora_path` is a local PEFT folder. The served model's name selects the adapter loaded last, an adapter's name that
 * one. The policy version is `policy_version`, else the number at the end of the name, else one more than the newest.
 * Loading a loaded adapter is 400 unless `load_inplace` is set; an unknown one is 404.
 */
import { Clock, Effect, Schema } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import type { LoadedPolicy } from "../engine/Engine.ts"
import * as TokenizerIdentity from "@atropos/core/inference/tokenizer/TokenizerIdentity"
import * as ApiError from "./OpenAiApiError.ts"
import * as Parameters from "./OpenAiApiParameters.ts"
import * as SamplingRequest from "./SamplingRequest.ts"
import * as RequestBody from "./RequestBody.ts"
import type { ServedPolicy } from "./ServedPolicy.ts"

/** Reads the adapter in a folder, flat in the model's layout. */
export type ReadAdapter = (folder: string) => Effect.Effect<Float32Array, { readonly message: string }>

const Load = Schema.Struct({
  lora_name: Schema.NonEmptyString,
  lora_path: Schema.NonEmptyString,
  load_inplace: Schema.optionalKey(Schema.Boolean),
  policy_version: Schema.optionalKey(Schema.Natural)
})
const readLoad = Parameters.reader(Load, [])
const readUnload = Parameters.reader(Schema.Struct({ lora_name: Schema.NonEmptyString }), ["lora_int_id"])

export const load = ({ engine, modelName }: ServedPolicy, readAdapter: ReadAdapter) =>
  Effect.gen(function* () {
    const body = yield* readLoad(yield* RequestBody.parameters)
    const { lora_name: name, lora_path: folder } = body
    if (name === modelName || name === SamplingRequest.anyModel) {
      return yield* ApiError.invalid(
        "lora_name",
        `lora_name: ${name} is reserved for the latest weights; choose another name`
      )
    }
    const { policies } = yield* engine.status
    if (body.load_inplace !== true && policies.some(({ policy }) => policy === name)) {
      return yield* ApiError.invalid(
        "lora_name",
        `The lora adapter '${name}' has already been loaded. To replace it, set 'load_inplace' to true.`,
        "adapter_already_loaded"
      )
    }
    const parameters = yield* Effect.mapError(readAdapter(folder), ({ message }) =>
      ApiError.invalid("lora_path", `the adapter in ${folder} cannot be read: ${message}`)
    )
    const version = body.policy_version ?? versionIn(name) ?? newestOf(policies) + 1
    yield* Effect.mapError(engine.load(name, version, parameters), ApiError.fromEngine("lora_path"))
    yield* Effect.logInfo("adapter loaded", { name, folder, policyVersion: version })
    return HttpServerResponse.text(`Success: LoRA adapter '${name}' added successfully.`, {
      headers: { "x-policy-version": String(version) }
    })
  })

export const unload = ({ engine }: ServedPolicy) =>
  Effect.gen(function* () {
    const { lora_name: name } = yield* readUnload(yield* RequestBody.parameters)
    const { policies } = yield* engine.status
    if (!policies.some(({ policy }) => policy === name)) {
      return yield* ApiError.notFound(`The lora adapter '${name}' cannot be found.`, "lora_name", "adapter_not_found")
    }
    yield* engine.unload(name)
    yield* Effect.logInfo("adapter unloaded", { name })
    return HttpServerResponse.text(`Success: LoRA adapter '${name}' removed successfully.`)
  })

/** The number at the end of a name such as `policy-v12`. */
const versionIn = (name: string): number | undefined => {
  const digits = /(\d{1,15})$/.exec(name)?.[1]
  return digits === undefined ? undefined : Number(digits)
}

export const newestOf = (policies: ReadonlyArray<LoadedPolicy>): number =>
  policies.reduce((newest, { policyVersion }) => Math.max(newest, policyVersion), 0)

/** The served model first, then the weights loaded under their own names. */
const models = Effect.fnUntraced(function* (served: ServedPolicy) {
  const { engine, maxSequenceTokens, modelName } = served
  const created = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  const { policies } = yield* engine.status
  const newest = new Map(policies.map(({ policy, policyVersion }) => [policy, policyVersion]))
  const tokenizer = TokenizerIdentity.of(served.tokenizer)
  const model = (id: string, parent: string | null, policyVersion: number) => ({
    id,
    object: "model",
    created,
    owned_by: "atropos",
    root: id,
    parent,
    max_model_len: maxSequenceTokens,
    policy_version: policyVersion,
    tokenizer
  })
  return [
    model(modelName, null, newestOf(policies)),
    ...[...newest]
      .filter(([name]) => name !== modelName)
      .map(([name, policyVersion]) => model(name, modelName, policyVersion))
  ]
})

/** `GET /v1/models` and, with an id after it (its slashes as `%2F`), that model. */
export const getModels = (served: ServedPolicy) =>
  Effect.gen(function* () {
    const { "*": rest = "" } = yield* HttpRouter.params
    const data = yield* models(served)
    if (rest === "") return HttpServerResponse.jsonUnsafe({ object: "list", data })
    const model = data.find(({ id }) => id === rest || encodeURIComponent(id) === rest)
    return model === undefined
      ? yield* ApiError.notFound(`the model \`${rest}\` does not exist`, "model", "model_not_found")
      : HttpServerResponse.jsonUnsafe(model)
  })
