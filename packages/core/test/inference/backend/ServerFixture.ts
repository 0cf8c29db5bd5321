/**
 * A server on the loopback that answers with what a real server's own response classes made, and takes only what its
 * own request classes take (test/fixtures/servers, made by scripts/make-server-fixtures.py): every body is checked
 * against the class's JSON Schema, and a field that the class does not have is refused, as some servers do and others
 * ought to.
 */
import { readFileSync } from "node:fs"
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js"
import { Effect, Schema } from "effect"
import type { LogprobsMode } from "../../../src/trajectory/Sampling.ts"
import * as Tokenizer from "../../../src/inference/tokenizer/Tokenizer.ts"
import * as TestServer from "../TestServer.ts"

const Answer = Schema.Struct({
  status: Schema.Int,
  json: Schema.optionalKey(Schema.Unknown),
  text: Schema.optionalKey(Schema.String)
})
const Fixture = Schema.Struct({
  server: Schema.String,
  version: Schema.String,
  unknownFields: Schema.Literals(["ignored", "refused"]),
  requests: Schema.Record(Schema.String, Schema.Record(Schema.String, Schema.Unknown)),
  answers: Schema.Record(Schema.String, Schema.Unknown),
  /** What the server's own classes made of the recorded bodies. */
  told: Schema.optionalKey(Schema.Record(Schema.String, Schema.Record(Schema.String, Schema.NullOr(Schema.Finite))))
})
export type Fixture = typeof Fixture.Type

const folder = new URL("../../fixtures/servers/", import.meta.url)
const decodeFixture = Schema.decodeUnknownSync(Schema.fromJsonString(Fixture))
const decodeAnswer = Schema.decodeUnknownSync(Answer)

const fixtures = new Map<string, Fixture>()

export const read = (name: string): Fixture => {
  const fixture = fixtures.get(name) ?? decodeFixture(readFileSync(new URL(`${name}.json`, folder), "utf8"))
  fixtures.set(name, fixture)
  return fixture
}

/** The bodies that are put through the servers' own classes when the fixtures are made. */
export const recordedBodies = Schema.decodeSync(
  Schema.fromJsonString(
    Schema.Record(
      Schema.String,
      Schema.Record(Schema.String, Schema.Tuple([Schema.String, Schema.Record(Schema.String, Schema.Unknown)]))
    )
  )
)(readFileSync(new URL("requests.json", folder), "utf8"))

/** Made once for each schema: it takes a tenth of a second. */
const checks = new WeakMap<object, ValidateFunction>()
const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true, code: { optimize: false } })

const checkOf = (schema: object): ValidateFunction => {
  const check = checks.get(schema) ?? ajv.compile({ ...schema, additionalProperties: false })
  checks.set(schema, check)
  return check
}

/** What a server of this kind would say of a body that its class refuses; nothing of one that it takes. */
export const checker = ({ requests }: Fixture) => {
  return (route: string, body: unknown): string | undefined => {
    const schema = requests[route]
    if (schema === undefined) return `there is no ${route}`
    const check = checkOf(schema)
    if (check(body)) return undefined
    return ajv.errorsText(check.errors) + ` ${JSON.stringify(check.errors?.map(({ params }) => params))}`
  }
}

export interface Options {
  /** What its logprobs are of. Default: raw. */
  readonly mode?: LogprobsMode
  /** Bearer key that it wants. */
  readonly apiKey?: string
  /** Paths that it has not, though its version may. */
  readonly without?: ReadonlyArray<string>
  /** No `/openapi.json`: it was started without. */
  readonly isTaciturn?: boolean
}

type Json = { readonly [key: string]: unknown }

/** Logits of the likeliest token and of another one: what a model makes of the measuring prompt. */
const logits = [1.5, 0]

const likeliest = (temperature: number, mode: LogprobsMode): number => {
  if (mode === "processed") return 0
  const scaled = logits.map((one) => one / (mode === "tempered" ? temperature : 1))
  return scaled[0]! - Math.log(scaled.reduce((sum, one) => sum + Math.exp(one), 0))
}

/** Of the first choice of each answer. */
const tokensOfFirst = 2

/** The first choice alone where one is asked for; its first token alone, with this logprob, where one token is. */
const cut = (answer: unknown, n: number, logprob: number | undefined): unknown => {
  const shorten = (value: unknown, key: string): unknown => {
    const isChoices = ["choices", "completion_ids", "logprob_token_ids", "finish_reasons", "prompt_ids"].includes(key)
    if (Array.isArray(value)) {
      const list = isChoices || (key === "logprobs" && value.length === 2) ? value.slice(0, n) : value
      return list.map((one) => shorten(one, `${key}[]`))
    }
    if (typeof value !== "object" || value === null) return value
    return Object.fromEntries(
      Object.entries(value).map(([name, part]) => [
        name,
        name === "completion_tokens" && n === 1 ? Math.min(part, tokensOfFirst) : shorten(part, name)
      ])
    )
  }
  const shortened = Array.isArray(answer) ? (n === 1 ? answer[0] : answer) : shorten(answer, "")
  return logprob === undefined ? shortened : one(shortened, logprob)
}

/** An answer whose ids of the prompt, where it has some, and their count are those of this one in bytes. */
const withPromptIds = (value: unknown, prompt: string): unknown => {
  if (Array.isArray(value)) return value.map((part) => withPromptIds(part, prompt))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, part]): [string, unknown] =>
      name === "prompt_token_ids" && Array.isArray(part)
        ? [name, Tokenizer.bytes.encode(prompt)]
        : name === "prompt_ids" && Array.isArray(part)
          ? [name, part.map(() => Tokenizer.bytes.encode(prompt))]
          : name === "prompt_tokens" && typeof part === "number"
            ? [name, Tokenizer.bytes.encode(prompt).length]
            : [name, withPromptIds(part, prompt)]
    )
  )
}

/** An answer of one token: lists of ids and logprobs have one element. */
const one = (value: unknown, logprob: number): unknown => {
  if (Array.isArray(value)) return value.map((part) => one(part, logprob))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, part]): [string, unknown] => {
      if (name === "logprob") return [name, logprob]
      if (name === "completion_tokens") return [name, 1]
      if (name === "text" && typeof part === "string") return [name, part.slice(0, 1)]
      if (name === "token_logprobs") return [name, [logprob]]
      if (name === "logprobs" && Array.isArray(part))
        return [name, [[Array.isArray(part[0]?.[0]) ? [logprob] : logprob]]]
      if (name === "output_token_logprobs" && Array.isArray(part)) return [name, [[logprob, part[0]?.[1], null]]]
      if (name === "completion_ids" && Array.isArray(part)) return [name, [part[0].slice(0, 1)]]
      if (["token_ids", "tokens", "content"].includes(name) && Array.isArray(part)) {
        return [name, part.slice(0, 1).map((first) => one(first, logprob))]
      }
      return [name, one(part, logprob)]
    })
  )
}

export const serve = (fixture: Fixture, { apiKey, isTaciturn = false, mode = "raw", without = [] }: Options = {}) => {
  const { answers, requests, server: kind } = fixture
  const check = checker(fixture)
  const paths = (answers["paths"] as ReadonlyArray<string>).filter((path) => !without.includes(path))
  const loaded: Array<string> = []
  const schemas = Object.fromEntries(
    Object.entries((answers["components"] ?? {}) as Json).map(([name, schema]) => [name, schema])
  )
  const models = () => {
    const { data, ...list } = (answers["models"] ?? { data: [] }) as { readonly data: ReadonlyArray<Json> }
    const adapters = loaded.map((id) => ({ ...data[0], id, root: `/adapters/${id}`, parent: data[0]?.["id"] ?? null }))
    return { ...list, data: [...data, ...adapters] }
  }
  const reply = (name: string, adapter: string): TestServer.Reply => {
    const { json, status, text } = decodeAnswer(
      JSON.parse(JSON.stringify(answers[name]).replaceAll("policy-r-v1", adapter))
    )
    return json === undefined ? { status, text: text ?? "" } : { status, json }
  }
  const adapter = (path: string, name: string): TestServer.Reply => {
    const isThere = loaded.includes(name)
    if (path.includes("unload")) {
      if (!isThere) return reply("unloadedTwice", name)
      loaded.splice(loaded.indexOf(name), 1)
      return reply("unloaded", name)
    }
    if (isThere) return reply("loadedTwice", name)
    loaded.push(name)
    return reply("loaded", name)
  }
  const generated = (path: string, body: Json): TestServer.Reply => {
    const params = (body["sampling_params"] ?? body) as Json
    // What vLLM 0.32 says; older ones take any.
    if (kind.startsWith("vllm") && Number(params["temperature"] ?? 0) > 2) {
      const message = `temperature must be in [0, 2], got ${String(params["temperature"])}.`
      return { status: 400, json: { error: { message, type: "BadRequestError", param: "temperature", code: 400 } } }
    }
    const isOne = body["prompt_logprobs"] === undefined && (params["max_tokens"] ?? params["max_new_tokens"]) === 1
    const logprob = isOne ? likeliest(Number(params["temperature"] ?? 1), mode) : undefined
    const template =
      path === "/inference/v1/generate"
        ? "inference"
        : body["prompt_logprobs"] !== undefined
          ? "promptLogprobs"
          : ({ "/v1/chat/completions": "chat", "/v1/completions": "completions" }[path] ?? "generate")
    const answer = cut(answers[template], Number(params["n"] ?? 1), logprob)
    // vLLM's, SGLang's and TRL's words for it.
    const prompt = body["prompt"] ?? body["text"] ?? (body["prompts"] as ReadonlyArray<unknown> | undefined)?.[0]
    return { json: typeof prompt === "string" ? withPromptIds(answer, prompt) : answer }
  }

  return Effect.map(
    TestServer.make(
      ({ body, headers, method, path: asked }) => {
        const path = asked.split("?")[0]!
        if (apiKey !== undefined && headers.authorization !== `Bearer ${apiKey}`) {
          return { status: 401, json: { error: "Unauthorized" } }
        }
        if (method === "GET") {
          if (path === "/openapi.json" && !isTaciturn) {
            return { json: { paths: Object.fromEntries(paths.map((one) => [one, {}])), components: { schemas } } }
          }
          if (path === "/v1/models" && answers["models"] !== undefined) return { json: models() }
          if (path === "/version" && kind === "vllm") return { json: answers["version"] }
          if (paths.includes(path) && path.endsWith("server_info")) return { json: answers["serverInfo"] }
          if (paths.includes(path) && path.includes("health")) return { json: {} }
          return { status: 404, json: { detail: "Not Found" } }
        }
        if (without.includes(path) || requests[path] === undefined)
          return { status: 404, json: { detail: "Not Found" } }
        const problem = check(path, body)
        if (problem !== undefined) return { status: 422, json: { error: { message: problem } } }
        if (path.includes("lora_adapter")) return adapter(path, String(body["lora_name"]))
        const model = body["model"]
        const known = models().data.map(({ id }) => id)
        return kind === "vllm" && typeof model === "string" && !known.includes(model)
          ? { status: 404, json: { error: { message: `The model \`${model}\` does not exist.` } } }
          : generated(path, body)
      },
      { isProbed: true }
    ),
    (server) => ({ ...server, loaded, posts: () => server.asked.filter(({ method }) => method === "POST") })
  )
}
