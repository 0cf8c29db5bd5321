/** The services that a run of an environment needs, as its settings say, and the environment itself on top of them. */
import { TrainerError } from "@atropos/trainer/learn/TrainerError"
import {
  Dataset,
  Driven,
  Environment,
  Judge,
  MathVerifier,
  Sandbox,
  ServerManager,
  Teacher,
  Tokenizer,
  Opponent
} from "@atropos/core"
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

/** What `provide` gives. */
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
 * Where completions come from: the configured servers (those of an evaluation, which nobody trains on), nowhere
 * (`validate` samples agents with scripted answers at most), whoever steps the episodes from outside, or a function of
 * the request. Only servers need a tokenizer's download.
 */
export type Inference = "servers" | "evaluation" | "none" | "outside" | Extract<Script, (request: never) => unknown>

/** Settings say what a program may take: python-tests' seconds, a suite's. */
const longestProgramMillis = 60_000

/** What an environment may ask for beside the policy and its tokenizer. */
export const beside = ({ judge, manager, opponent, teacher }: RunSettings) => {
  const { maxAttempts, maxNCompletions, serverWait } = manager
  const asking = { maxAttempts, maxNCompletions, serverWait }
  return Layer.mergeAll(
    Dataset.layer,
    MathVerifier.layer(),
    Judge.layer(judge, asking),
    Teacher.layer(teacher, asking),
    Opponent.layer(opponent, asking),
    Sandbox.layer({ longestMillis: longestProgramMillis }),
    NodeHttpClient.layerUndici
  )
}

/** A default is nobody's own choice: who lacks its tokenizer is told which setting names another. */
const tokenizerOf = (name: string, failures: ReadonlyArray<string> = []) =>
  Tokenizer.layerNamed(BundledModel.located(name)).pipe(
    Layer.catchTag("TokenizerError", (error) =>
      Layer.effect(
        Tokenizer.Tokenizer,
        new CommandFailed({
          message: `${failures.length === 0 ? "" : `no inference server says which tokenizer it has (${failures.join("; ")}), and the default cannot be loaded: `}the tokenizer ${name} (--env.tokenizer_name): ${error.message}. Give your policy's tokenizer, a folder or a hub id; "bytes" needs no download`,
          cause: error
        })
      )
    )
  )

/**
 * The tokenizer that the settings name. If they name none, that of the server's model, if the server names it and it is
 * found here.
 */
const policyTokenizer = ({ common, given, manager, servers }: RunSettings) => {
  const named = tokenizerOf(common.tokenizerName)
  const isNamed = [servers].flat().some(({ tokenizerName }) => tokenizerName !== "none")
  if (isNamed || given["tokenizer_name"] !== undefined) return named
  return Layer.unwrap(
    Effect.map(ServedTokenizer.find(servers, manager.slurm), ({ failures, tokenizer }) =>
      Option.match(tokenizer, {
        onNone: () => tokenizerOf(common.tokenizerName, failures),
        onSome: ({ name }) =>
          Tokenizer.layerNamed(BundledModel.located(name)).pipe(
            Layer.tap(() => Effect.logInfo("using the tokenizer that the server names", { tokenizer: name })),
            Layer.catchTag("TokenizerError", () => named)
          )
      })
    )
  )
}

/** The policy's servers, its tokenizer, and everything beside them. */
const services = (settings: RunSettings, inference: Inference) => {
  const { common, given, manager, servers } = settings
  // Beside its tokenizer: whoever steps episodes trains on tokens of their own.
  if (inference === "outside") return Layer.mergeAll(Driven.layerPolicy, beside(settings), Tokenizer.layerBytes)
  const isServed = inference === "servers" || inference === "evaluation"
  const policy = isServed
    ? ServerManager.layer({
        ...manager,
        servers,
        reasoning: Reasoning.fromSettings(common),
        isTrainedOn: inference === "servers"
      })
    : ServerManager.layerScripted(inference === "none" ? ScriptedCalls.make(Tokenizer.bytes) : inference)
  // A scripted policy knows no vocabulary: a download would serve nothing, unless it was asked for.
  const needsNone = !isServed || (manager.testing && given["tokenizer_name"] === undefined)
  return Layer.mergeAll(policy, beside(settings)).pipe(
    Layer.provideMerge(needsNone ? Tokenizer.layerBytes : policyTokenizer(settings))
  )
}

/**
 * The environment as it is set. A mistake in its definition is told with the word that named it, which may be a file's.
 */
export const environment = (
  { chosen, common, given, word }: RunSettings,
  more: { readonly [name: string]: unknown } = {}
) =>
  chosen.environment.fromEncoded({ ...given, ...more }).pipe(
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

/** The environment with all it needs. */
export const layer = (settings: RunSettings, inference: Inference = "servers") =>
  environment(settings, inference === "outside" ? { group_size: 1 } : {}).pipe(
    Layer.provideMerge(services(settings, inference))
  )

/** An error of whatever boundary as one of the command's. */
export const toFailure = (error: unknown): Failure =>
  error instanceof UsageError || error instanceof CommandFailed
    ? error
    : new CommandFailed({
        message: Reason.of(error),
        cause: error,
        ...(error instanceof TrainerError && error.reason === "stopped" && { exitCode: 3 as const })
      })

/** Runs an effect with the environment of some settings; whatever fails is told in one line. */
export const provide =
  (settings: RunSettings, inference: Inference = "servers") =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, Failure, Exclude<R, Provided> | Command.Environment> =>
    effect.pipe(Effect.provide(layer(settings, inference)), Effect.mapError(toFailure))
