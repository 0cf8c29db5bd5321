/** The models of `loopProcess.ts`. */
import { Effect } from "effect"
import * as PretrainedModel from "../../src/model/PretrainedModel.ts"
import * as TinyModel from "../../src/model/TinyModel.ts"
import * as MixtureFolder from "../model/MixtureFolder.ts"

export const letters = "abcd"

export const kinds = ["dense", "mixture"] as const
export type Kind = (typeof kinds)[number]

/** The same every time; a mixture is written to the folder first. */
export const load = Effect.fnUntraced(function* (kind: Kind, folder: string) {
  if (kind === "mixture")
    return yield* PretrainedModel.load(yield* MixtureFolder.write(folder), { trains: "all", seed: 1 })
  return TinyModel.make({ characters: letters, seed: 1, hiddenSize: 32, layers: 1, maxPositions: 64 })
})
