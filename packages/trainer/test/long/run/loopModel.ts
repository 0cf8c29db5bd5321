/** The model of `loopProcess.ts`. */
import * as TinyModel from "../../../src/model/TinyModel.ts"

export const letters = "abcd"

export const model = TinyModel.make({ characters: letters, seed: 1, hiddenSize: 32, layers: 1, maxPositions: 64 })
