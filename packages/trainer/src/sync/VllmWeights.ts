/**
 * Replaces all weights of a vLLM server from a folder in hub format, by the endpoints that VLLM_SERVER_DEV_MODE=1
 * enables (0.32, 0.33): waits for running requests, or aborts them after a time limit, while new ones wait (from 0.33
 * on they get 503 and must retry); reloads the weights in place (`/collective_rpc`), resets the prefix cache, and
 * resumes.
 *
 * The server's label states its version, or that others are being loaded (`WeightLabel`), and becomes a version's name
 * only when the server returns the trainer's logprobs for a known sequence. A server that failed to read a folder has
 * lost its weights and dies at the next request, so it stays paused until the next attempt.
 */
import * as WeightLabel from "@atropos/core/inference/backend/WeightLabel"
import { Duration, Effect, Option, Schema } from "effect"
import * as HttpTarget from "./HttpTarget.ts"
import * as Probes from "./Probes.ts"
import { type Target, TargetError } from "./Target.ts"

const infoPath = "/weight_info"
const needs =
  ". Pushing all weights needs a vLLM with /weight_info, /pause and /collective_rpc: start it with VLLM_SERVER_DEV_MODE=1"

const decodeInfo = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Struct({ weight_version: Schema.String })))
const decodeReset = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Struct({ success: Schema.Boolean })))

export interface Options extends HttpTarget.Options {
  /** Time for running requests before they are aborted; clients retry them. Default 60 s. */
  readonly drainTime?: Duration.Input
}

export const vllmWeights = Effect.fnUntraced(function* (options: Options) {
  const name = `vllm ${HttpTarget.rootOf(options.url)}`
  const drainTime = Duration.fromInputUnsafe(options.drainTime ?? "60 seconds")
  const post = yield* HttpTarget.poster(name, options)
  const get = yield* HttpTarget.getter(name, options)
  const failed = (message: string, isPermanent = false) => new TargetError({ target: name, message, isPermanent })

  const command = Effect.fnUntraced(function* (path: string, body?: { readonly [key: string]: unknown }) {
    const answer = yield* post(path, body)
    if (HttpTarget.isSuccess(answer)) return answer
    return yield* HttpTarget.refused(name, path, answer, answer.status === 404 ? needs : "")
  })

  const label = Effect.gen(function* () {
    const answer = yield* get(infoPath)
    if (!HttpTarget.isSuccess(answer)) {
      return yield* HttpTarget.refused(name, infoPath, answer, answer.status === 404 ? needs : "", "GET")
    }
    return yield* Option.match(decodeInfo(answer.text), {
      onNone: () => Effect.fail(failed(`GET ${infoPath} answered without weight_version: ${answer.reason}`)),
      onSome: ({ weight_version: text }) => Effect.succeed(WeightLabel.read(text))
    })
  })

  const labelled = (label: string) => command("/update_weight_version", { new_version: label })

  /** Requests that take too long are aborted; their clients retry. */
  const pause = command("/pause?mode=wait").pipe(
    Effect.timeoutOrElse({
      duration: drainTime,
      orElse: () =>
        Effect.andThen(
          Effect.logInfo("aborted running requests for new weights", {
            target: name,
            after: Duration.toSeconds(drainTime)
          }),
          command("/pause?mode=abort")
        )
    })
  )

  /** Compares the server's logprobs of the probe sequence with the trainer's. */
  const look = Effect.fnUntraced(function* (probe: Probes.Probe, tolerance: number) {
    const path = "/v1/completions"
    const answer = yield* command(path, Probes.question(probe))
    const difference = Probes.difference(probe, answer.text)
    if (difference === undefined) {
      return yield* failed(`POST ${path} answered without logprobs of the prompt: ${answer.text.slice(0, 200)}`)
    }
    if (difference > tolerance) {
      return yield* failed(
        `its weights differ from those pushed: logprobs of a known sequence differ by ${difference.toPrecision(3)} nats ` +
          `on average, at most ${tolerance} is allowed. It was started with a model other than the trained one, or ` +
          "does not reload all weights: vLLM 0.32 on a CPU keeps the output matrix if embeddings are tied",
        true
      )
    }
    return difference
  })

  /** Depends on the server's numeric precision. */
  const tolerance = Effect.map(get("/server_info?config_format=json"), ({ text }) => Probes.toleranceOf(text))

  /** From here on the old weights are lost. */
  const replace = Effect.fnUntraced(function* (next: string, folder: string) {
    const path = "/collective_rpc"
    const answer = yield* post(path, { method: "reload_weights", kwargs: { weights_path: folder } })
    yield* labelled(WeightLabel.arriving(next))
    if (!HttpTarget.isSuccess(answer)) {
      return yield* HttpTarget.refused(
        name,
        path,
        answer,
        `. It could not read ${folder}, has lost its weights and is paused until it loads others: the folder must be readable on its machine`
      )
    }
    const { reason, text } = yield* command("/reset_prefix_cache")
    if (!Option.exists(decodeReset(text), ({ success }) => success)) {
      return yield* failed(`POST /reset_prefix_cache: its prefix cache is still of the old weights: ${reason}`)
    }
    yield* command("/resume")
  })

  return {
    name,
    check: Effect.asVoid(label),
    has: (target) => Effect.map(label, (now) => now.isSettled && now.name === target),
    load: Effect.fn("VllmWeights.load")(function* ({ folder, name: next, probe }, isRepeated) {
      const now = yield* label
      // The previous attempt completed, but its response was lost.
      if (isRepeated && now.isSettled && now.name === next) return
      const at = yield* folder
      const allowed = yield* tolerance
      yield* labelled(now.name === undefined ? WeightLabel.arriving(next) : WeightLabel.leaving(now.name, next))
      yield* pause.pipe(
        // Nothing has changed yet.
        Effect.onError(() =>
          now.name === undefined ? Effect.void : Effect.ignore(Effect.andThen(command("/resume"), labelled(now.name)))
        )
      )
      yield* Effect.uninterruptible(replace(next, at))
      if (probe !== undefined) {
        const difference = yield* look(probe, allowed)
        yield* Effect.logInfo("weights verified", { target: name, name: next, difference })
      }
      yield* labelled(next)
    }),
    // A server has one version of all weights.
    unload: () => Effect.void
  } satisfies Target
})
