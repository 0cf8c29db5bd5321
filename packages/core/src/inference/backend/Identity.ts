/**
 * Describes an inference server and its capabilities, as found by `Identify` or taken from settings: which requests and
 * parameters it is sent, and its logprobs mode. docs/training.md has the table, test/fixtures/servers the servers' own
 * answers.
 */
import * as Docs from "../../base/Docs.ts"
import type { LogprobsMode } from "../../trajectory/Sampling.ts"
import type * as TokenizerIdentity from "../tokenizer/TokenizerIdentity.ts"
import type { Server } from "./ServerSettings.ts"

export type Kind =
  | "vllm" // stock vLLM, including `trl vllm-serve` from TRL 1.13 on
  | "patched" // the original's server around vLLM's engine (example_trainer/vllm_api_server.py)
  | "policy" // `atropos policy`
  | "sglang"
  | "trl" // `trl vllm-serve` up to TRL 1.12, which has its own endpoints
  | "transformers" // `transformers serve`
  | "openai" // any other server with OpenAI's routes

export interface Identity {
  readonly kind: Kind
  /** As reported by the server. */
  readonly version: string | undefined
  /** The token-level endpoint; absent: prompts are sent as text, and exact ids are at best returned with the text. */
  readonly tokens: string | undefined
  /** The request parameter that adds ids to completions. */
  readonly idsBy: "return_token_ids" | "return_tokens_as_token_ids" | undefined
  /** Logprobs mode of sampled tokens; absent if none or the mode is unknown. */
  readonly logprobs: LogprobsMode | undefined
  readonly promptLogprobs: boolean
  /** Source of an answer's policy version. */
  readonly versions: "stated" | "adapter" | "weights" | "none"
  /** True if answers can state which weights sampled each token (`weight_versions`). Absent: no. */
  readonly hasWeightSpans?: boolean
  /** True if adapters can be loaded at run time; undefined: unknown. */
  readonly adapters: boolean | undefined
  /** The parser of tool calls; with exact tokens they are parsed here. */
  readonly tools: "server" | "none"
  /** True if one request may ask for several completions. */
  readonly takesN: boolean
  /** Tokens of prompt and answer together. */
  readonly contextLength: number | undefined
  /** Models it lists, including adapters; empty if it lists none, or not reliably. */
  readonly models: ReadonlyArray<string>
  /** The name to request; absent: none is sent. */
  readonly modelName: string | undefined
  /** The model's tokenizer, if the server names it. */
  readonly tokenizer?: TokenizerIdentity.TokenizerIdentity | undefined
  /** Request fields of `trl vllm-serve`, which vary by version. */
  readonly fields: ReadonlySet<string>
}

const names: { readonly [K in Kind]: string } = {
  vllm: "vLLM",
  patched: "the original's vLLM server",
  policy: "atropos policy",
  sglang: "SGLang",
  trl: "trl vllm-serve",
  transformers: "transformers serve",
  openai: "an OpenAI-compatible server"
}

export const nameOf = ({ kind, version }: Pick<Identity, "kind" | "version">): string =>
  version === undefined ? names[kind] : `${names[kind]} ${version}`

/** Server kinds of each `server_type`. */
const typed: { readonly [T in Server["serverType"]]: ReadonlyArray<Kind> } = {
  // The default: not configured.
  openai: ["vllm", "patched", "policy", "sglang", "trl", "transformers", "openai"],
  vllm: ["vllm", "patched", "policy"],
  sglang: ["sglang"],
  trl: ["trl", "vllm"]
}

export const isOfType = (kind: Kind, serverType: Server["serverType"]): boolean => typed[serverType].includes(kind)

type Nature = Pick<Identity, "tokens" | "idsBy" | "logprobs" | "promptLogprobs" | "versions" | "adapters" | "tools">

const plain: Nature = {
  tokens: undefined,
  idsBy: undefined,
  logprobs: undefined,
  promptLogprobs: false,
  versions: "none",
  adapters: undefined,
  tools: "server"
}

/** Properties of a kind before any request. */
const natures: { readonly [K in Kind]: Nature } = {
  vllm: {
    ...plain,
    tokens: "/v1/completions",
    idsBy: "return_token_ids",
    logprobs: "raw",
    promptLogprobs: true,
    versions: "adapter"
  },
  patched: { ...plain, tokens: "/generate", logprobs: "raw", promptLogprobs: true, adapters: false },
  policy: {
    ...plain,
    tokens: "/generate",
    idsBy: "return_token_ids",
    promptLogprobs: true,
    versions: "stated",
    adapters: true
  },
  sglang: { ...plain, tokens: "/generate", logprobs: "tempered", versions: "adapter" },
  trl: { ...plain, tokens: "/generate/", logprobs: "raw", adapters: false, tools: "none" },
  transformers: { ...plain, adapters: false },
  openai: plain
}

export const base = (kind: Kind, modelName: string): Identity => ({
  ...natures[kind],
  kind,
  version: undefined,
  takesN: kind !== "transformers",
  contextLength: undefined,
  models: [],
  modelName,
  fields: new Set()
})

/** Alternatives to a server without ids and logprobs. */
const instead = `vllm serve, SGLang or atropos policy provide them (${Docs.path("training.md")} has a command for each)`

/** Describes what rollouts of a server will lack, before they are made; undefined if nothing. */
export const shortcoming = (server: string, identity: Identity): string | undefined => {
  const { idsBy, kind, logprobs, tokens } = identity
  if (tokens !== undefined && (logprobs !== undefined || kind === "policy")) return undefined
  if (kind === "trl" && logprobs !== undefined) return undefined
  const missing = tokens === undefined && idsBy === undefined ? "neither token ids nor logprobs" : "no logprobs"
  return (
    `${server} (${nameOf(identity)}) reports ${missing}: training on its samples has no behaviour logprobs` +
    `${tokens === undefined && idsBy === undefined ? ", retokenizes text" : ""}, and cannot detect a sampler-trainer mismatch. ${instead}`
  )
}

const ofVersions: { readonly [V in Identity["versions"]]: string } = {
  stated: "stated",
  adapter: "by the adapter's name",
  weights: "by /weight_info",
  none: "no"
}

/** One human-readable line: `vLLM 0.33.0, ids and raw logprobs by /v1/completions, …`. */
export const describe = (identity: Identity): string => {
  const { adapters, hasWeightSpans = false, idsBy, logprobs, tokens, tools, versions } = identity
  const isBeside = idsBy !== undefined || (identity.kind === "trl" && logprobs !== undefined)
  const ids = tokens !== undefined ? `ids: yes (${tokens})` : isBeside ? "ids: in addition to the text" : "ids: no"
  const kindOfLogprobs = identity.kind === "policy" ? "tempered, as reported" : logprobs
  return [
    nameOf(identity),
    ids,
    `logprobs: ${kindOfLogprobs ?? "no"}`,
    `policy version: ${ofVersions[versions]}${hasWeightSpans ? ", per token" : ""}`,
    `adapters: ${adapters === undefined ? "not known" : adapters ? "yes" : "no"}`,
    `tool calls: ${tokens !== undefined ? "parsed by the client" : tools === "none" ? "no" : "parsed by the server"}`
  ].join(", ")
}
