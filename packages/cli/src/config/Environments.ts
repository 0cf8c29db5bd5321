/**
 * Resolves `--env`: a built-in environment by name, or a file that exports one.
 *
 * A file exports the result of `Environment.layer`, as its default or as `layer`; `servers` may hold the inference
 * servers it was written for (one map or a list, snake_case), `recipe` the way `up` trains a small model on it from
 * scratch.
 */
import type { Dataset, Environment, ServerManager, Tokenizer } from "@atropos/core"
import type { Judge, MathVerifier, Opponent, Sandbox, Teacher } from "@atropos/envs"
import { hint } from "@atropos/core/base/Nearest"
import { registry, type RegistryEntry } from "@atropos/envs"
import {
  type Array as Arr,
  Effect,
  type FileSystem,
  type Layer,
  Option,
  type Path,
  Predicate,
  type Schema
} from "effect"
import type { HttpClient } from "effect/http"
import type { ChildProcessSpawner } from "effect/process"
import { UsageError } from "../base/Failure.ts"
import * as UserFile from "./UserFile.ts"

export type EnvironmentServices =
  | ServerManager.ServerManager
  | Tokenizer.Tokenizer
  | Dataset.Dataset
  | MathVerifier.MathVerifier
  | Judge.Judge
  | Teacher.Teacher
  | Opponent.Opponent
  | Sandbox.Sandbox
  | FileSystem.FileSystem
  | Path.Path
  | HttpClient.HttpClient
  | ChildProcessSpawner.ChildProcessSpawner

/** An `EnvironmentLayer` with its settings type erased. */
export interface RunnableEnvironment {
  readonly environmentName: string
  readonly settings: {
    readonly fields: Schema.Struct.Fields
    readonly decode: (encoded: unknown) => Effect.Effect<unknown, Schema.SchemaError>
  }
  readonly fromEncoded: (settings: unknown) => Layer.Layer<Environment.Environment, unknown, EnvironmentServices>
}

export interface Chosen {
  readonly environment: RunnableEnvironment
  readonly description: string
  /** Family, requirements and licence of a built-in environment; undefined for files. */
  readonly about?: Pick<RegistryEntry, "family" | "needs" | "dataLicence" | "names">
  /** The inference servers the environment was written for, snake_case. */
  readonly servers?: unknown
  /** The recipe for training a small model from scratch, if its file exports one. */
  readonly recipe?: unknown
}

/** One of several environments, with the argument that named it. */
export interface Named {
  readonly word: string
  /** Its weight among the others; if none, that of its settings applies. */
  readonly weight: Option.Option<number>
  readonly selected: Chosen
}

export const builtIn: {
  readonly [name: string]: RegistryEntry & { readonly layer: RunnableEnvironment }
} = registry

export const ofEntry = (entry: (typeof builtIn)[string]): Chosen => ({
  environment: entry.layer,
  description: entry.description,
  about: entry
})

const names = Object.keys(builtIn)

const isEnvironmentLayer = (value: unknown): value is RunnableEnvironment =>
  Predicate.isFunction(value) &&
  Predicate.hasProperty(value, "environmentName") &&
  Predicate.hasProperty(value, "settings") &&
  Predicate.hasProperty(value, "fromEncoded")

const fromFile = Effect.fn("Environments.fromFile")(function* (word: string, named: string) {
  const exported = yield* UserFile.load(named, word)
  const environment = [exported["default"], exported["layer"]].find(isEnvironmentLayer)
  if (environment === undefined) {
    const found = Object.keys(exported).join(", ") || "nothing"
    return yield* new UsageError({
      message: `${named} ${word}: the file must export what defineAgent(…), defineEnvironment(…) or Environment.layer(…) returns, as default or as "layer"; it exports ${found}`
    })
  }
  const selected: Chosen = {
    environment,
    description: `from ${word}`,
    servers: exported["servers"],
    recipe: exported["recipe"]
  }
  return selected
})

/** Resolves an environment; `named` is the flag or argument shown in errors. */
export const choose = Effect.fn("Environments.choose")(function* (word: string, named: string = "--env") {
  const known = builtIn[word]
  if (known !== undefined) return ofEntry(known)
  if (UserFile.isPath(word)) return yield* fromFile(word, named)
  return yield* new UsageError({
    message: `${named} ${word}: unknown environment${hint(word, names) || "."} Available: ${names.join(", ")}. For a file, give its path, for example ./${word}.ts`
  })
})

/** Resolves several environments, each `NAME`, `FILE`, `NAME:WEIGHT` or `FILE:WEIGHT`. */
export const chooseAll = Effect.fn("Environments.chooseAll")(function* (words: Arr.NonEmptyReadonlyArray<string>) {
  const named = yield* Effect.forEach(
    words,
    Effect.fnUntraced(function* (input) {
      // A colon followed by a path separator belongs to a drive letter.
      const [, word = input, suffix] = /^(.+):([^:/\\]*)$/.exec(input) ?? []
      const weight = suffix === undefined ? undefined : suffix.trim() === "" ? Number.NaN : Number(suffix)
      if (weight !== undefined && !(weight > 0 && Number.isFinite(weight))) {
        return yield* new UsageError({
          message: `--env ${input}: the colon must be followed by a weight, a number above 0, as in ${word}:2`
        })
      }
      return { word, weight: Option.fromUndefinedOr(weight), selected: yield* choose(word) } satisfies Named
    })
  )
  const seen = new Set<string>()
  for (const { selected, word } of named) {
    const { environmentName } = selected.environment
    if (seen.has(environmentName)) {
      return yield* new UsageError({
        message: `--env ${word}: ${environmentName} is given twice; to give it a larger share of the batches, use a weight: --env ${word}:2`
      })
    }
    seen.add(environmentName)
  }
  return named
})

/** The settings fields of several environments; for shared names, the first one's. */
export const fieldsOf = (all: ReadonlyArray<Pick<Chosen, "environment">>): Schema.Struct.Fields =>
  Object.assign({}, ...all.map(({ environment }) => environment.settings.fields).toReversed())
