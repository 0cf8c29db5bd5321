/**
 * The small language model that comes with the command: `--model bundled`. It knows arithmetic stories, and solves them
 * badly (docs/models.md); `scripts/pretrain-bundled.ts` made it. A folder of that name is `./bundled`.
 */
import * as LocalPath from "@atropos/core/base/LocalPath"
import { nearest } from "@atropos/core/base/Nearest"
import { Effect, Option } from "effect"
import { fileURLToPath } from "node:url"
import { UsageError } from "../base/Failure.ts"

/** The word for it, in the place of a folder. */
export const word = "bundled"

const folder = fileURLToPath(new URL("../../models/bundled", import.meta.url))

/** The folder that the word means; every other name as it is. */
export const located = (model: string): string => (model === word ? folder : model)

/** How a model is called to users, by the name that it has once it is loaded. */
export const spoken = (name: string): string => (name === folder ? word : name)

const about: Words = { [word]: "the small language model that comes with Atropos" }

type Words = { readonly [word: string]: string }

/** Fails where a name is no path of a folder, or one of these words misspelt, before anything is started for it. */
export const check = Effect.fn("BundledModel.check")(function* (model: string, more: Words = {}) {
  const wrong = (reason: string) => new UsageError({ message: `--model ${model}: ${reason}` })
  const local = yield* Effect.mapError(LocalPath.folder(located(model)), wrong)
  // Whether a hub has a model of that name is not known here.
  if (Option.isSome(local) || model.includes("/")) return
  const words = { ...about, ...more }
  if (Object.hasOwn(words, model)) return
  const near = nearest(model, Object.keys(words))
  if (near !== undefined) return yield* wrong(`there is no such folder; did you mean ${near}, ${words[near]}?`)
})
