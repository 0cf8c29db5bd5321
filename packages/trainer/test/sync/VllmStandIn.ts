/**
 * A stand-in of `vllm serve` with VLLM_SERVER_DEV_MODE=1, as strict as vLLM 0.32.0 was on a CPU; its answers and errors
 * are recorded from there. Paused it answers no generation until it is resumed; vLLM 0.33 refuses it with 503, in the
 * words of its source (`isRefusing`). A folder that it cannot read costs it its weights: it can be given others, and
 * dies at the first generation without any.
 *
 * Weights are one number, in `weights.json` of a folder; the logprob of every token is minus that number.
 */
import { readFileSync } from "node:fs"
import { Effect } from "effect"
import * as TestServer from "../../../core/test/inference/TestServer.ts"

const paths = [
  "/collective_rpc",
  "/pause",
  "/resume",
  "/reset_prefix_cache",
  "/update_weight_version",
  "/weight_info",
  "/v1/completions",
  "/v1/models",
  "/version"
]

const failure = (status: number, message: string, type: string): TestServer.Reply => ({
  status,
  json: { error: { message, type, param: null, code: status } }
})
const absent: TestServer.Reply = { status: 404, json: { detail: "Not Found" } }
const dead = failure(
  500,
  "EngineCore encountered an issue. See stack trace (above) for the root cause.",
  "InternalServerError"
)

export interface Options {
  /** Without the dev mode. */
  readonly isStock?: boolean
  /** What it computes in. */
  readonly dtype?: string
  /** Paused it refuses generations, as vLLM does from 0.33 on, instead of letting them wait. */
  readonly isRefusing?: boolean
}

const refusal = failure(503, "Generation is paused. Please retry after it resumes.", "ServiceUnavailableError")

export const serve = ({ dtype = "torch.float32", isRefusing = false, isStock = false }: Options = {}) =>
  Effect.gen(function* () {
    let label = "default"
    let weights: number | undefined = 1
    let isPaused = false
    let isDead = false
    let refused = 0
    /** Loads nothing, and says that it has. */
    let isDeaf = false
    /** Generations run until they are told to end. */
    let isHeld = false
    let running: Array<(finish: "stop" | "abort") => void> = []
    let onIdle: Array<() => void> = []
    let onResume: Array<() => void> = []

    const end = (finish: "stop" | "abort"): void => {
      for (const one of running.splice(0)) one(finish)
    }
    const idle = () => new Promise<void>((resolve) => (running.length === 0 ? resolve() : onIdle.push(resolve)))
    const resumed = () => new Promise<void>((resolve) => (isPaused ? onResume.push(resolve) : resolve()))

    const generated = async (body: TestServer.Asked["body"]): Promise<TestServer.Reply> => {
      if (isPaused && isRefusing) {
        refused++
        return refusal
      }
      await resumed()
      if (weights === undefined) isDead = true
      if (isDead) return dead
      const value = -weights!
      const prompt = body["prompt"] as ReadonlyArray<number>
      const isLook = body["prompt_logprobs"] !== undefined
      const finish =
        isHeld && !isLook ? await new Promise<"stop" | "abort">((resolve) => running.push(resolve)) : ("stop" as const)
      if (running.length === 0) for (const one of onIdle.splice(0)) one()
      const position = (id: number) => ({ [id]: { logprob: value, rank: 1, decoded_token: "x" } })
      return {
        json: {
          id: "cmpl-1",
          object: "text_completion",
          model: "tiny",
          choices: [
            {
              index: 0,
              text: "\u0007",
              finish_reason: finish,
              token_ids: [7],
              logprobs: { tokens: ["\u0007"], token_logprobs: [value], text_offset: [0], top_logprobs: null },
              prompt_logprobs: isLook ? [null, ...prompt.slice(1).map(position)] : null
            }
          ]
        }
      }
    }

    const reloaded = (folder: string): TestServer.Reply => {
      if (isDeaf) return { json: { results: [null] } }
      try {
        weights = JSON.parse(readFileSync(`${folder}/weights.json`, "utf8")) as number
        return { json: { results: [null] } }
      } catch {
        weights = undefined
        return failure(
          500,
          `Call to collective_rpc method failed: Worker failed with error 'Repo id must be in the form 'repo_name' or 'namespace/repo_name': '${folder}'. Use \`repo_type\` argument if needed.', please check the stack trace above for the root cause`,
          "InternalServerError"
        )
      }
    }

    const paused = async (mode: string): Promise<TestServer.Reply> => {
      isPaused = true
      if (mode === "abort") end("abort")
      await idle()
      return { json: { status: "paused" } }
    }

    const dev = (path: string, mode: string, body: TestServer.Asked["body"]) => {
      switch (path) {
        case "/weight_info":
          return { json: { weight_version: label } }
        case "/update_weight_version":
          label = String(body["new_version"])
          return { json: { success: true, new_version: label } }
        case "/pause":
          return paused(mode)
        case "/resume":
          isPaused = false
          for (const one of onResume.splice(0)) one()
          return { json: { status: "resumed" } }
        case "/reset_prefix_cache":
          return { json: { success: true } }
        case "/server_info":
          return { json: { vllm_config: { model_config: { dtype, logprobs_mode: "processed_logprobs" } } } }
        case "/collective_rpc": {
          const { kwargs, method } = body as { method: string; kwargs: { weights_path: string } }
          return method === "reload_weights"
            ? reloaded(kwargs.weights_path)
            : failure(500, `'CPUWorker' object has no attribute '${method}'`, "InternalServerError")
        }
        default:
          return absent
      }
    }

    const server = yield* TestServer.make(
      ({ body, path: asked }): TestServer.Reply | Promise<TestServer.Reply> => {
        const [path = "", query = ""] = asked.split("?")
        if (isDead) return dead
        if (path === "/v1/models") return { json: { data: [{ id: "tiny", owned_by: "vllm", max_model_len: 512 }] } }
        if (path === "/version") return { json: { version: isRefusing ? "0.33.0" : "0.32.0" } }
        if (path === "/openapi.json") {
          const there = isStock ? paths.filter((one) => one.startsWith("/v")) : paths
          return { json: { paths: Object.fromEntries(there.map((one) => [one, {}])) } }
        }
        if (path === "/v1/completions") return generated(body)
        return isStock ? absent : dev(path, new URLSearchParams(query).get("mode") ?? "abort", body)
      },
      { isProbed: true }
    )
    return {
      ...server,
      label: () => label,
      isPaused: () => isPaused,
      running: () => running.length,
      /** Generations that it refused while it was paused. */
      refused: () => refused,
      /** Paused and resumed by somebody who labels nothing. */
      pause: () => void (isPaused = true),
      resume: () => void (isPaused = false),
      hold: () => void (isHeld = true),
      /** Ends what runs; what comes later ends at once. */
      finish: () => {
        isHeld = false
        end("stop")
      },
      ignoreFolders: (isSo: boolean) => void (isDeaf = isSo),
      /** As a program that was started anew. */
      restart: () => {
        end("abort")
        ;[label, weights, isPaused, isDead, running, onIdle, onResume] = ["default", 1, false, false, [], [], []]
      },
      /** What it was told to do, in order. */
      told: () =>
        server.asked
          .filter(({ method }) => method === "POST")
          .map(
            ({ body, path }) => `${path}${path === "/update_weight_version" ? ` ${String(body["new_version"])}` : ""}`
          )
    }
  })
