/** Builds the services an environment's run needs from its settings, and the environment on top of them. */
import { TrainerError } from "@atropos/trainer/learn/TrainerError"
import { Dataset, Environment, ServerManager, Tokenizer } from "@atropos/core"
import { Driven, Judge, MathVerifier, Sandbox, Teacher, Opponent } from "@atropos/envs"
import type { Script } from "@atropos/core/inference/backend/Scripted"
import * as ScriptedCalls from "@atropos/core/inference/backend/ScriptedCalls"
import * as Reason from "@atropos/core/base/Reason"
import * as ServedTokenizer from "@atropos/core/inference/backend/ServedTokenizer"
import * as SampledWith from "@atropos/core/inference/SampledWith"
import * as Reasoning from "@atropos/core/inference/backend/Reasoning"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Effect, Layer, Option } from "effect"
import type { Command } from "effect/cli"
import type { HttpClient } from "effect/http"
import { CommandFailed, type Failure, UsageError } from "../base/Failure.ts"
import * as BundledModel from "./BundledModel.ts"
import type { RunSettings } from "./RunSettings.ts"

export type Provided =
  | Environment.Environment
  | ServerManager.ServerManager
  | Tokenizer.Tokenizer
  | Dataset.Dataset
  | MathVerifier.MathVerifier
  | Judge.Judge
  | Teacher.Teacher
  | Opponent.Opponent
  | Sandbox.Sandbox
  | HttpClient.HttpClient

/**
 * The source of completions: the configured servers ("evaluation": not for training), none (`validate` samples agents
 * with scripted answers at most), an external client that steps the episodes, or a function of the request. Only
 * servers need a tokenizer download.
 */
export type Inference = "servers" | "evaluation" | "none" | "outside" | Extract<Script, (request: never) => unknown>

/** Settings limit programs further: the seconds of python-tests or of a suite. */
const maxProgramMillis = 60_000

/** Services an environment may use in addition to the policy and its tokenizer. */
export const auxiliaryServers = ({ judge, manager, opponent, teacher }: RunSettings) => {
  const { maxAttempts, maxNCompletions, serverWait } = manager
  const asking = { maxAttempts, maxNCompletions, serverWait }
  return Layer.mergeAll(
    Dataset.layer,
    MathVerifier.layer(),
    Judge.layer(judge, asking),
    Teacher.layer(teacher, asking),
    Opponent.layer(opponent, asking),
    Sandbox.layer({ maxMillis: maxProgramMillis }),
    NodeHttpClient.layerUndici
  )
}

/** The default tokenizer was not chosen by the user, so the error names the setting that selects another. */
const tokenizerOf = (name: string, failures: ReadonlyArray<string> = []) =>
  Tokenizer.layerNamed(BundledModel.located(name)).pipe(
    Layer.catchTag("TokenizerError", (error) =>
      Layer.effect(
        Tokenizer.Tokenizer,
        new CommandFailed({
          message: `${failures.length === 0 ? "" : `no inference server reports its tokenizer (${failures.join("; ")}), and the default cannot be loaded: `}the tokenizer ${name} (--env.tokenizer_name): ${error.message}. Give your policy's tokenizer, a folder or a hub id; "bytes" needs no download`,
          cause: error
        })
      )
    )
  )

/**
 * The configured tokenizer. If none is configured, that of the server's model, if the server names it and it is found
 * here.
 */
const policyTokenizer = ({ common, input, manager, servers }: RunSettings) => {
  const named = tokenizerOf(common.tokenizerName)
  const isNamed = [servers].flat().some(({ tokenizerName }) => tokenizerName !== "none")
  if (isNamed || input["tokenizer_name"] !== undefined) return named
  return Layer.unwrap(
    Effect.map(ServedTokenizer.find(servers, manager), ({ failures, tokenizer }) =>
      Option.match(tokenizer, {
        onNone: () => tokenizerOf(common.tokenizerName, failures),
        onSome: ({ name }) =>
          Tokenizer.layerNamed(BundledModel.located(name)).pipe(
            Layer.tap(() => Effect.logInfo("using the tokenizer reported by the server", { tokenizer: name })),
            Layer.catchTag("TokenizerError", () => named)
          )
      })
    )
  )
}

const services = (settings: RunSettings, inference: Inference) => {
  const { common, input, manager, servers } = settings
  // An external client trains on its own tokens.
  if (inference === "outside")
    return Layer.mergeAll(Driven.layerPolicy, auxiliaryServers(settings), Tokenizer.layerBytes)
  const isServed = inference === "servers" || inference === "evaluation"
  const policy = isServed
    ? ServerManager.layer({
        ...manager,
        servers,
        reasoning: Reasoning.fromSettings(common),
        isTrainedOn: inference === "servers"
      })
    : ServerManager.layerScripted(inference === "none" ? ScriptedCalls.make(Tokenizer.bytes) : inference)
  // A scripted policy has no vocabulary: no download unless a tokenizer was configured.
  const needsNone = !isServed || (manager.testing && input["tokenizer_name"] === undefined)
  return Layer.mergeAll(policy, auxiliaryServers(settings)).pipe(
    Layer.provideMerge(needsNone ? Tokenizer.layerBytes : policyTokenizer(settings))
  )
}

/** The configured environment. An error in its definition names the `--env` value, which may be a file. */
export const environment = (
  { common, input, selected, word }: RunSettings,
  more: { readonly [name: string]: unknown } = {}
) =>
  selected.environment.fromEncoded({ ...input, ...more }).pipe(
    Layer.provide(SampledWith.layer(common.sampling)),
    Layer.catch((error) =>
      Layer.effect(
        Environment.Environment,
        Effect.fail(
          error instanceof Environment.EnvironmentError && error.cause instanceof Environment.DefinitionFault
            ? new CommandFailed({ message: `--env ${word}: ${Reason.of(error)}`, cause: error })
            : error
        )
      )
    )
  )

export const layer = (settings: RunSettings, inference: Inference = "servers") =>
  environment(settings, inference === "outside" ? { group_size: 1 } : {}).pipe(
    Layer.provideMerge(services(settings, inference))
  )

/** Converts an error of any boundary to a failure of the command. */
export const toFailure = (error: unknown): Failure =>
  error instanceof UsageError || error instanceof CommandFailed
    ? error
    : new CommandFailed({
        message: Reason.of(error),
        cause: error,
        ...(error instanceof TrainerError && error.reason === "stopped" && { exitCode: 3 as const })
      })

/** Runs an effect with the environment of some settings; failures are reported in one line. */
export const provide =
  (settings: RunSettings, inference: Inference = "servers") =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, Failure, Exclude<R, Provided> | Command.Environment> =>
    effect.pipe(Effect.provide(layer(settings, inference)), Effect.mapError(toFailure))
