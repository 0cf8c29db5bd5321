/**
 * Identifies an inference server from its answers to cheap requests: `GET /v1/models` (who owns the models),
 * `/version`, `/server_info`, `/openapi.json` (which paths it has). If these are inconclusive, `server_type` is used.
 *
 * A server with token-level answers is then asked for its most likely token (top-p close to 0) at temperatures 0.25 and
 * 4, to determine its logprobs mode: processed logprobs are 0, because no other token remained; raw ones are equal at
 * both temperatures; tempered ones are larger at the lower one. `logprobs_mode` skips this.
 *
 * Fails like requests: `unreachable` if no server answers, `rejected` if a key is refused. The caller may retry.
 */
import { Duration, Effect, Option, Predicate, Result, Schema } from "effect"
import * as Waiting from "../../base/Waiting.ts"
import { InferenceError } from "../wire/Inference.ts"
import { isOfficial, type Server } from "./ServerSettings.ts"
import type { Backend } from "./Backend.ts"
import * as Identity from "./Identity.ts"
import * as TokenizerIdentity from "../tokenizer/TokenizerIdentity.ts"
import type { Transport } from "../wire/Transport.ts"

const patience = Duration.seconds(10)
/** Timeout for one token, which may queue behind other requests. */
const tokenPatience = Duration.seconds(120)

const within = <A>(
  asking: Effect.Effect<A, InferenceError>,
  server: string,
  what: string,
  duration: Duration.Duration
) =>
  Effect.timeoutOrElse(asking, {
    duration,
    orElse: () =>
      Effect.fail(
        new InferenceError({
          reason: "timeout",
          server,
          message: `${what}: no answer within ${Duration.toSeconds(duration)} s`
        })
      )
  }).pipe(
    Waiting.telling((seconds) =>
      Effect.logWarning("waiting for an inference server to answer", { seconds, server, request: what })
    )
  )

const Models = Schema.Struct({
  data: Schema.Array(
    Schema.Struct({
      id: Schema.String,
      owned_by: Schema.optionalKey(Schema.NullOr(Schema.String)),
      parent: Schema.optionalKey(Schema.NullOr(Schema.String)),
      max_model_len: Schema.optionalKey(Schema.NullOr(Schema.Finite)),
      tokenizer: Schema.optionalKey(Schema.Unknown)
    })
  )
})
const OpenApi = Schema.Struct({
  paths: Schema.Record(Schema.String, Schema.Unknown),
  components: Schema.optionalKey(Schema.Struct({ schemas: Schema.Record(Schema.String, Schema.Unknown) }))
})
const Version = Schema.Struct({ version: Schema.String })
const ModeInConfig = Schema.Struct({
  vllm_config: Schema.Struct({ model_config: Schema.Struct({ logprobs_mode: Schema.String }) })
})
type Models = (typeof Models.Type)["data"]

/** The base of a server's own routes: its OpenAI address without a trailing version. */
export const rootOf = (baseUrl: string): string => baseUrl.replace(/\/v1$/, "")

/** A misconfigured server is detected by its paths, which are unique to its kind. */
const has = (paths: ReadonlySet<string>, ...wanted: ReadonlyArray<string>): boolean =>
  wanted.every((path) => paths.has(path))

const kindOf = (models: Models, paths: ReadonlySet<string>): Identity.Kind | undefined => {
  const owner = models.find(({ owned_by: by }) => by)?.owned_by
  if (owner === "atropos") return "policy"
  if (owner === "vllm") return "vllm"
  if (owner === "sglang") return "sglang"
  if (has(paths, "/generate/", "/init_communicator/")) return "trl"
  if (has(paths, "/generate", "/get_model_info") || has(paths, "/generate", "/model_info")) return "sglang"
  if (has(paths, "/inference/v1/generate") || has(paths, "/v1/completions", "/version", "/tokenize")) return "vllm"
  // Up to 5.0 it only supports chats.
  const isChatAlone = has(paths, "/v1/responses", "/v1/audio/transcriptions") && !paths.has("/v1/completions")
  if (has(paths, "/v1/chat/completions") && (paths.has("/load_model") || isChatAlone)) return "transformers"
  if (has(paths, "/generate", "/health") && !paths.has("/v1/completions")) return "patched"
  return undefined
}

/** Kinds by type, for servers that do not identify themselves, for example a gateway that passes on few paths. */
const believed: { readonly [T in Server["serverType"]]: Identity.Kind } = {
  openai: "openai",
  vllm: "vllm",
  sglang: "sglang",
  trl: "trl"
}

/**
 * The kind from the settings, for a server that does not identify itself; for `vllm`, a path that stock vLLM lacks
 * decides.
 */
const guessed = Effect.fnUntraced(function* ({ apiKey, baseUrl, serverType }: Server, transport: Transport) {
  if (serverType !== "vllm") return believed[serverType]
  const server = baseUrl ?? ""
  const url = `${rootOf(server)}/generate`
  return yield* within(
    transport.json({ method: "POST", server, url, apiKey: apiKey ?? "", body: {} }),
    server,
    `POST ${url}`,
    patience
  ).pipe(
    Effect.as("patched" as const),
    Effect.catchIf(
      ({ status }) => status !== undefined,
      ({ status }) => Effect.succeed(status === 404 || status === 405 ? ("vllm" as const) : ("patched" as const))
    )
  )
})

const versionNumber = (version: string | undefined): ReadonlyArray<number> =>
  (version ?? "").split(".").map((part) => Number.parseInt(part, 10) || 0)

/** True if a version is at least the wanted one; an unknown version counts as new. */
export const isAtLeast = (version: string | undefined, wanted: readonly [number, number, number]): boolean => {
  if (version === undefined) return true
  const parts = versionNumber(version)
  for (const [index, least] of wanted.entries()) {
    const part = parts[index] ?? 0
    if (part !== least) return part > least
  }
  return true
}

/** The answer, if it has this shape. */
const read = <A>(schema: Schema.Codec<A, unknown>, answer: Result.Result<unknown, InferenceError>): A | undefined =>
  Result.isSuccess(answer) ? Option.getOrUndefined(Schema.decodeUnknownOption(schema)(answer.success)) : undefined

export const identify = Effect.fn("Identify.identify")(function* (settings: Server, transport: Transport) {
  const { apiKey, baseUrl, modelName } = settings
  const server = baseUrl ?? ""
  const root = rootOf(server)
  const own = modelName === "default" ? undefined : modelName
  if (isOfficial(server)) return Identity.base("openai", modelName)

  const get = (url: string) =>
    within(transport.json({ method: "GET", server, url, apiKey: apiKey ?? "" }), server, `GET ${url}`, patience).pipe(
      Effect.map(({ body }) => body),
      Effect.result
    )

  /** Requested if the server did not list its paths or was too busy to: a missing version would go unnoticed. */
  const hasLabel = Effect.flatMap(get(`${root}/weight_info`), (answer) =>
    Result.isSuccess(answer)
      ? Effect.succeed(true)
      : answer.failure.status === undefined
        ? Effect.fail(answer.failure)
        : Effect.succeed(false)
  )

  const listed = yield* get(`${server}/models`)
  if (Result.isFailure(listed)) {
    const { reason, status } = listed.failure
    if (reason === "unreachable" || reason === "timeout" || reason === "overloaded") return yield* listed.failure
    if (status === 401 || status === 403) {
      return yield* new InferenceError({
        reason: "rejected",
        server,
        status,
        message: `${server} rejects the API key (${status}): set api_key (--openai.api_key)`
      })
    }
  }
  const models = read(Models, listed)?.data ?? []
  const openApi = read(OpenApi, yield* get(`${root}/openapi.json`))
  const paths = new Set(Object.keys(openApi?.paths ?? {}))
  const kind = kindOf(models, paths) ?? (yield* guessed(settings, transport))

  const info =
    kind === "vllm"
      ? yield* get(`${root}/version`)
      : kind === "sglang"
        ? yield* Effect.filterOrElse(
            get(`${root}/server_info`),
            (answer) => read(Version, answer) !== undefined,
            // Its name in older versions.
            () => get(`${root}/get_server_info`)
          )
        : undefined
  const version = info && read(Version, info)?.version
  const parentless = models.filter(({ parent }) => !parent)
  const base = {
    ...Identity.base(kind, modelName),
    version,
    models: kind === "transformers" ? [] : models.map(({ id }) => id),
    modelName: own ?? (kind === "transformers" ? undefined : (parentless[0]?.id ?? modelName)),
    contextLength: (parentless.find(({ id }) => id === own) ?? parentless[0])?.max_model_len ?? undefined,
    tokenizer: TokenizerIdentity.read((parentless.find(({ id }) => id === own) ?? parentless[0])?.tokenizer)
  }
  if (kind === "vllm") {
    const inference = paths.has("/inference/v1/generate")
    // Only in dev mode (as `trl vllm-serve` starts it): the flag itself.
    const config = paths.has("/server_info") ? yield* get(`${root}/server_info?config_format=json`) : undefined
    const mode = config && read(ModeInConfig, config)?.vllm_config.model_config.logprobs_mode
    // With adapters, the version is in their names.
    const isLabelled =
      settings.adapterPrefix === null && (paths.has("/weight_info") || (paths.size === 0 && (yield* hasLabel)))
    return {
      ...base,
      tokens: inference ? "/inference/v1/generate" : "/v1/completions",
      idsBy: isAtLeast(version, [0, 10, 2]) ? ("return_token_ids" as const) : ("return_tokens_as_token_ids" as const),
      ...(mode === "raw_logprobs" ? { logprobs: "raw" as const } : {}),
      ...(mode === "processed_logprobs" ? { logprobs: "processed" as const } : {}),
      adapters: paths.size === 0 ? undefined : paths.has("/v1/load_lora_adapter"),
      ...(isLabelled && {
        versions: "weights" as const,
        hasWeightSpans: version !== undefined && isAtLeast(version, [0, 33, 0])
      })
    }
  }
  if (kind === "sglang") return { ...base, adapters: paths.size === 0 ? undefined : paths.has("/load_lora_adapter") }
  // The original's own server accepts prompt_logprobs but never returns them; others with its /generate may.
  if (kind === "patched") return { ...base, promptLogprobs: !paths.has("/bridge/info") }
  if (kind === "trl") {
    const fields = fieldsOf(openApi?.components?.schemas["GenerateRequest"])
    const answers = fieldsOf(openApi?.components?.schemas["GenerateResponse"])
    const isKnown = answers.size > 0
    return {
      ...base,
      fields,
      // Prompts as ids and logprobs were added in different versions; token-level requests need both.
      tokens: isKnown && takesIds(openApi?.components?.schemas["GenerateRequest"]) ? "/generate/" : undefined,
      // Logprobs were added in 0.24, and processed ones with the ids of several (0.29).
      ...(answers.has("logprob_token_ids") ? { logprobs: "processed" as const } : {}),
      ...(isKnown && !answers.has("logprobs") ? { logprobs: undefined } : {})
    }
  }
  return base
})

const propertiesOf = (schema: unknown): { readonly [key: string]: unknown } =>
  Predicate.isReadonlyObject(schema) && Predicate.isReadonlyObject(schema["properties"]) ? schema["properties"] : {}

const fieldsOf = (schema: unknown): ReadonlySet<string> => new Set(Object.keys(propertiesOf(schema)))

/** True if `prompts` may be lists of integers. */
const takesIds = (schema: unknown): boolean => JSON.stringify(propertiesOf(schema)["prompts"] ?? {}).includes("integer")

/**
 * Half-precision logits make equal tokens' logprobs differ by slightly less than this; the two temperatures differ by
 * far more.
 */
const noise = 0.1

/**
 * The higher of the two temperatures. vLLM rejects more than 2 (0.32), and none of its modes needs more: logprobs at
 * its temperature are computed after top-p, so they are 0. SGLang's are computed before it, and differ more at higher
 * temperatures.
 */
const hottest = (kind: Identity.Kind): number => (kind === "sglang" ? 4 : 2)

/** The logprobs mode of a server; undefined if its answers match none. */
export const measured = Effect.fn("Identify.measured")(function* (
  backend: Pick<Backend, "tokens" | "server">,
  kind: Identity.Kind
) {
  const ask = (temperature: number) =>
    Effect.map(
      // Token 1 exists in every tokenizer; several of them leave a model uncertain.
      within(
        // Top-k changes nothing, but vLLM with --return-sampling-mask needs one.
        backend.tokens({ inputIds: [1, 1, 1], maxTokens: 1, temperature, topP: 1e-4, topK: 2 }),
        backend.server,
        "one token, to detect the logprobs mode",
        tokenPatience
      ),
      ([choice]) => choice?.logprobs[0]
    )
  return modeOf(yield* ask(0.25), yield* ask(hottest(kind)))
})

/** The mode that explains the most likely token's logprobs at a low and a high temperature. */
export const modeOf = (cold: number | undefined, hot: number | undefined) => {
  if (cold === undefined || hot === undefined) return undefined
  if (cold > -1e-5 && hot > -1e-5) return "processed" as const
  if (Math.abs(cold - hot) < noise) return "raw" as const
  return cold > hot ? ("tempered" as const) : undefined
}
