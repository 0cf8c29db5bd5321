/**
 * What inference servers and their manager can be told, with the original's names, defaults and meaning
 * (atroposlib/envs/server_handling: ServerBaseline, APIServerConfig, ServerManagerConfig).
 *
 * `server` gives the `--openai.<field>` flags and the entries of a YAML `openai` list, `manager` the flags without a
 * prefix (`--slurm`, `--max_n_completions`). Unlike the original, a `base_url` that is given is always used.
 */
import { Config, Effect, Schema } from "effect"
import { field, fromFields } from "../../EnvironmentSettings.ts"
import * as Slurm from "./Slurm.ts"

const positive = Schema.Int.check(Schema.isGreaterThan(0))
const positiveSeconds = Schema.Finite.check(Schema.isGreaterThan(0))

export const serverFields = {
  serverType: field(
    Schema.Literals(["openai", "vllm", "sglang", "trl"]),
    "openai",
    "what the server is, where it does not say so itself: it is asked, and exact tokens and logprobs are had the best way it has"
  ),
  logprobsMode: field(
    Schema.Literals(["auto", "raw", "tempered", "processed"]),
    "auto",
    "what the server's logprobs are of: the model's distribution, after temperature, or after top-p, top-k and min-p too; auto: measured with two tokens at the start"
  ),
  baseUrl: field(
    Schema.NullOr(Schema.String),
    "",
    "address of the server, /v1 included; empty: Slurm's nodes, or localhost:9004 to 9007"
  ),
  apiKey: field(Schema.NullOr(Schema.String), "", "bearer key; empty: none, and OPENAI_API_KEY for api.openai.com"),
  modelName: field(Schema.String, "default", "model asked for"),
  adapterPrefix: field(
    Schema.NullOr(Schema.NonEmptyString),
    null,
    "ask with the newest adapter whose name begins so, as a trainer's weight_sync loads them (policy-); null: always model_name"
  ),
  tokenizerName: field(
    Schema.String,
    "none",
    "tokenizer of the model, the same for all servers; none: the environment's tokenizer_name"
  ),
  timeout: field(positiveSeconds, 1200, "seconds a request may take"),
  numMaxRequestsAtOnce: field(positive, 512, "training requests at once; a request for n completions counts once"),
  numRequestsForEval: field(positive, 64, "evaluation requests at once"),
  rollingBufferLength: field(positive, 1000, "requests the figures of a server are taken over"),
  nKwargIsIgnored: field(
    Schema.Boolean,
    false,
    "the server answers with one completion whatever n says; found out by itself where not set"
  ),
  healthCheck: field(
    Schema.Boolean,
    true,
    "ask a server that failed for its health before it is used again; false: just try it again"
  )
} as const

export const managerFields = {
  slurm: field(Schema.Boolean, false, "find the servers on the nodes of this Slurm job"),
  testing: field(Schema.Boolean, false, "answer from a script instead of a server"),
  maxNCompletions: field(positive, 8, "completions asked for in one request; larger n is spread over several"),
  proxyUrl: field(
    Schema.NullOr(Schema.String),
    null,
    "managed-server proxy that tracked sessions go through; null: ATROPOS_PROXY_URL, or none"
  ),
  maxAttempts: field(positive, 8, "times a request is tried, first time included"),
  serverWait: field(
    positiveSeconds,
    300,
    "seconds a request waits while no server is healthy; at most 10 where no server was configured"
  )
} as const

const ServerFields = Schema.Struct(serverFields)
/** One inference server. */
export type Server = typeof ServerFields.Type

const ManagerFields = Schema.Struct(managerFields)
/** The manager of them all. */
export type Manager = typeof ManagerFields.Type

export const server = fromFields(serverFields)
export const manager = fromFields(managerFields)

/** The servers there are, and where they were found. */
export interface Resolved {
  readonly servers: ReadonlyArray<Server>
  readonly origin: "given" | "slurm" | "defaults"
}

const defaultUrls = [9004, 9005, 9006, 9007].map((port) => `http://localhost:${port}/v1`)
const withUrl = (template: Server, baseUrl: string): Server => ({ ...template, baseUrl })
const withoutSlash = (url: string): string => url.replace(/(?<!\/)\/+$/, "")

const openAiKey = Config.NonEmptyString("OPENAI_API_KEY").pipe(Config.withDefault(""), Effect.orDie)

/**
 * Fills in what a server's address implies: no trailing slash, the hosted API where there is no address, its key from
 * the environment.
 */
const complete = Effect.fn("ServerSettings.complete")(function* (given: Server) {
  const baseUrl = withoutSlash(given.baseUrl || "https://api.openai.com/v1")
  if (given.apiKey || !isOfficial(baseUrl)) return { ...given, baseUrl, apiKey: given.apiKey ?? "" }
  return { ...given, baseUrl, apiKey: yield* openAiKey }
})

/** Whether this is OpenAI's own service, which takes some options under names of its own. */
export const isOfficial = (baseUrl: string): boolean =>
  URL.canParse(baseUrl) && new URL(baseUrl).hostname === "api.openai.com"

/**
 * The list of servers a configuration means:
 * a list: those, or with `slurm` the nodes of the job with its first entry as the template;
 * one with an address: that one (with `slurm`: the template);
 * one without, or none: the nodes of the Slurm job if there are at least two, else localhost:9004 to 9007.
 */
export const resolve = Effect.fn("ServerSettings.resolve")(function* (
  given: Partial<Server> | ReadonlyArray<Partial<Server>> | undefined,
  slurm: boolean
) {
  const isList = Array.isArray(given)
  const listed = (isList ? given : [given ?? {}]).map((one: Partial<Server>) => server.complete(one))
  const [template = server.complete({})] = listed
  const isAddressed = isList ? listed.length > 0 : Boolean(template.baseUrl)
  if (slurm || !isAddressed) {
    const urls = yield* Slurm.serverUrls
    if (urls.length > 0) {
      const servers = yield* Effect.forEach(urls, (url) => complete(withUrl(template, url)))
      return { servers, origin: "slurm" } satisfies Resolved
    }
  }
  if (isAddressed) return { servers: yield* Effect.forEach(listed, complete), origin: "given" } satisfies Resolved
  return {
    servers: defaultUrls.map((url) => ({ ...withUrl(template, url), apiKey: template.apiKey || "x" })),
    origin: "defaults"
  } satisfies Resolved
})
