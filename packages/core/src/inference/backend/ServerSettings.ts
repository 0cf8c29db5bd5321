/**
 * Settings of inference servers and their manager, with the original's names, defaults and meaning
 * (atroposlib/envs/server_handling: ServerBaseline, APIServerConfig, ServerManagerConfig).
 *
 * `server` defines the `--openai.<field>` flags and the entries of a YAML `openai` list, `manager` the flags without a
 * prefix (`--slurm`, `--max_n_completions`). Unlike in the original, a given `base_url` is always used.
 */
import { Config, Effect, Schema } from "effect"
import { field, fromFields } from "../../base/Settings.ts"
import * as OutputFormat from "../format/OutputFormat.ts"
import * as Slurm from "./Slurm.ts"

/** Empty, or a valid address for requests: `localhost:9001` is rejected, although it parses as a URL. */
const Address = Schema.String.check(
  Schema.makeFilter(
    (url: string) =>
      url === "" || (/^https?:\/\//i.test(url) && URL.canParse(url)) || `must be a URL such as ${suggested(url)}`
  )
)

/** The probably intended address: HTTP instead of another scheme, and a path. */
const suggested = (url: string): string => {
  const meant = `http://${url.replace(/^[a-z][a-z\d+.-]{0,20}:\/\//i, "")}`
  if (!URL.canParse(meant)) return "http://localhost:9001/v1"
  return new URL(meant).pathname === "/" ? `${withoutSlash(meant)}/v1` : meant
}

/** Routes of OpenAI's API, which clients append to a base URL themselves. */
const route = /\/(?:chat\/completions|completions|responses|models|messages)\/?$/

/** Describes what an address of OpenAI's API lacks; undefined if nothing is known to be missing. */
export const missingIn = ({ baseUrl, serverType }: Server): string | undefined => {
  if (baseUrl === null || !URL.canParse(baseUrl)) return undefined
  if (route.test(new URL(baseUrl).pathname)) {
    return `the base URL ${baseUrl} is an endpoint; give the URL above it: ${baseUrl.replace(route, "")}`
  }
  return serverType !== "trl" && new URL(baseUrl).pathname === "/"
    ? `the base URL ${baseUrl} has no path, but OpenAI-compatible servers use /v1: ${withoutSlash(baseUrl)}/v1`
    : undefined
}

const positive = Schema.Int.check(Schema.isGreaterThan(0))
const positiveSeconds = Schema.Finite.check(Schema.isGreaterThan(0))

export const serverFields = {
  serverType: field(
    Schema.Literals(["openai", "vllm", "sglang", "trl"]),
    "openai",
    "server type, used if it cannot be detected; the server is probed for the best way to get exact tokens and logprobs"
  ),
  logprobsMode: field(
    Schema.Literals(["auto", "raw", "tempered", "processed"]),
    "auto",
    "distribution of the server's logprobs: the model's (raw), after temperature (tempered), or also after top-p, top-k and min-p (processed); auto measures it at startup with two tokens"
  ),
  baseUrl: field(
    Schema.NullOr(Address),
    "",
    "server URL, including /v1; if empty, the nodes of the Slurm job, or localhost:9004 to 9007"
  ),
  apiKey: field(
    Schema.NullOr(Schema.String),
    "",
    "API key, sent as a bearer token; if empty, OPENAI_API_KEY for api.openai.com and no key elsewhere"
  ),
  modelName: field(Schema.String, "default", "model to request"),
  adapterPrefix: field(
    Schema.NullOr(Schema.NonEmptyString),
    null,
    "request the newest adapter whose name starts with this prefix; a trainer's weight_sync names them policy-…; if unset, always model_name"
  ),
  tokenizerName: field(
    Schema.String,
    "none",
    "the model's tokenizer, the same for all servers; none means the environment's tokenizer_name"
  ),
  timeout: field(positiveSeconds, 1200, "request timeout, in seconds"),
  numMaxRequestsAtOnce: field(
    positive,
    512,
    "max concurrent training requests; a request for n completions counts once"
  ),
  adaptiveConcurrency: field(
    Schema.Boolean,
    true,
    "send a vLLM server fewer training requests than num_max_requests_at_once while its /metrics report preemptions, or a full KV cache with requests waiting, and more again when it has space"
  ),
  minRequestsAtOnce: field(positive, 8, "min concurrent training requests under adaptive_concurrency"),
  numRequestsForEval: field(positive, 64, "max concurrent evaluation requests"),
  rollingBufferLength: field(positive, 1000, "number of recent requests over which server metrics are computed"),
  nKwargIsIgnored: field(
    Schema.Boolean,
    false,
    "the server returns one completion regardless of n; detected automatically if not set"
  ),
  healthCheck: field(
    Schema.Boolean,
    true,
    "check the health of a failed server before using it again; if false, just retry"
  )
} as const

export const managerFields = {
  slurm: field(Schema.Boolean, false, "use the inference servers on the nodes of this Slurm job"),
  testing: field(Schema.Boolean, false, "use scripted answers instead of a server"),
  maxNCompletions: field(positive, 8, "max completions per request; a larger n is split into several requests"),
  toolCallFormat: field(
    OutputFormat.Setting,
    "auto",
    "format of tool calls and thinking; auto: from the tokenizer's chat template"
  ),
  maxAttempts: field(positive, 8, "max attempts per request, including the first"),
  serverWait: field(
    positiveSeconds,
    300,
    "seconds a request waits for a healthy server; at most 10 if no server was configured"
  )
} as const

const ServerFields = Schema.Struct(serverFields)
export type Server = typeof ServerFields.Type

const ManagerFields = Schema.Struct(managerFields)
export type Manager = typeof ManagerFields.Type

export const server = fromFields(serverFields)
export const manager = fromFields(managerFields)

export interface Resolved {
  readonly servers: ReadonlyArray<Server>
  readonly origin: "given" | "slurm" | "defaults"
}

/** Seconds to wait for a server: less if no server was configured, because perhaps none is meant to be there. */
export const waitOf = (origin: Resolved["origin"], serverWait: number): number =>
  origin === "defaults" ? Math.min(10, serverWait) : serverWait

/** Logged while no server answers. */
export const waiting =
  "waiting for an inference server; start one (vLLM, SGLang or npx @atropos/cli policy --model …), or set another address (--openai.base_url)"

const defaultUrls = [9004, 9005, 9006, 9007].map((port) => `http://localhost:${port}/v1`)
const withUrl = (template: Server, baseUrl: string): Server => ({ ...template, baseUrl })
const withoutSlash = (url: string): string => url.replace(/(?<!\/)\/+$/, "")

const openAiKey = Config.NonEmptyString("OPENAI_API_KEY").pipe(Config.withDefault(""), Effect.orDie)

/**
 * Fills in what an address implies: no trailing slash, the hosted API without an address, its key from the environment.
 */
const complete = Effect.fn("ServerSettings.complete")(function* (given: Server) {
  const baseUrl = withoutSlash(given.baseUrl || "https://api.openai.com/v1")
  if (given.apiKey || !isOfficial(baseUrl)) return { ...given, baseUrl, apiKey: given.apiKey ?? "" }
  return { ...given, baseUrl, apiKey: yield* openAiKey }
})

/** True for OpenAI's own service, which has its own names for some options. */
export const isOfficial = (baseUrl: string): boolean =>
  URL.canParse(baseUrl) && new URL(baseUrl).hostname === "api.openai.com"

/**
 * Resolves a configuration to servers. A list: those, or with `slurm` the nodes of the job with its first entry as the
 * template; one with an address: that one (with `slurm`: the template); one without, or none: the nodes of the Slurm
 * job if there are at least two, else localhost:9004 to 9007.
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
