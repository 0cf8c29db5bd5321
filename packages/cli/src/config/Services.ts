/** The services that a run of an environment needs, as its settings say, and the environment itself on top of them. */
import { Dataset, Environment, MathVerifier, ServerManager, Tokenizer } from "@atropos/core"
import * as Reasoning from "@atropos/core/Reasoning"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Effect, Layer } from "effect"
import type { Command } from "effect/cli"
import type { HttpClient } from "effect/http"
import { CommandFailed, type Failure, UsageError } from "../Failure.ts"
import type { RunSettings } from "./RunSettings.ts"

/** What `provide` gives. */
export type Provided =
  | Environment.Environment
  | ServerManager.ServerManager
  | Tokenizer.Tokenizer
  | Dataset.Dataset
  | MathVerifier.MathVerifier
  | HttpClient.HttpClient

/** Where completions come from: the configured servers, or nowhere (`validate` asks none, and needs no tokenizer's download). */
export type Inference = "servers" | "none"

/** Servers, tokenizer, data sets and verifiers of some settings. */
const services = ({ common, manager, servers }: RunSettings, inference: Inference) => {
  const policy =
    inference === "none"
      ? ServerManager.layerScripted([""])
      : ServerManager.layer({ ...manager, servers, reasoning: Reasoning.fromSettings(common) })
  return Layer.mergeAll(policy, Dataset.layer, MathVerifier.layer()).pipe(
    Layer.provideMerge(inference === "none" ? Tokenizer.layerBytes : Tokenizer.layerNamed(common.tokenizerName)),
    Layer.provideMerge(NodeHttpClient.layerUndici)
  )
}

/** The environment with all it needs. */
export const layer = (settings: RunSettings, inference: Inference = "servers") =>
  settings.chosen.environment.fromEncoded(settings.given).pipe(Layer.provideMerge(services(settings, inference)))

const messageOf = (error: unknown): string =>
  error instanceof Error && error.message !== "" ? error.message : String(error)

/** An error of whatever boundary as one of the command's. */
export const toFailure = (error: unknown): Failure =>
  error instanceof UsageError || error instanceof CommandFailed
    ? error
    : new CommandFailed({ message: messageOf(error), cause: error })

/** Runs an effect with the environment of some settings; whatever fails is told in one line. */
export const provide =
  (settings: RunSettings, inference: Inference = "servers") =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, Failure, Exclude<R, Provided> | Command.Environment> =>
    effect.pipe(Effect.provide(layer(settings, inference)), Effect.mapError(toFailure))
